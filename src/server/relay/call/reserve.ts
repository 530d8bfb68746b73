import type { Attempt } from './plan.ts'
import { AppError } from '../../app-error.ts'
import { isOutage } from '../../db/outage.ts'
import { COMPLETION_TOKENS_MAX, costOf, reservationOf } from '../../ledger/price.ts'
import { countedUsage } from '../protocols/canonical/token-usage.ts'
import { estimatePromptTokens } from '../count/estimate.ts'
import { WRITING_TASKS } from '../protocols/dialect/provider.ts'
import { present } from '../json/json-value.ts'
import { outputLimitOf } from '../../model/model-table.ts'
import { settlementOf } from './settle.ts'
import type { RelayParts, Call } from './call.ts'
import { findStanding } from '../../ledger/ledger-store.ts'
import type { ReserveRefusal } from '../../ledger/operations.ts'
import { budgetRooms, hasBudget, type LimitCheck } from '../../limit/limit.ts'
import { obeyLimits } from '../../limit/limit-answer.ts'

/** Reserves the possible cost of a call before the upstream is asked. */

export interface Hold {
  /** Points reserved for the call. */
  points: number
  /**
   * The most tokens that each reply may have, because the balance does not cover more; null if it
   * covers all that client and model allow.
   */
  outputLimit: number | null
  /** Later attempts cannot reserve more than these points. */
  isFixed: boolean
}

/** Assumed maximum tokens of a reply if the model's output limit is unknown. */
const UNKNOWN_REPLY_TOKENS = 131_072

/** Largest body, in bytes, whose prompt is counted exactly if the balance is short. */
const EXACT_BYTES_MAX = 64 * 1024

/**
 * Reserves the possible cost of the call on this channel, or as much of it as balance, token and
 * budgets cover. A call has one reservation; a more expensive channel extends it. Returns null if
 * the balances do not cover that or the client has left. Throws the client's refusal.
 */
export async function hold(
  parts: RelayParts,
  call: Call,
  attempt: Attempt,
  /** The reservation of an earlier attempt; null if this is the first. */
  held: Hold | null,
): Promise<Hold | null> {
  const costs = costsOf(parts, call, attempt)
  if (held !== null) return holdMore(parts, call, attempt, { costs, held })
  const reserved = await reservePoints(parts, call, costs)
  if (reserved === null) return null
  const { points } = reserved
  const outputLimit = costs.limitFor(points)
  return { points, outputLimit, isFixed: reserved.hasBudget || points < costs.full }
}

/** Extends the reservation for a later attempt, unless it is fixed. */
async function holdMore(
  parts: RelayParts,
  call: Call,
  attempt: Attempt,
  { costs, held }: { costs: Costs; held: Hold },
): Promise<Hold | null> {
  if (costs.full <= held.points) return { ...held, outputLimit: null }
  const points = held.isFixed ? held.points : await extend(parts, call, attempt, costs)
  if (points === null || points < (await costs.exact()).least) return null
  return { ...held, points, outputLimit: costs.limitFor(points) }
}

/**
 * Extends to as much of `full` as the balances cover. Returns the points reserved then, or null if
 * the reservation is closed.
 */
async function extend(
  parts: RelayParts,
  call: Call,
  attempt: Attempt,
  { full, tokens }: Costs,
): Promise<number | null> {
  const used = countedUsage(tokens, 0)
  const settlement = settlementOf(parts, call, attempt, { used, source: 'estimated' })
  try {
    return await parts.app.ledger.extend({ ...settlement, cost: full })
  } catch (error) {
    parts.app.trace.error({ err: error, requestId: call.requestId }, 'nothing could be reserved')
    throw new AppError('busy')
  }
}

interface Costs extends Wanted {
  /** Returns the most tokens of each reply that the points pay for; null if they cover all. */
  limitFor(points: number): number | null
}

function costsOf(parts: RelayParts, call: Call, attempt: Attempt): Costs {
  const { app } = parts
  const { figures, input, route } = call
  const { estimate, price } = attempt
  const preConsumedTokens = app.options.number('PreConsumedQuota')
  const { maxCompletionTokens } = figures
  const promptTokens =
    estimate?.promptTokens ??
    estimatePromptTokens(input.body, attempt.modelName) + route.earlierTokens
  const completionTokens =
    estimate?.completionTokens ??
    Math.min(maxCompletionTokens ?? preConsumedTokens, COMPLETION_TOKENS_MAX)
  const tokens = promptTokens + completionTokens
  const isLimited = app.options.flag('ReserveFullAnswer') && WRITING_TASKS.has(input.surface.task)
  if (estimate === null && price.perCall === null && isLimited) {
    return { tokens, ...replyCosts(parts, call, attempt, promptTokens) }
  }
  const extras = attempt.extras ?? figures.extras
  const most = { promptTokens, maxCompletionTokens, preConsumedTokens, ...present({ extras }) }
  const full = estimate === null ? reservationOf(price, most) : costOf(price, estimate)
  return { tokens, ...exactly(full), limitFor: () => null }
}

/** Returns the possible cost of text replies by their maximum length. */
function replyCosts(
  { app }: RelayParts,
  { figures, input: { body } }: Call,
  attempt: Attempt,
  promptEstimate: number,
): Omit<Costs, 'tokens'> {
  const { price, limitsOutput } = attempt
  const { maxCompletionTokens, replies = 1 } = figures
  const other = present({ extras: attempt.extras ?? figures.extras })
  let promptTokens = promptEstimate
  const pointsOf = (eachTokens: number, read = promptTokens): number =>
    costOf(price, {
      promptTokens: read,
      cachedTokens: 0,
      completionTokens: eachTokens * replies,
      ...other,
    })
  const said = maxCompletionTokens === null ? Infinity : maxCompletionTokens / replies
  const { modelName, channel } = attempt
  const capabilities = app.models.table().capabilitiesOf(modelName, channel.type)
  const known = Math.min(said, outputLimitOf({ model: modelName, capabilities }) ?? Infinity)
  const most = Math.min(
    known === Infinity ? UNKNOWN_REPLY_TOKENS : known,
    Math.floor(COMPLETION_TOKENS_MAX / replies),
  )
  const longestWithin = (points: number, read = promptTokens): number => {
    if (pointsOf(most, read) <= points) return most
    let [fits, above] = [0, most]
    while (above - fits > 1) {
      const middle = Math.floor((fits + above) / 2)
      if (pointsOf(middle, read) <= points) fits = middle
      else above = middle
    }
    return fits
  }
  const full = pointsOf(most)
  let exact: Promise<Amounts> | null = null
  const amounts = async (): Promise<Amounts> => {
    if (body.bytes.length <= EXACT_BYTES_MAX) promptTokens = await attempt.countPrompt()
    const least = pointsOf(Math.min(1, most))
    if (!limitsOutput) return { full: pointsOf(most), enough: pointsOf(most), least, fit: all }
    const enough = Math.ceil(app.options.number('ReserveMinimumTokens') / replies)
    return {
      full: pointsOf(most),
      enough: pointsOf(Math.min(enough, most)),
      least,
      fit: (free) => pointsOf(longestWithin(free)),
    }
  }
  return {
    full,
    exact: () => (exact ??= amounts()),
    limitFor(points) {
      if (!limitsOutput) return null
      // The prompt count here may exceed the upstream's; that must not cut a reply short.
      const limit = longestWithin(points, leastPrompt(promptTokens))
      return limit === most ? null : limit
    },
  }
}

/** Returns the least prompt tokens that the upstream may count for a count made here. */
const leastPrompt = (counted: number): number => Math.max(0, Math.floor(counted * 0.95) - 8)

/** Reserves all free points for a reply whose length cannot be limited. */
const all = (free: number): number => free

/** Amounts to reserve, in points; `full` ≥ `enough` ≥ `least`. */
export interface Amounts {
  /** The maximum cost of the call. */
  full: number
  /**
   * Reserved immediately if free; for less, a call waits while other calls of its user are running.
   */
  enough: number
  /** The minimum; with less, the call is not started. */
  least: number
  /** Returns the most points worth reserving if this many are free. */
  fit(free: number): number
}

/** The reservation that a call requests, in points. */
export interface Wanted {
  /** The maximum cost, with the prompt estimated. */
  full: number
  /** Tokens that count against per-minute limits. */
  tokens: number
  /**
   * Called if fewer than `full` points are free: returns amounts based on the counted prompt, and
   * the minimum.
   */
  exact(): Promise<Amounts>
}

export interface Reserved {
  /** Points reserved. */
  points: number
  /** Whether the token or its owner has a budget. */
  hasBudget: boolean
}

/** Requests an amount that must be reserved in full. */
export const exactly = (full: number): Pick<Wanted, 'full' | 'exact'> => ({
  full,
  exact: () => Promise.resolve({ full, enough: full, least: full, fit: () => full }),
})

/** A balance or budget that does not cover the requested amount. */
interface Shortage {
  /** Points that are free, and points that open calls hold. */
  free: number
  held: number
  /** Throws the client's error for a call that costs at least `least` points. */
  refuse(least: number): Promise<never>
}

/** Maximum retries of a reservation after balances changed concurrently. */
const ROUNDS_MAX = 5

/**
 * Reserves as much of `wanted` as balance, token and budgets cover. Returns null if the client has
 * left. Throws the client's refusal: 403 if the balances cannot pay the minimum even after all open
 * calls have ended, 429 if open calls hold the points for longer than a call waits.
 */
export async function reservePoints(
  parts: RelayParts,
  call: Call,
  wanted: Wanted,
): Promise<Reserved | null> {
  const { caller } = call
  const attempt = (): Promise<Reserved | null> => tryReserve(parts, call, wanted)
  const userId = caller.user.id
  const first = parts.waiting.isBusy(userId) ? null : await attempt()
  if (first !== null) return first
  const waiting = { userId, tokenId: caller.token.id, isGone: () => call.isGone }
  const later = await parts.waiting.take(waiting, attempt)
  if (later !== null || call.isGone) return later
  call.headers.push('Retry-After', '1')
  throw new AppError('quota_held')
}

/** Tries one reservation. Returns null if the call must wait until other calls release points. */
async function tryReserve(parts: RelayParts, call: Call, wanted: Wanted): Promise<Reserved | null> {
  let points = wanted.full
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const ask = { points, tokens: wanted.tokens }
    const outcome = await reserveOnce(parts, call, ask)
    if (!Array.isArray(outcome)) return outcome
    const { full, enough, least, fit } = await wanted.exact()
    points = Math.min(points, full)
    const shortages = outcome.filter(({ free }) => free < points)
    for (const { free, held, refuse } of shortages) {
      // Final refusal: the points do not suffice even after all open calls have ended.
      if (free + held < least) return refuse(least)
    }
    if (shortages.some(({ free, held }) => held > 0 && free < enough)) return null
    // Balances may have changed meanwhile, so the reservation is tried again.
    points = shortages.reduce((lowest, { free }) => Math.min(lowest, fit(free)), points)
  }
  return null
}

interface Ask {
  points: number
  tokens: number
}

/** Reserves the points, or returns the balances or budgets that are too small. */
async function reserveOnce(
  parts: RelayParts,
  call: Call,
  ask: Ask,
): Promise<Reserved | Shortage[]> {
  const { app } = parts
  const { caller } = call
  const nowSeconds = app.clock.nowSeconds()
  const operation = {
    requestId: call.requestId,
    userId: caller.user.id,
    tokenId: caller.token.id,
    amount: ask.points,
    tokens: ask.tokens,
    nowSeconds,
    node: app.node,
  }
  const reserve = () =>
    app.ledger.reserve(operation).catch((error: unknown) => {
      app.trace.error({ err: error, requestId: call.requestId }, 'nothing could be reserved')
      throw new AppError(isOutage(error) ? 'database_unavailable' : 'busy')
    })
  const result = await parts.admission.run(caller.token.id, reserve)
  if (result === null) return { points: ask.points, hasBudget: false }
  if (typeof result === 'string') return balanceShortages(parts, call, result)
  const obey = (quota: number): void =>
    obeyLimits(call, result, {
      ask: { tokens: ask.tokens, quota },
      nowSeconds,
      zone: app.options.text('LimitTimeZone'),
    })
  const shortages = result.isRefused ? budgetShortages(result, ask, obey) : null
  if (shortages !== null) return shortages
  obey(ask.points)
  return { points: ask.points, hasBudget: result.facts.some(hasBudget) }
}

/** Returns the budgets that the call exceeds; null if it exceeds another limit too. */
function budgetShortages(
  check: LimitCheck,
  { points, tokens }: Ask,
  obey: (quota: number) => void,
): Shortage[] | null {
  const rooms = budgetRooms(check.facts, { tokens, quota: points })
  return (
    rooms?.map(({ free, held }) => ({
      free,
      held,
      refuse: (least) => {
        obey(least)
        return Promise.reject(new Error('a budget refused a call that fits it'))
      },
    })) ?? null
  )
}

async function balanceShortages(
  { app, callers }: RelayParts,
  call: Call,
  refusal: ReserveRefusal,
): Promise<Shortage[]> {
  const { caller } = call
  const refuseToken = async (): Promise<never> => {
    // The rows have changed since they were read: report their current state.
    const reason = await callers.recheck(caller, () => app.addressOf(call.request))
    throw reason ?? new AppError('token_quota_insufficient')
  }
  if (refusal === 'user_unavailable' || refusal === 'token_unavailable') return refuseToken()
  const standing = await findStanding(app.database.read, {
    userId: caller.user.id,
    tokenId: caller.token.id,
  })
  if (standing === null) return refuseToken()
  const { userQuota, userHeld, tokenQuota, tokenHeld } = standing
  const refuseUser = (): Promise<never> =>
    Promise.reject(new AppError(userQuota < 0 ? 'user_quota_owed' : 'user_quota_insufficient'))
  const ofUser: Shortage = { free: userQuota, held: userHeld, refuse: refuseUser }
  if (tokenQuota === null) return [ofUser]
  return [ofUser, { free: tokenQuota, held: tokenHeld, refuse: refuseToken }]
}
