import { createHash, randomBytes } from 'node:crypto'

/** Codes and access tokens of an authorization server: each code can be used once. */
export interface CodeGrants<Person> {
  /** Issues a code for a user; with a PKCE challenge it requires the verifier. */
  code(person: Person, challenge?: string | null): string
  /** Exchanges a code for an access token; null if it is unknown, used, or lacks its verifier. */
  exchange(code: unknown, verifier?: unknown): string | null
  /** User of the access token in a header. */
  personOf(authorization: string | undefined): Person | null
}

export function createCodeGrants<Person>(): CodeGrants<Person> {
  const codes = new Map<string, { person: Person; challenge: string | null }>()
  const tokens = new Map<string, Person>()
  const secret = () => randomBytes(20).toString('hex')
  return {
    code(person, challenge = null) {
      const code = secret()
      codes.set(code, { person, challenge })
      return code
    },
    exchange(code, verifier) {
      const grant = codes.get(String(code))
      codes.delete(String(code))
      if (grant === undefined) return null
      // RFC 9700: a verifier without a challenge is rejected too.
      const proof = typeof verifier === 'string' ? challengeFor(verifier) : null
      if (proof !== grant.challenge) return null
      const token = secret()
      tokens.set(token, grant.person)
      return token
    },
    personOf: (authorization) => tokens.get(String(authorization).replace('Bearer ', '')) ?? null,
  }
}

const challengeFor = (verifier: string): string =>
  createHash('sha256').update(verifier).digest('base64url')
