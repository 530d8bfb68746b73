import { createHash } from 'node:crypto'

/**
 * Parameters of an authorization request for a PKCE verifier (RFC 7636); empty without a verifier.
 */
export const challengeOf = (
  codeVerifier: string,
): { code_challenge?: string; code_challenge_method?: string } =>
  codeVerifier === ''
    ? {}
    : {
        code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
        code_challenge_method: 'S256',
      }
