import { bookedFor } from '../../ledger/ledger-store.ts'
import { costOf, priceAt } from '../../ledger/price.ts'
import { bookedFactors } from '../../ledger/price/price-factors.ts'
import type { Settlement } from '../../ledger/operations.ts'
import { settleServed } from '../../ledger/settle-served.ts'
import { noteMembers } from '../canonical/request-notes.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { Charge, RelayCall, RelayParts, UsageSource } from './call.ts'
import { noteSpent } from '../routing/caller.ts'
import { isGivenAway, type Ending } from './ending.ts'

/** What the ledger is told when a call is settled, or would be if the process died now. */
export function settlementOf(
  { app }: RelayParts,
  call: RelayCall,
  charge: Charge,
  { used, source }: { used: TokenUsage; source: UsageSource },
): Settlement {
  const { caller, channel, requestedModel, modelName, isStream } = charge
  const price = priceAt(charge.price, used.promptTokens)
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
        requestedModel,
        source,
        priceVersion: app.options.ratios().version,
        outputLimit: charge.outputLimit,
      }),
      ...noteMembers(call.notes),
    }),
    content: price.ratioText,
    elapsedMs: Math.round(app.clock.monotonicMs() - call.startedMs),
    isStream,
    systemPromptReset: charge.resetsSystemPrompt,
    keepLog: app.options.flag('LogConsumeEnabled'),
  }
}

/** What a call came to in the end. */
interface SettledCall {
  /** Points. */
  charged: number
  /** What the user has left; null: nothing was booked. */
  userQuota: number | null
}

const GIVEN_AWAY: SettledCall = { charged: 0, userQuota: null }

/**
 * Settles a call, or releases one that the operator gives away, and stores what must be stored
 * before its client has the last byte. Null when it had been closed before.
 */
export async function settleCall(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  measured: { used: TokenUsage; source: UsageSource; ending: Ending },
): Promise<SettledCall | null> {
  if (isGivenAway(parts.app.config, measured)) {
    await Promise.all([parts.app.ledger.release(call.requestId), charge.beforeEnd?.()])
    return GIVEN_AWAY
  }
  const settlement = settlementOf(parts, call, charge, measured)
  const settling = settleServed(parts.app, settlement)
  const [settled] = await Promise.all([settling, charge.beforeEnd?.()])
  if (settled === null) void tellOfClosed(parts, settlement)
  else noteSpent(charge.caller, settled.charged)
  return settled
}

/** For the operator: what another process has booked, where it is not what the call came to. */
async function tellOfClosed({ app }: RelayParts, { requestId, cost }: Settlement): Promise<void> {
  try {
    const booked = await bookedFor(app.database.read, requestId)
    if (booked === cost) return
    app.trace.warn({ requestId, cost, booked }, 'a call had been closed by another process')
  } catch (error) {
    app.trace.warn({ err: error, requestId, cost }, 'a call had been closed by another process')
  }
}

/**
 * Stores what the call came to so far, should this process die. A checkpoint that cannot be stored
 * stops nothing: the settlement does not depend on it. A call that another process has closed,
 * because it took this one for dead, is broken off: nobody would pay for what comes next. `onShort`
 * is called with the points held if the balances do not cover what the call has come to.
 */
export function checkpointCall(
  parts: RelayParts,
  call: RelayCall,
  charge: Charge,
  { used, onShort }: { used: TokenUsage; onShort?: (held: number) => void },
): void {
  const { ledger, trace } = parts.app
  const settlement = settlementOf(parts, call, charge, { used, source: 'estimated' })
  ledger.checkpoint(settlement).then(
    (held) => {
      if (held === null) call.breakOff('busy')
      else if (held < settlement.cost) onShort?.(held)
    },
    (error: unknown) => trace.warn({ err: error, requestId: call.requestId }, 'no checkpoint'),
  )
}
