import { NO_LIMIT, type LimitName } from '../../contract/limit.ts'
import type { Limits } from '../../contract/limit-api.ts'

/**
 * The rules of limits. What is counted, and whether a call fits, is decided where the call is
 * reserved, in the ledger's transaction (`ledger/limit/sqlite-limits.ts`, and on PostgreSQL the
 * functions of `0012-limits.postgres.sql` and `0018-limit-clocks.postgres.sql`); why it does not,
 * and when it would, is worked out here from the figures it was decided on.
 */

/** All six, what is absent as none. */
export const wholeLimits = (input: { [K in LimitName]?: number | undefined }): Limits => ({
  requests_per_minute: input.requests_per_minute ?? NO_LIMIT,
  tokens_per_minute: input.tokens_per_minute ?? NO_LIMIT,
  calls_at_once: input.calls_at_once ?? NO_LIMIT,
  quota_per_day: input.quota_per_day ?? NO_LIMIT,
  quota_per_week: input.quota_per_week ?? NO_LIMIT,
  quota_per_month: input.quota_per_month ?? NO_LIMIT,
})

/**
 * Seconds that requests and tokens are counted over. What lies further ahead than this was counted
 * by a clock that was wrong: it would be in the way until then.
 */
export const WINDOW_SECONDS = 60

/** A day, week or month that begins further ahead is one of a clock that was wrong. */
const AHEAD_SECONDS = 3600

/** The latest start of a period that may be running. */
export const latestStart = (nowSeconds: number): number => nowSeconds + AHEAD_SECONDS

/**
 * What is left of the points used in the period that began at `start`, in one that began at
 * `since`.
 */
export const usedSince = (
  { start, used }: { start: number; used: number },
  { since, nowSeconds }: { since: number; nowSeconds: number },
): number => (start >= since && start <= latestStart(nowSeconds) ? used : 0)

/** Where a user or token stood when a call asked, before it was counted. 0 as maximum: no limit. */
export interface LimitFacts {
  subject: LimitSubject
  requestsMax: number
  tokensMax: number
  callsMax: number
  dayMax: number
  weekMax: number
  monthMax: number
  /** Calls under way, and what they hold back. */
  running: number
  heldTokens: number
  heldQuota: number
  /** Points settled in the current day, week and month. */
  dayUsed: number
  weekUsed: number
  monthUsed: number
  /** Calls begun and tokens settled in the last minute. */
  minuteRequests: number
  minuteTokens: number
  /** Both by the second, oldest first: second, requests, tokens. Only where the call was refused. */
  seconds: (readonly [second: number, requests: number, tokens: number])[]
}

export type LimitSubject = 'user' | 'token'

/** What a call may need at most, as it is estimated. */
export interface LimitAsk {
  tokens: number
  /** Points. */
  quota: number
}

/** What came of asking: those who have limits, the token first. */
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

/** The limits that a call does not fit into. What costs nothing fits any budget. */
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

/** What a budget has left for a call, and what running calls hold of it, in points. */
export interface BudgetRoom {
  free: number
  held: number
}

/** The budgets that a call does not fit into; null if it does not fit another limit either. */
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

/** Seconds at which the current periods end. */
export type BudgetEnds = Readonly<Record<Budget, number>>

export interface LimitRefusal {
  subject: LimitSubject
  limit: Exceeded
  max: number
  /** As soon as a running call ends; `freesAtSeconds` is when asking again is worth it. */
  isHeld: boolean
  /** When the same call would fit if nobody else called; null: never, it alone is too large. */
  freesAtSeconds: number | null
}

interface Moment {
  nowSeconds: number
  ends: BudgetEnds
}

/**
 * What a refused client is told: of all that stands in its way, what does so for longest. Null when
 * nothing does, which is when the call fits.
 */
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
  // Nobody knows when a running call ends.
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

/** When no more than so much is left in the window; null: it does not become so little. */
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

/** One of the two limits of a minute, as headers tell it. */
export interface MinuteStanding {
  limit: number
  remaining: number
  /** Seconds until all of it is there again. */
  resetSeconds: number
}

/** Of token and user the one that has less left; null: neither has such a limit. */
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
