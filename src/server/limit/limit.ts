import { NO_LIMIT, type LimitName } from '../../contract/limit.ts'
import type { Limits } from '../../contract/limit-api.ts'

/**
 * Rules of limits. The ledger's transaction counts the usage and decides whether a call fits when
 * it is reserved (`ledger/limit/sqlite-limits.ts`, and on PostgreSQL the functions of
 * `0012-limits.postgres.sql` and `0018-limit-clocks.postgres.sql`). This file derives from its
 * figures which limit refused the call, and when it would fit.
 */

/** Returns all six limits; absent ones are unlimited. */
export const wholeLimits = (input: { [K in LimitName]?: number | undefined }): Limits => ({
  requests_per_minute: input.requests_per_minute ?? NO_LIMIT,
  tokens_per_minute: input.tokens_per_minute ?? NO_LIMIT,
  calls_at_once: input.calls_at_once ?? NO_LIMIT,
  quota_per_day: input.quota_per_day ?? NO_LIMIT,
  quota_per_week: input.quota_per_week ?? NO_LIMIT,
  quota_per_month: input.quota_per_month ?? NO_LIMIT,
})

/**
 * Seconds over which requests and tokens are counted. Counts further in the future come from a
 * wrong clock and would block until then.
 */
export const WINDOW_SECONDS = 60

/** A day, week or month that begins further in the future comes from a wrong clock. */
const AHEAD_SECONDS = 3600

/** Returns the latest possible start of a current period. */
export const latestStart = (nowSeconds: number): number => nowSeconds + AHEAD_SECONDS

/**
 * Points used in the period that began at `start`; 0 if it began before `since`, the start of the
 * current period.
 */
export const usedSince = (
  { start, used }: { start: number; used: number },
  { since, nowSeconds }: { since: number; nowSeconds: number },
): number => (start >= since && start <= latestStart(nowSeconds) ? used : 0)

/**
 * State of the limits of a user or token before a call is counted. A maximum of 0 means unlimited.
 */
export interface LimitFacts {
  subject: LimitSubject
  requestsMax: number
  tokensMax: number
  callsMax: number
  dayMax: number
  weekMax: number
  monthMax: number
  /** Running calls, and the amounts reserved for them. */
  running: number
  heldTokens: number
  heldQuota: number
  /** Points settled in the current day, week and month. */
  dayUsed: number
  weekUsed: number
  monthUsed: number
  /** Calls started and tokens settled in the last minute. */
  minuteRequests: number
  minuteTokens: number
  /** Both per second, oldest first: second, requests, tokens. Only if the call was refused. */
  seconds: (readonly [second: number, requests: number, tokens: number])[]
}

export type LimitSubject = 'user' | 'token'

/** Estimated maximum usage of a call. */
export interface LimitAsk {
  tokens: number
  /** In points. */
  quota: number
}

/** Result of a limit check, for those of token and user that have limits, the token first. */
export interface LimitCheck {
  isRefused: boolean
  facts: readonly LimitFacts[]
}

const BUDGETS = ['day', 'week', 'month'] as const
export type Budget = (typeof BUDGETS)[number]
type Exceeded = 'requests' | 'tokens' | 'calls' | Budget

const budgetOf = (facts: LimitFacts, budget: Budget): { max: number; used: number } =>
  ({
    day: { max: facts.dayMax, used: facts.dayUsed },
    week: { max: facts.weekMax, used: facts.weekUsed },
    month: { max: facts.monthMax, used: facts.monthUsed },
  })[budget]

/** Returns the limits that a call exceeds. A free call fits any budget. */
export function exceededLimits(facts: LimitFacts, ask: LimitAsk): Exceeded[] {
  const { requestsMax, tokensMax, callsMax, heldQuota } = facts
  const exceeded: Exceeded[] = []
  if (callsMax > 0 && facts.running >= callsMax) exceeded.push('calls')
  if (requestsMax > 0 && facts.minuteRequests >= requestsMax) exceeded.push('requests')
  const tokens = facts.minuteTokens + facts.heldTokens + ask.tokens
  if (tokensMax > 0 && tokens > tokensMax) exceeded.push('tokens')
  if (ask.quota === 0) return exceeded
  for (const budget of BUDGETS) {
    const { max, used } = budgetOf(facts, budget)
    if (max > 0 && used + heldQuota + ask.quota > max) exceeded.push(budget)
  }
  return exceeded
}

/** Whether any budget is set. */
export const hasBudget = (facts: LimitFacts): boolean =>
  BUDGETS.some((budget) => budgetOf(facts, budget).max > 0)

/** Points that a budget has left for a call, and points reserved by running calls. */
export interface BudgetRoom {
  free: number
  held: number
}

/** Returns the budgets that a call exceeds, or null if it also exceeds another limit. */
export function budgetRooms(facts: readonly LimitFacts[], ask: LimitAsk): BudgetRoom[] | null {
  const rooms: BudgetRoom[] = []
  for (const one of facts) {
    for (const limit of exceededLimits(one, ask)) {
      if (limit === 'requests' || limit === 'tokens' || limit === 'calls') return null
      const { max, used } = budgetOf(one, limit)
      rooms.push({ free: max - used - one.heldQuota, held: one.heldQuota })
    }
  }
  return rooms
}

/** End of each current period, in seconds. */
export type BudgetEnds = Readonly<Record<Budget, number>>

export interface LimitRefusal {
  subject: LimitSubject
  limit: Exceeded
  max: number
  /** Whether a running call must end first; `freesAtSeconds` is then the time for a retry. */
  isHeld: boolean
  /** Time at which the call would fit without other calls; null if it is too large on its own. */
  freesAtSeconds: number | null
}

interface Moment {
  nowSeconds: number
  ends: BudgetEnds
}

/** Returns the exceeded limit that lasts longest, for the error text, or null if the call fits. */
export function limitRefusal(
  { facts }: LimitCheck,
  ask: LimitAsk,
  moment: Moment,
): LimitRefusal | null {
  const refusals = facts.flatMap((one) =>
    exceededLimits(one, ask).map((limit) => refusalOf(one, limit, ask, moment)),
  )
  const longest = (refusal: LimitRefusal): number => refusal.freesAtSeconds ?? Infinity
  return refusals.reduce<LimitRefusal | null>(
    (worst, refusal) => (worst === null || longest(refusal) > longest(worst) ? refusal : worst),
    null,
  )
}

function refusalOf(
  facts: LimitFacts,
  limit: Exceeded,
  ask: LimitAsk,
  { nowSeconds, ends }: Moment,
): LimitRefusal {
  const { subject } = facts
  // The end of a running call is unknown.
  const held = { subject, limit, isHeld: true, freesAtSeconds: nowSeconds + 1 }
  const frees = { subject, limit, isHeld: false }
  switch (limit) {
    case 'calls':
      return { ...held, max: facts.callsMax }
    case 'requests': {
      const max = facts.requestsMax
      const counts = facts.seconds.map(([second, requests]) => [second, requests] as const)
      return { ...frees, max, freesAtSeconds: slidesAt(counts, max - 1) ?? nowSeconds }
    }
    case 'tokens': {
      const max = facts.tokensMax
      if (ask.tokens > max) return { ...frees, max, freesAtSeconds: null }
      const counts = facts.seconds.map(([second, , tokens]) => [second, tokens] as const)
      const freesAtSeconds = slidesAt(counts, max - facts.heldTokens - ask.tokens)
      return freesAtSeconds === null ? { ...held, max } : { ...frees, max, freesAtSeconds }
    }
    default: {
      const { max, used } = budgetOf(facts, limit)
      if (ask.quota > max) return { ...frees, max, freesAtSeconds: null }
      if (used + ask.quota <= max) return { ...held, max }
      return { ...frees, max, freesAtSeconds: ends[limit] }
    }
  }
}

/** Returns when at most `left` remains in the sliding window, or null if never. */
function slidesAt(
  counts: readonly (readonly [second: number, count: number])[],
  left: number,
): number | null {
  if (left < 0) return null
  let sum = counts.reduce((total, [, count]) => total + count, 0)
  for (const [second, count] of counts) {
    sum -= count
    if (sum <= left) return second + WINDOW_SECONDS
  }
  return null
}

/** One of the two limits per minute, for headers. */
export interface MinuteStanding {
  limit: number
  remaining: number
  /** Seconds until the full amount is available. */
  resetSeconds: number
}

/** Returns the limit of token and user with less remaining, or null if neither has one. */
export function minuteStanding(
  { facts, isRefused }: LimitCheck,
  unit: 'requests' | 'tokens',
  ask: LimitAsk,
  nowSeconds: number,
): MinuteStanding | null {
  const standings = facts.flatMap((one): MinuteStanding[] => {
    const limit = unit === 'requests' ? one.requestsMax : one.tokensMax
    if (limit === 0) return []
    const held = unit === 'requests' ? 0 : one.heldTokens
    const before = unit === 'requests' ? one.minuteRequests : one.minuteTokens + held
    const own = isRefused ? 0 : unit === 'requests' ? 1 : ask.tokens
    const newest = one.seconds.findLast((second) => second[unit === 'requests' ? 1 : 2] > 0)
    const isFresh = own + held > 0 || newest === undefined
    const reset = isFresh ? WINDOW_SECONDS : newest[0] + WINDOW_SECONDS - nowSeconds
    const isFull = before + own === 0
    return [
      {
        limit,
        remaining: Math.max(0, limit - before - own),
        resetSeconds: isFull ? 0 : Math.max(1, reset),
      },
    ]
  })
  return standings.reduce<MinuteStanding | null>(
    (least, one) => (least === null || one.remaining < least.remaining ? one : least),
    null,
  )
}
