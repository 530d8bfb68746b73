import { createHash, randomBytes } from 'node:crypto'

/** Codes and access tokens as an authorization server hands them out: each code serves once. */
export interface CodeGrants<Person> {
  /** A code for a person who agreed; with a PKCE challenge it needs its verifier. */
  code(person: Person, challenge?: string | null): string
  /** The access token for a code, or null when it is unknown, used, or lacks its verifier. */
  exchange(code: unknown, verifier?: unknown): string | null
  /** Whose access token a header carries. */
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
      // RFC 9700: a verifier without a challenge is refused as well.
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
