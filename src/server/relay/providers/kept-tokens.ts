import { createHash } from 'node:crypto'
import type { Sealed } from '../transport/upstream-call.ts'

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
