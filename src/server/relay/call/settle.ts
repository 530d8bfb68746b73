import type { Config } from '../../config.ts'
import type { CompletionCounter } from '../count/count-completion.ts'
import type { Attempt, Prompt } from './plan.ts'
import { rememberResponse } from './stored-responses.ts'
import { bookedFor } from '../../ledger/ledger-store.ts'
import { costOf, priceAt } from '../../ledger/price.ts'
import { bookedFactors } from '../../ledger/price/price-factors.ts'
import type { Settlement } from '../../ledger/operations.ts'
import { settleServed } from '../../ledger/settle-served.ts'
import { noteMembers } from '../canonical/request-notes.ts'
import { countedUsage, type TokenUsage, type UsageReading } from '../canonical/token-usage.ts'
import type { Call, RelayParts } from './call.ts'
import { noteSpent } from '../routing/caller.ts'

/** Where the token figures of a settlement come from. */
export type UsageSource = 'upstream' | 'counted' | 'estimated'

/**
 * What an answer that did not end well costs: `RELAY_CLIENT_GONE`, `RELAY_BROKEN_ANSWER` and
 * `RELAY_MISSING_USAGE`, whatever the surface. The policy in words: docs/manual/en/billing.md.
 */
export type Ending =
  /** The client has all of it, or would have. */
  | 'whole'
  /** The upstream, or we, broke it off behind its beginning. */
  | 'broken'
  /** The client went away, and the upstream was stopped. */
  | 'left'
  /** The balance did not cover more, and the upstream was stopped. */
  | 'unpaid'

type Policy = Pick<Config, 'RELAY_BROKEN_ANSWER' | 'RELAY_MISSING_USAGE'>

/**
 * Whether the operator does not charge such an answer. One whose client has left is always charged:
 * else people would read for nothing by leaving before the end.
 */
function isGivenAway(
  policy: Policy,
  { source, ending }: { source: UsageSource; ending: Ending },
): boolean {
  if (ending === 'broken') return policy.RELAY_BROKEN_ANSWER === 'free'
  return ending === 'whole' && source === 'counted' && policy.RELAY_MISSING_USAGE === 'free'
}

/** What the ledger is told when a call is settled, or would be if the process died now. */
export function settlementOf(
  { app }: RelayParts,
  call: Call,
  attempt: Attempt,
  { used, source }: { used: TokenUsage; source: UsageSource },
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
        priceVersion: app.options.ratios().version,
        outputLimit: attempt.outputLimit,
      }),
      ...noteMembers(call.notes),
    }),
    content: price.ratioText,
    elapsedMs: Math.round(app.clock.monotonicMs() - call.startedMs),
    isStream: call.figures.isStream,
    systemPromptReset: attempt.resetsSystemPrompt,
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
  call: Call,
  attempt: Attempt,
  measured: { used: TokenUsage; source: UsageSource; ending: Ending },
): Promise<SettledCall | null> {
  if (isGivenAway(parts.app.config, measured)) {
    await Promise.all([parts.app.ledger.release(call.requestId), remembered(parts, call)])
    return GIVEN_AWAY
  }
  const settlement = settlementOf(parts, call, attempt, measured)
  const settling = settleServed(parts.app, settlement)
  const [settled] = await Promise.all([settling, remembered(parts, call)])
  if (settled === null) void tellOfClosed(parts, settlement)
  else noteSpent(call.caller, settled.charged)
  return settled
}

/** Remembers a stored response, which must be found as soon as the client has its last byte. */
const remembered = (parts: RelayParts, call: Call): Promise<void> | null =>
  call.figures.seen === undefined ? null : rememberResponse(parts, call, call.attempt.channel)

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
  call: Call,
  attempt: Attempt,
  { used, onShort }: { used: TokenUsage; onShort?: (held: number) => void },
): void {
  const { ledger, trace } = parts.app
  const settlement = settlementOf(parts, call, attempt, { used, source: 'estimated' })
  ledger.checkpoint(settlement).then(
    (held) => {
      if (held === null) call.breakOff('busy')
      else if (held < settlement.cost) onShort?.(held)
    },
    (error: unknown) => trace.warn({ err: error, requestId: call.requestId }, 'no checkpoint'),
  )
}

/** Figures that agree with each other. */
export type ToldUsage = Extract<UsageReading, { fault: null }>

/** So few tokens may be the upstream's own words, as a refusal, which no model has written. */
const OWN_WORDS_MAX = 16

/**
 * The usage that an upstream told, checked against the answer's text. Where it claims that nothing
 * was written and there are more than `OWN_WORDS_MAX` tokens of text, or where only the first event
 * of a stream told a completion, the prompt stays as it was told and the completion is counted
 * here. `completion` holds the answer's text, and is asked for only then.
 */
export async function measureTold(
  { usage, notes }: ToldUsage,
  { prompt, completion }: { prompt: Prompt; completion: () => CompletionCounter },
): Promise<{ used: TokenUsage; source: UsageSource }> {
  const asTold = { used: usage, source: 'upstream' as const }
  const isBegun = notes.includes('completion-begun')
  if (!prompt.isText || notes.includes('unbilled') || (usage.completionTokens > 0 && !isBegun))
    return asTold
  const counted = await completion().total()
  if (counted <= (isBegun ? usage.completionTokens : OWN_WORDS_MAX)) return asTold
  // A total alone covers the answer too.
  const isTotalAlone = notes.includes('prompt-from-total')
  const used = isTotalAlone
    ? countedUsage(await prompt.count(), counted)
    : {
        ...usage,
        promptTokens: usage.promptTokens || (await prompt.count()),
        completionTokens: counted,
      }
  return { used, source: 'counted' }
}
