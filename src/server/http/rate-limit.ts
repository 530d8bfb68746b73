import type { Pool } from 'pg'
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible'

/** Counts calls per key and rejects them above the limit until the window has passed. */
export interface RateLimit {
  /** Counts a call. Returns whether it is allowed. */
  take(key: string): Promise<boolean>
  /** Returns the seconds until the key may call again; 0 if it may now. Counts nothing. */
  waitSeconds(key: string): Promise<number>
  forget(key: string): Promise<void>
  /** Takes back one admitted call that turned out not to count. */
  giveBack(key: string): Promise<void>
}

/** Returns the value of `Retry-After` for a rejected request; at least a second. */
export const retryAfter = async (limit: RateLimit, key: string): Promise<string> =>
  String(Math.max(1, await limit.waitSeconds(key)))

export interface RateLimitRule {
  name: string
  /** 0 for no limit. */
  points: number
  windowSeconds: number
}

export interface RateLimits {
  api: RateLimit
  web: RateLimit
  critical: RateLimit
  /** Failed sign-ins of one account. */
  signIn: RateLimit
  /** Wrong WeChat codes of all callers together. */
  wechatCode: RateLimit
  /** Wrong redemption codes of one user. */
  redeem: RateLimit
  /** Mails of one kind to one address. */
  mail: RateLimit
  /** Refusals of one address or account that are written to the audit. */
  auditRefusal: RateLimit
  /** Refusals that this process writes to the audit. */
  auditRefusals: RateLimit
}

const MINUTE = 60
/** Maximum number of failed sign-ins of one account, from all addresses together. */
const SIGN_IN_FAILURES_MAX = 10
const SIGN_IN_WINDOW_SECONDS = 15 * MINUTE
/** The codes are short and not tied to a user, so guesses of all callers are counted together. */
const WECHAT_FAILURES_MAX = 200
const WECHAT_WINDOW_SECONDS = 10 * MINUTE
const MAILS_MAX = 5
const MAILS_WINDOW_SECONDS = 60 * MINUTE
const AUDIT_REFUSALS_OF_ONE_MAX = 20
const AUDIT_REFUSALS_MAX = 1000
const AUDIT_REFUSALS_WINDOW_SECONDS = 60 * MINUTE
const WRONG_CODES_MAX = 20
const WRONG_CODES_WINDOW_SECONDS = 60 * MINUTE

/**
 * Creates the limits in this process's memory; with PostgreSQL all processes share the critical
 * ones. A setting of 0 disables only the limit of that name: limits per account, per mailbox and
 * for short codes always apply.
 */
export async function createRateLimits(settings: {
  api: number
  web: number
  critical: number
  /** Connections to the shared database; null if each process counts for itself. */
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
    auditRefusal: {
      name: 'audit_refusal',
      points: AUDIT_REFUSALS_OF_ONE_MAX,
      windowSeconds: AUDIT_REFUSALS_WINDOW_SECONDS,
    },
    auditRefusals: {
      name: 'audit_refusals',
      points: AUDIT_REFUSALS_MAX,
      windowSeconds: AUDIT_REFUSALS_WINDOW_SECONDS,
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
    auditRefusal: inMemory(rules.auditRefusal),
    auditRefusals: inMemory(rules.auditRefusals),
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
  // If several processes create the library's table at the same time, some fail; then the table
  // exists.
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
      // During a database outage each process counts for itself.
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
  /** Whether a clock that was ahead opened the window, which would last until that time. */
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
