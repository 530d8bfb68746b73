import { AppError } from '../../app-error.ts'
import { findStanding } from '../../ledger/ledger-store.ts'
import type { ReserveRefusal } from '../../ledger/operations.ts'
import { budgetRooms, hasBudget, type LimitCheck } from '../../limit/limit.ts'
import { obeyLimits } from '../../limit/limit-answer.ts'
import type { RelayCall, RelayParts } from './call.ts'
import type { Caller } from '../routing/caller.ts'

/** Holds points back before an upstream is asked, and waits for them if other calls hold them. */

/** What to reserve, in points; `full` ≥ `enough` ≥ `least`. */
export interface Amounts {
  /** All that the call can cost. */
  full: number
  /** So much is taken at once; for less, a call waits while other calls of its user are running. */
  enough: number
  /** With less, the call is not worth starting. */
  least: number
  /** The most that is worth holding when so many points are free. */
  fit(free: number): number
}

/** What a call wants, in points. */
export interface Wanted {
  /** All that it can cost, by an estimate of its prompt. */
  full: number
  /** Tokens that count against limits by the minute. */
  tokens: number
  /** Asked if there is less than `full`: the same with the prompt counted, and how little will do. */
  exact(): Promise<Amounts>
}

export interface Reserved {
  /** Points held back. */
  points: number
  /** Whether the token or its owner has a budget. */
  hasBudget: boolean
}

/** An amount that must be held as it is. */
export const exactly = (full: number): Pick<Wanted, 'full' | 'exact'> => ({
  full,
  exact: () => Promise.resolve({ full, enough: full, least: full, fit: () => full }),
})

/** A balance or budget that is too small for what was asked. */
interface Shortage {
  /** Points that are free, and that open calls hold. */
  free: number
  held: number
  /** Throws what the client is to see of a call that takes at least `least` points. */
  refuse(least: number): Promise<never>
}

/** How often a reservation is tried anew because balances changed meanwhile. */
const ROUNDS_MAX = 5

/**
 * Reserves as much of `wanted` as balance, token and budgets cover. Returns null if the client has
 * left. Throws the refusal that the client is to see: 403 if the balances cannot pay the least even
 * after all open calls have ended, 429 if open calls hold the points for longer than a call waits.
 */
export async function reserve(
  parts: RelayParts,
  call: RelayCall,
  caller: Caller,
  wanted: Wanted,
): Promise<Reserved | null> {
  const attempt = (): Promise<Reserved | null> => tryReserve(parts, call, caller, wanted)
  const userId = caller.user.id
  const first = parts.waiting.isBusy(userId) ? null : await attempt()
  if (first !== null) return first
  const waiting = { userId, tokenId: caller.token.id, isGone: () => call.isGone }
  const later = await parts.waiting.take(waiting, attempt)
  if (later !== null || call.isGone) return later
  call.headers.push('Retry-After', '1')
  throw new AppError('quota_held')
}

/** Null if the call must wait until other calls give points back. */
async function tryReserve(
  parts: RelayParts,
  call: RelayCall,
  caller: Caller,
  wanted: Wanted,
): Promise<Reserved | null> {
  let points = wanted.full
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const ask = { points, tokens: wanted.tokens }
    const outcome = await reserveOnce(parts, call, caller, ask)
    if (!Array.isArray(outcome)) return outcome
    const { full, enough, least, fit } = await wanted.exact()
    points = Math.min(points, full)
    const shortages = outcome.filter(({ free }) => free < points)
    for (const { free, held, refuse } of shortages) {
      // Refuses for good: the points do not even come back when all open calls have ended.
      if (free + held < least) return refuse(least)
    }
    if (shortages.some(({ free, held }) => held > 0 && free < enough)) return null
    // Balances may have changed meanwhile, so the reservation decides again.
    points = shortages.reduce((lowest, { free }) => Math.min(lowest, fit(free)), points)
  }
  return null
}

interface Ask {
  points: number
  tokens: number
}

/** Reserves, or says which balances or budgets are too small. */
async function reserveOnce(
  parts: RelayParts,
  call: RelayCall,
  caller: Caller,
  ask: Ask,
): Promise<Reserved | Shortage[]> {
  const { app } = parts
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
  const result = await app.ledger.reserve(operation).catch((error: unknown) => {
    app.trace.error({ err: error, requestId: call.requestId }, 'nothing could be reserved')
    throw new AppError('busy')
  })
  if (result === null) return { points: ask.points, hasBudget: false }
  if (typeof result === 'string') return balanceShortages(parts, call, caller, result)
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

/** The budgets that a call does not fit; null if it does not fit another limit either. */
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
  call: RelayCall,
  caller: Caller,
  refusal: ReserveRefusal,
): Promise<Shortage[]> {
  const refuseToken = async (): Promise<never> => {
    // The rows have changed since they were read: say what they say now.
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
