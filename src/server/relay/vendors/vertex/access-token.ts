import { createSign } from 'node:crypto'
import { jsonMembers } from '../../../egress/http-call.ts'
import type { Egress } from '../../../egress/egress.ts'
import { textOr, type JsonRecord } from '../../json/json-value.ts'
import {
  fetchToken,
  KeptTokens,
  refusedToken,
  type AccessToken,
  type FetchedToken,
} from '../shared/kept-tokens.ts'

/*
 * Access tokens for Google's APIs, from application default credentials: a service account signs a
 * claim with its key, a user's credentials contain a refresh token. Tokens are valid for an hour.
 * Source: Google's OAuth 2.0 documentation, "Using OAuth 2.0 for server to server applications" and
 * "Refreshing an access token".
 */

interface Means {
  egress: Egress
  nowSeconds: number
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const TOKEN_URI = 'https://oauth2.googleapis.com/token'
const LIFE_SECONDS = 3600
const EARLY_SECONDS = 300

const kept = new KeptTokens(EARLY_SECONDS)

export const accessToken = (credentials: string, means: Means): Promise<AccessToken> =>
  kept.take(credentials, means.nowSeconds, () => fetchFor(credentials, means))

/** Builds the error in Google's format. */
const refusal = (status: number, message: string): JsonRecord => ({
  error: { code: status, message, ...(status === UNAUTHENTICATED ? NAMED : {}) },
})

const UNAUTHENTICATED = 401
const NAMED = { status: 'UNAUTHENTICATED' }
const UNKNOWN = 'the credentials are of no kind that is known here'

async function fetchFor(credentials: string, { egress, nowSeconds }: Means): Promise<FetchedToken> {
  const members = jsonMembers(credentials)
  const asked = members === null ? null : questionOf(members, nowSeconds)
  if (asked === null) return refusedToken(UNAUTHENTICATED, refusal(UNAUTHENTICATED, UNKNOWN))
  return fetchToken(egress, {
    url: asked.url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: asked.form.toString(),
    usualLifeSeconds: LIFE_SECONDS,
    refusal,
  })
}

/** Token request for these credentials; null if they are malformed or of another kind. */
function questionOf(
  members: JsonRecord,
  nowSeconds: number,
): { url: string; form: URLSearchParams } | null {
  const url = textOr(members.token_uri) || TOKEN_URI
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) return null
  if (members.type === 'authorized_user') {
    const form = new URLSearchParams({ grant_type: 'refresh_token' })
    for (const name of ['client_id', 'client_secret', 'refresh_token']) {
      form.set(name, textOr(members[name]))
    }
    return { url, form }
  }
  if (members.type !== 'service_account') return null
  const assertion = signedClaim(members, url, nowSeconds)
  if (assertion === null) return null
  const grant_type = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
  return { url, form: new URLSearchParams({ grant_type, assertion }) }
}

function signedClaim(members: JsonRecord, audience: string, nowSeconds: number): string | null {
  const header = { alg: 'RS256', typ: 'JWT', kid: textOr(members.private_key_id) }
  const claim = {
    iss: textOr(members.client_email),
    scope: SCOPE,
    aud: audience,
    iat: nowSeconds,
    exp: nowSeconds + LIFE_SECONDS,
  }
  const signed = `${encoded(header)}.${encoded(claim)}`
  try {
    const signature = createSign('RSA-SHA256').update(signed).sign(textOr(members.private_key))
    return `${signed}.${signature.toString('base64url')}`
  } catch {
    // The private key is not valid PEM.
    return null
  }
}

const encoded = (value: JsonRecord): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url')
