import { createHash } from 'node:crypto'
import type { Egress } from '../../../egress/egress.ts'
import { callHttp, HttpCallFailed, jsonMembers } from '../../../egress/http-call.ts'
import { textOr, type JsonRecord } from '../../json/json-value.ts'
import type { Sealed } from '../../transport/upstream-call.ts'

/*
 * Access tokens that are fetched with credentials and live for a while. They are kept until a while
 * before their end, by the hash of what they were made from. Whoever needs one that is being
 * fetched waits for it: a burst of calls asks once.
 */

export type AccessToken = { kind: 'token'; value: string } | Exclude<Sealed, { kind: 'sealed' }>

export interface FetchedToken {
  token: AccessToken
  /** From now on; of no meaning without a token. */
  lifeSeconds: number
}

interface Kept {
  token: Promise<AccessToken>
  /** Null while it is fetched. */
  value: string | null
  /** Until when it is good; while it is fetched, not known. */
  untilSeconds: number
}

/** Credentials whose tokens are kept; the oldest goes first. */
const KEPT_MAX = 1000

export class KeptTokens {
  private readonly kept = new Map<string, Kept>()
  private readonly earlySeconds: number

  /** `earlySeconds`: how long before its end a token is no longer used. */
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
          // One that lives for minutes only is used for half of them.
          const earlySeconds = Math.min(this.earlySeconds, lifeSeconds / 2)
          entry.untilSeconds = nowSeconds + lifeSeconds - earlySeconds
          // What was refused is asked for again by the next call.
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
   * This token was refused: the next call fetches another, unless one has been fetched already for
   * a call that was refused at the same time.
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
/** Nobody's tokens live longer, whatever their server says. */
const LIFE_SECONDS_MAX = 30 * 24 * 3600

/** What a token server is asked, and what is made of its answer. */
export interface TokenQuestion {
  url: string
  headers: Record<string, string>
  body?: string
  /** Of a token that does not say. */
  usualLifeSeconds: number
  /** A refusal as the provider itself would word it. */
  refusal: (status: number, message: string) => JsonRecord
}

/** Asks a server for a token. Source: RFC 6749, sections 5.1 and 5.2. */
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
 * Wrong credentials are answered as a bad request, which would be the client's fault. A page, or
 * anything else that does not say what is wrong, says nothing of the credentials.
 */
function statusOf(status: number, saysError: boolean): number {
  if (status >= 500 || status === 429) return status
  return saysError ? 401 : 502
}

/** There is no token, and this is the answer to the call. */
export const refusedToken = (status: number, body: JsonRecord): FetchedToken => ({
  token: { kind: 'refused', status, body: Buffer.from(JSON.stringify(body)) },
  lifeSeconds: 0,
})
