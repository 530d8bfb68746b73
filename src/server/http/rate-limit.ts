import type { Pool } from 'pg'
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'

/** Counts calls of a key; refuses beyond the limit until the window has passed. */
export interface RateLimit {
  /** True when the call may go on. */
  take(key: string): Promise<boolean>
  /** Seconds until the key may call again; 0 when it may now. Counts nothing. */
  waitSeconds(key: string): Promise<number>
  forget(key: string): Promise<void>
  /** Takes back one call that was let in: it turned out not to count. */
  giveBack(key: string): Promise<void>
}

/** What `Retry-After` says to a call that was refused: a second where the window ends just now. */
export const retryAfter = async (limit: RateLimit, key: string): Promise<string> =>
  String(Math.max(1, await limit.waitSeconds(key)))

export interface RateLimitRule {
  name: string
  /** 0: no limit. */
  points: number
  windowSeconds: number
}

export interface RateLimits {
  api: RateLimit
  web: RateLimit
  critical: RateLimit
  /** Failed sign-ins of one account. */
  signIn: RateLimit
  /** Wrong codes of the messaging provider, from everybody together. */
  wechatCode: RateLimit
  /** Wrong redemption codes of one user. */
  redeem: RateLimit
  /** Mails of one kind to one address. */
  mail: RateLimit
}

const MINUTE = 60
/** Failed sign-ins of one account, from all addresses together. */
const SIGN_IN_FAILURES_MAX = 10
const SIGN_IN_WINDOW_SECONDS = 15 * MINUTE
/** The codes are short and name nobody, so guesses are counted whoever makes them. */
const WECHAT_FAILURES_MAX = 200
const WECHAT_WINDOW_SECONDS = 10 * MINUTE
const MAILS_MAX = 5
const MAILS_WINDOW_SECONDS = 60 * MINUTE
const WRONG_CODES_MAX = 20
const WRONG_CODES_WINDOW_SECONDS = 60 * MINUTE

/**
 * Limits in this process's memory; with a PostgreSQL address the critical ones are shared by all
 * processes. A setting of 0 switches off the limit of that name only: what protects one account,
 * one mailbox or short codes always counts.
 */
export async function createRateLimits(settings: {
  api: number
  web: number
  critical: number
  /** Connections to the shared database; null: each process counts for itself. */
  pool: Pool | null
}): Promise<RateLimits> {
  const { pool } = settings
  const rules = {
    api: { name: 'api', points: settings.api, windowSeconds: 3 * MINUTE },
    web: { name: 'web', points: settings.web, windowSeconds: 3 * MINUTE },
    critical: { name: 'critical', points: settings.critical, windowSeconds: 20 * MINUTE },
    signIn: {
      name: 'sign_in',
      points: SIGN_IN_FAILURES_MAX,
      windowSeconds: SIGN_IN_WINDOW_SECONDS,
    },
    wechatCode: {
      name: 'wechat_code',
      points: WECHAT_FAILURES_MAX,
      windowSeconds: WECHAT_WINDOW_SECONDS,
    },
    mail: {
      name: 'mail',
      points: MAILS_MAX,
      windowSeconds: MAILS_WINDOW_SECONDS,
    },
    redeem: {
      name: 'redeem',
      points: WRONG_CODES_MAX,
      windowSeconds: WRONG_CODES_WINDOW_SECONDS,
    },
  }
  return {
    api: inMemory(rules.api),
    web: inMemory(rules.web),
    critical: pool === null ? inMemory(rules.critical) : await shared(rules.critical, pool),
    signIn: pool === null ? inMemory(rules.signIn) : await shared(rules.signIn, pool),
    wechatCode: pool === null ? inMemory(rules.wechatCode) : await shared(rules.wechatCode, pool),
    mail: pool === null ? inMemory(rules.mail) : await shared(rules.mail, pool),
    redeem: pool === null ? inMemory(rules.redeem) : await shared(rules.redeem, pool),
  }
}

const UNLIMITED: RateLimit = {
  take: () => Promise.resolve(true),
  waitSeconds: () => Promise.resolve(0),
  forget: () => Promise.resolve(),
  giveBack: () => Promise.resolve(),
}

function inMemory(rule: RateLimitRule): RateLimit {
  if (rule.points === 0) return UNLIMITED
  return limitOf(
    new RateLimiterMemory({
      points: rule.points,
      duration: rule.windowSeconds,
      keyPrefix: rule.name,
    }),
    rule,
  )
}

async function shared(rule: RateLimitRule, pool: Pool): Promise<RateLimit> {
  if (rule.points === 0) return UNLIMITED
  // Of processes that make the library's table at the same moment some fail; then it is there.
  return openShared(rule, pool).catch(() => openShared(rule, pool))
}

async function openShared(rule: RateLimitRule, pool: Pool): Promise<RateLimit> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const limiter = new RateLimiterPostgres(
    {
      storeClient: pool,
      storeType: 'pool',
      tableName: 'rate_limits',
      points: rule.points,
      duration: rule.windowSeconds,
      keyPrefix: rule.name,
      // While the database does not answer, each process counts for itself.
      insuranceLimiter: new RateLimiterMemory({
        points: rule.points,
        duration: rule.windowSeconds,
        keyPrefix: rule.name,
      }),
    },
    (error?: Error) => (error === undefined || error === null ? resolve() : reject(error)),
  )
  await promise
  return limitOf(limiter, rule)
}

function limitOf(
  limiter: RateLimiterMemory | RateLimiterPostgres,
  { points, windowSeconds }: RateLimitRule,
): RateLimit {
  /** Whether a window was opened by a clock that was ahead: it would last until that time. */
  const isOfFuture = ({ msBeforeNext }: RateLimiterRes): boolean =>
    msBeforeNext > 2 * windowSeconds * 1000

  async function consume(key: string): Promise<{ isAllowed: boolean; state: RateLimiterRes }> {
    try {
      return { isAllowed: true, state: await limiter.consume(key) }
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return { isAllowed: false, state: refusal }
      throw refusal
    }
  }

  return {
    async take(key) {
      const { isAllowed, state } = await consume(key)
      if (!isOfFuture(state)) return isAllowed
      await limiter.delete(key)
      return (await consume(key)).isAllowed
    },
    async waitSeconds(key) {
      const state = await limiter.get(key)
      if (state === null || state.consumedPoints < points || isOfFuture(state)) return 0
      return Math.ceil(state.msBeforeNext / 1000)
    },
    async forget(key) {
      await limiter.delete(key)
    },
    async giveBack(key) {
      await limiter.reward(key)
    },
  }
}
