import type { ErrorCode, ErrorParams } from '../../contract/errors.ts'
import { AppError } from '../app-error.ts'
import {
  limitRefusal,
  minuteStanding,
  type LimitAsk,
  type LimitCheck,
  type LimitFacts,
  type LimitRefusal,
  type MinuteStanding,
} from './limit.ts'
import { budgetPeriods, zoneStamp } from './limit-period.ts'

/** Limits in responses: headers of every response, and the error. */

interface Telling {
  ask: LimitAsk
  nowSeconds: number
  /** Time zone of the operator. */
  zone: string
}

/** Adds the limit headers to a response. Throws the error if a limit refuses the call. */
export function obeyLimits(
  call: { dialect: string; headers: string[] },
  check: LimitCheck,
  telling: Telling,
): void {
  call.headers.push(...limitHeaders(call.dialect, check, telling))
  if (!check.isRefused) return
  const { error, headers } = limitRefused(check, telling)
  call.headers.push(...headers)
  throw error
}

/** Longest time that clients wait before an automatic retry. */
const RETRY_SECONDS_MAX = 60

/**
 * Returns the rate limit headers of a dialect, names and values in turn. OpenAI's are durations
 * (`1m0s`), Anthropic's timestamps; Gemini defines no headers and gets OpenAI's. Sources: OpenAI,
 * "Rate limits"; Anthropic, "Rate limits".
 */
function limitHeaders(dialect: string, check: LimitCheck, { ask, nowSeconds }: Telling): string[] {
  const headers = (['requests', 'tokens'] as const).flatMap((unit) => {
    const standing = minuteStanding(check, unit, ask, nowSeconds)
    if (standing === null) return []
    return dialect === 'anthropic'
      ? anthropicHeaders(unit, standing, nowSeconds)
      : openaiHeaders(unit, standing)
  })
  const names = headers.filter((_, index) => index % 2 === 0)
  // Cross-origin pages can only read the listed headers.
  if (names.length > 0) headers.push('Access-Control-Expose-Headers', names.join(', '))
  return headers
}

const openaiHeaders = (
  unit: string,
  { limit, remaining, resetSeconds }: MinuteStanding,
): string[] => [
  `x-ratelimit-limit-${unit}`,
  String(limit),
  `x-ratelimit-remaining-${unit}`,
  String(remaining),
  `x-ratelimit-reset-${unit}`,
  durationText(resetSeconds),
]

const anthropicHeaders = (
  unit: string,
  { limit, remaining, resetSeconds }: MinuteStanding,
  nowSeconds: number,
): string[] => [
  `anthropic-ratelimit-${unit}-limit`,
  String(limit),
  `anthropic-ratelimit-${unit}-remaining`,
  String(remaining),
  `anthropic-ratelimit-${unit}-reset`,
  new Date((nowSeconds + resetSeconds) * 1000).toISOString().replace('.000', ''),
]

const durationText = (seconds: number): string =>
  seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`

/**
 * Returns the error, and the headers with the retry time. `x-should-retry: false` keeps the
 * vendors' SDKs from futile retries, because they would not wait long enough.
 */
function limitRefused(
  check: LimitCheck,
  { ask, nowSeconds, zone }: Telling,
): { error: AppError; headers: string[] } {
  const { ends } = budgetPeriods(zone, nowSeconds)
  const refusal = limitRefusal(check, ask, { nowSeconds, ends })
  if (refusal === null) throw new Error('a limit refused a call that fits it')
  const seconds =
    refusal.freesAtSeconds === null ? null : Math.max(1, refusal.freesAtSeconds - nowSeconds)
  const headers = seconds === null ? [] : ['Retry-After', String(seconds)]
  if (seconds === null || seconds > RETRY_SECONDS_MAX) headers.push('x-should-retry', 'false')
  return { error: refusalError(refusal, { ask, seconds: seconds ?? 0, zone }), headers }
}

/** Returns the error that a call would get, or null if it fits. */
export function limitRefusalAt(
  facts: readonly LimitFacts[],
  { ask, nowSeconds, zone }: Telling,
): AppError | null {
  const { ends } = budgetPeriods(zone, nowSeconds)
  const refusal = limitRefusal({ isRefused: true, facts }, ask, { nowSeconds, ends })
  if (refusal === null) return null
  const seconds = Math.max(1, (refusal.freesAtSeconds ?? 0) - nowSeconds)
  return refusalError(refusal, { ask, seconds, zone })
}

function refusalError(
  refusal: LimitRefusal,
  { ask, seconds, zone }: { ask: LimitAsk; seconds: number; zone: string },
): AppError {
  const { limit, max, isHeld, freesAtSeconds } = refusal
  const owner = OWNERS[refusal.subject]
  const told = (code: ErrorCode, params: ErrorParams): AppError =>
    new AppError(code, { ...owner, ...params })
  if (limit === 'requests') return told('limit_requests', { max, seconds })
  if (limit === 'calls') return told('limit_calls', { max })
  if (limit === 'tokens') {
    const needed = ask.tokens
    return freesAtSeconds === null
      ? told('limit_tokens_call', { max, needed })
      : told('limit_tokens', { max, needed, seconds })
  }
  const period = PERIODS[limit]
  if (freesAtSeconds === null) return told('limit_budget_call', period)
  if (isHeld) return told('limit_budget_held', period)
  return told('limit_budget', { ...period, at: zoneStamp(zone, freesAtSeconds), zone })
}

const OWNERS = {
  token: { ownerZh: '令牌', ownerEn: 'token' },
  user: { ownerZh: '账户', ownerEn: 'account' },
} as const

const PERIODS = {
  day: { periodZh: '今日', periodEn: 'today' },
  week: { periodZh: '本周', periodEn: 'this week' },
  month: { periodZh: '本月', periodEn: 'this month' },
} as const
