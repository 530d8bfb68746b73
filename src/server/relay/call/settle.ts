import type { Config } from '../../config.ts'
import type { Measured } from './respond/measure.ts'
import type { Attempt } from './plan.ts'
import { rememberResponse } from './stored-responses.ts'
import { bookedFor } from '../../ledger/ledger-store.ts'
import { costOf, priceAt } from '../../ledger/price.ts'
import { bookedFactors } from '../../ledger/price/price-lines.ts'
import type { Settlement } from '../../ledger/operations.ts'
import { settleServed } from '../../ledger/ledger.ts'
import { noteMembers } from '../protocols/canonical/request-notes.ts'
import type { TokenUsage } from '../protocols/canonical/token-usage.ts'
import type { Call, RelayParts } from './call.ts'
import type { BreakReason } from '../errors/attempt-outcome.ts'
import type { StreamOutcome } from '../protocols/dialect/dialect.ts'
import { noteSpent } from '../routing/caller.ts'

/**
 * How a response ended, which decides what it costs with `RELAY_CLIENT_GONE`, `RELAY_BROKEN_ANSWER`
 * and `RELAY_MISSING_USAGE`, for every surface. Policy: docs/manual/en/billing.md.
 */
export type Ending =
  /** The client has the whole response, or would have without leaving. */
  | 'whole'
  /** The upstream or this server broke it off after its start. */
  | 'broken'
  /** The client left and the upstream was stopped. */
  | 'left'
  /** The balance did not cover more and the upstream was stopped. */
  | 'unpaid'

/** Whether the client has, or would have, a complete stream. */
export const isWhole = (result: StreamOutcome): boolean =>
  result === 'clean' || result === 'usage-missing'

/** Returns how a stream ended. `brokenOff`: why this server stopped it; null if it did not. */
export function endingOf(
  result: StreamOutcome,
  { isGone, brokenOff }: { isGone: boolean; brokenOff: BreakReason | null },
): Ending {
  if (isWhole(result)) return 'whole'
  if (isGone) return 'left'
  return brokenOff === 'quota_used_up' ? 'unpaid' : 'broken'
}

type Policy = Pick<Config, 'RELAY_BROKEN_ANSWER' | 'RELAY_MISSING_USAGE'>

/**
 * Whether the operator's policy leaves this response uncharged. A response whose client left is
 * always charged: otherwise clients could read for free by leaving before the end.
 */
function isGivenAway(policy: Policy, { source, ending }: Measured & { ending: Ending }): boolean {
  if (ending === 'broken') return policy.RELAY_BROKEN_ANSWER === 'free'
  return ending === 'whole' && source === 'counted' && policy.RELAY_MISSING_USAGE === 'free'
}

/** Returns the settlement of a call, as booked at its end, or if the process died now. */
export function settlementOf(
  { app }: RelayParts,
  call: Call,
  attempt: Attempt,
  { used, source }: Measured,
): Settlement {
  const { caller } = call
  const { channel, modelName } = attempt
  const price = priceAt(attempt.price, used.promptTokens)
  const cost = costOf(price, used)
  return {
    requestId: call.requestId,
    nowSeconds: app.clock.nowSeconds(),
    userId: caller.user.id,
    tokenId: caller.token.id,
    channelId: channel.id,
    cost,
    promptTokens: used.promptTokens,
    completionTokens: used.completionTokens,
    username: caller.user.username,
    tokenName: caller.token.name ?? '',
    modelName,
    detail: JSON.stringify({
      ...bookedFactors(price, used, {
        requestedModel: call.input.model,
        source,
        outputLimit: attempt.outputLimit,
      }),
      ...noteMembers(call.notes),
    }),
    content: price.ratioText,
    elapsedMs: Math.round(app.clock.monotonicMs() - call.startedMs),
    isStream: call.figures.isStream,
    systemPromptReset: attempt.resetsSystemPrompt,
    keepLog: app.options.flag('LogConsumeEnabled'),
    address: caller.address,
  }
}

/** The final cost of a call. */
interface SettledCall {
  /** Points charged. */
  charged: number
  /** The user's remaining quota; null if nothing was booked. */
  userQuota: number | null
}

const GIVEN_AWAY: SettledCall = { charged: 0, userQuota: null }

/**
 * Settles a call, or releases one that the policy leaves uncharged, and stores what must be stored
 * before its client has the last byte. Returns null if the call had already been closed.
 */
export async function settleCall(
  parts: RelayParts,
  call: Call,
  measured: Measured & { ending: Ending },
): Promise<SettledCall | null> {
  const { attempt } = call
  if (call.span !== null) call.span.usage = { model: attempt.modelName, ...measured.used }
  if (isGivenAway(parts.app.config, measured)) {
    await Promise.all([parts.app.ledger.release(call.requestId), remembered(parts, call)])
    return GIVEN_AWAY
  }
  const settlement = settlementOf(parts, call, attempt, measured)
  const settling = settleServed(parts.app, settlement)
  const [settled] = await Promise.all([settling, remembered(parts, call)])
  if (settled === null) void warnAlreadySettled(parts, settlement)
  else noteSpent(call.caller, settled.charged)
  return settled
}

/** Stores a response's owner, which must be found as soon as the client has the last byte. */
const remembered = (parts: RelayParts, call: Call): Promise<void> | null =>
  call.figures.seen === undefined ? null : rememberResponse(parts, call, call.attempt.channel)

/** Logs what another process has booked, if it differs from the cost of the call. */
async function warnAlreadySettled(
  { app }: RelayParts,
  { requestId, cost }: Settlement,
): Promise<void> {
  try {
    const booked = await bookedFor(app.database.read, requestId)
    if (booked === cost) return
    app.trace.warn({ requestId, cost, booked }, 'a call had been closed by another process')
  } catch (error) {
    app.trace.warn({ err: error, requestId, cost }, 'a call had been closed by another process')
  }
}

/**
 * Stores the cost of the call so far, in case this process dies. A checkpoint that cannot be stored
 * stops nothing: the settlement does not depend on it. A call that another process has closed,
 * because it assumed this process dead, is broken off, as its further cost could not be charged.
 * `onShort` is called with the points reserved if the balances do not cover the cost so far.
 */
export function checkpointCall(
  parts: RelayParts,
  call: Call,
  { used, onShort }: { used: TokenUsage; onShort?: (held: number) => void },
): void {
  const { ledger, trace } = parts.app
  const settlement = settlementOf(parts, call, call.attempt, { used, source: 'estimated' })
  ledger.checkpoint(settlement).then(
    (held) => {
      if (held === null) call.breakOff('busy')
      else if (held < settlement.cost) onShort?.(held)
    },
    (error: unknown) => trace.warn({ err: error, requestId: call.requestId }, 'no checkpoint'),
  )
}
