import { createHash } from 'node:crypto'
import type { Egress } from '../../../egress/egress.ts'
import { callHttp, HttpCallFailed, jsonMembers } from '../../../egress/http-call.ts'
import { textOr, type JsonRecord } from '../../json/json-value.ts'
import type { Sealed } from '../../transport/upstream-call.ts'

/*
 * Cache of access tokens with a limited lifetime, keyed by the hash of the credentials. A token is
 * replaced some time before it expires. Concurrent calls share one pending request for a token.
 */

export type AccessToken = { kind: 'token'; value: string } | Exclude<Sealed, { kind: 'sealed' }>

export interface FetchedToken {
  token: AccessToken
  /** Lifetime from now in seconds; ignored without a token. */
  lifeSeconds: number
}

interface Kept {
  token: Promise<AccessToken>
  /** Null while the token is being fetched. */
  value: string | null
  /** Expiry, as a Unix time in seconds; infinite while the token is being fetched. */
  untilSeconds: number
}

/** Maximum number of cached tokens; the oldest is dropped first. */
const KEPT_MAX = 1000

export class KeptTokens {
  private readonly kept = new Map<string, Kept>()
  private readonly earlySeconds: number

  /** `earlySeconds`: how long before its expiry a token is replaced. */
  constructor(earlySeconds: number) {
    this.earlySeconds = earlySeconds
  }

  take(
    credentials: string,
    nowSeconds: number,
    fetch: () => Promise<FetchedToken>,
  ): Promise<AccessToken> {
    const key = hashOf(credentials)
    const known = this.kept.get(key)
    if (known !== undefined && nowSeconds < known.untilSeconds) return known.token
    const entry: Kept = {
      value: null,
      untilSeconds: Number.POSITIVE_INFINITY,
      token: fetch().then(
        ({ token, lifeSeconds }) => {
          // A token with a short lifetime is used for half of it.
          const earlySeconds = Math.min(this.earlySeconds, lifeSeconds / 2)
          entry.untilSeconds = nowSeconds + lifeSeconds - earlySeconds
          // A rejected request is not cached: the next call tries again.
          if (token.kind === 'token') entry.value = token.value
          else this.drop(key, entry)
          return token
        },
        (error: unknown) => {
          this.drop(key, entry)
          throw error
        },
      ),
    }
    const oldest = this.kept.size >= KEPT_MAX ? this.kept.keys().next() : null
    if (oldest !== null && !oldest.done) this.kept.delete(oldest.value)
    this.kept.delete(key)
    this.kept.set(key, entry)
    return entry.token
  }

  /**
   * Drops a rejected token, so that the next call fetches another. Keeps a token that was fetched
   * meanwhile for another call that was rejected.
   */
  forget(credentials: string, value: string): void {
    const key = hashOf(credentials)
    if (this.kept.get(key)?.value === value) this.kept.delete(key)
  }

  private drop(key: string, entry: Kept): void {
    if (this.kept.get(key) === entry) this.kept.delete(key)
  }
}

const hashOf = (credentials: string): string =>
  createHash('sha256').update(credentials).digest('base64')

const TIMEOUT_MS = 15_000
const ANSWER_BYTES_MAX = 64 * 1024
/** Maximum lifetime, even if the server reports a longer one. */
const LIFE_SECONDS_MAX = 30 * 24 * 3600

/** Request to a token server, and how its errors are converted. */
export interface TokenQuestion {
  url: string
  headers: Record<string, string>
  body?: string
  /** Lifetime in seconds if the response does not state one. */
  usualLifeSeconds: number
  /** Builds the error in the provider's format. */
  refusal: (status: number, message: string) => JsonRecord
}

/** Requests a token. Source: RFC 6749, sections 5.1 and 5.2. */
export async function fetchToken(egress: Egress, asked: TokenQuestion): Promise<FetchedToken> {
  const { url, headers, body, usualLifeSeconds, refusal } = asked
  try {
    const { status, text } = await callHttp(egress, {
      url,
      method: 'POST',
      headers: { ...headers, accept: 'application/json' },
      ...(body === undefined ? {} : { body }),
      timeoutMs: TIMEOUT_MS,
      bytesMax: ANSWER_BYTES_MAX,
    })
    const answer = jsonMembers(text) ?? {}
    const value = textOr(answer.access_token)
    if (status === 200 && value !== '') {
      return {
        token: { kind: 'token', value },
        lifeSeconds: Math.min(lifeIn(answer) ?? usualLifeSeconds, LIFE_SECONDS_MAX),
      }
    }
    const error = textOr(answer.error)
    const words = textOr(answer.error_description) || error || 'no access token'
    const truer = statusOf(status, error !== '')
    return refusedToken(truer, refusal(truer, words))
  } catch (error) {
    if (!(error instanceof HttpCallFailed)) throw error
    const reason = error.reason === 'timeout' ? 'timeout' : 'unreachable'
    return { token: { kind: 'failed', reason }, lifeSeconds: 0 }
  }
}

function lifeIn({ expires_in: life }: JsonRecord): number | null {
  return typeof life === 'number' && life > 0 ? life : null
}

/**
 * Status for an error of a token server: 401 for wrong credentials, because the 400 of the token
 * server would blame the client; 502 for a response without an error code, such as an HTML page.
 */
function statusOf(status: number, saysError: boolean): number {
  if (status >= 500 || status === 429) return status
  return saysError ? 401 : 502
}

/** Result for rejected credentials: the call fails with this response. */
export const refusedToken = (status: number, body: JsonRecord): FetchedToken => ({
  token: { kind: 'refused', status, body: Buffer.from(JSON.stringify(body)) },
  lifeSeconds: 0,
})
