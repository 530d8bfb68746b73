import type { Config } from '../../config.ts'
import type { CompletionCounter } from '../count/count-tokens.ts'
import type { Attempt } from './plan.ts'
import { rememberResponse } from './stored-responses.ts'
import { bookedFor } from '../../ledger/ledger-store.ts'
import { costOf, priceAt } from '../../ledger/price.ts'
import { bookedFactors } from '../../ledger/price/price-lines.ts'
import type { Settlement } from '../../ledger/operations.ts'
import { settleServed } from '../../ledger/ledger.ts'
import { noteMembers } from '../protocols/canonical/request-notes.ts'
import {
  countedUsage,
  type TokenUsage,
  type UsageReading,
  completionOf,
} from '../protocols/canonical/token-usage.ts'
import type { Call, RelayParts } from './call.ts'
import { noteSpent } from '../routing/caller.ts'
import type { BreakReason } from '../errors/attempt-outcome.ts'
import type { Language } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import type { StreamOutcome } from '../protocols/dialect/dialect.ts'
import type { FollowedStream } from '../protocols/dialect/followed-stream.ts'
import { withCodeAsText } from '../errors/client-error.ts'
import { ownError, type RelayError } from '../protocols/dialect/relay-error.ts'
import { hiddenRefusal, upstreamError } from '../errors/upstream-error.ts'

/** The source of the token figures of a settlement. */
export type UsageSource = 'upstream' | 'counted' | 'estimated'

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

type Policy = Pick<Config, 'RELAY_BROKEN_ANSWER' | 'RELAY_MISSING_USAGE'>

/**
 * Whether the operator's policy leaves this response uncharged. A response whose client left is
 * always charged: otherwise clients could read for free by leaving before the end.
 */
function isGivenAway(
  policy: Policy,
  { source, ending }: { source: UsageSource; ending: Ending },
): boolean {
  if (ending === 'broken') return policy.RELAY_BROKEN_ANSWER === 'free'
  return ending === 'whole' && source === 'counted' && policy.RELAY_MISSING_USAGE === 'free'
}

/** Returns the settlement of a call, as booked at its end, or if the process died now. */
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
  attempt: Attempt,
  measured: { used: TokenUsage; source: UsageSource; ending: Ending },
): Promise<SettledCall | null> {
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

/** Usage whose figures are consistent. */
export type ToldUsage = Extract<UsageReading, { fault: null }>

/** Up to so many tokens may be the upstream's own text, such as a refusal, not the model's. */
const OWN_WORDS_MAX = 16

/**
 * Checks the usage that an upstream reported against the response's text. If the upstream reports
 * no completion but there are more than `OWN_WORDS_MAX` tokens of text, or if only the first event
 * of a stream reported a completion, the reported prompt is kept and the completion is counted
 * here. `completion` returns the response's text and is called only then.
 */
export async function measureTold(
  { usage, notes }: ToldUsage,
  {
    attempt,
    completion,
  }: { attempt: Pick<Attempt, 'isText' | 'countPrompt'>; completion: () => CompletionCounter },
): Promise<{ used: TokenUsage; source: UsageSource }> {
  const asTold = { used: usage, source: 'upstream' as const }
  const isBegun = notes.includes('completion-begun')
  if (!attempt.isText || notes.includes('unbilled') || (usage.completionTokens > 0 && !isBegun))
    return asTold
  const counted = await completion().total()
  if (counted <= (isBegun ? usage.completionTokens : OWN_WORDS_MAX)) return asTold
  // A total alone covers the response too.
  const isTotalAlone = notes.includes('prompt-from-total')
  const used = isTotalAlone
    ? countedUsage(await attempt.countPrompt(), counted)
    : {
        ...usage,
        promptTokens: usage.promptTokens || (await attempt.countPrompt()),
        completionTokens: counted,
      }
  return { used, source: 'counted' }
}

/** Converts the end of a stream to an error for the client and usage to charge. */

/**
 * Returns the error for an incomplete stream; null if the upstream's own error was already sent.
 */
export function endingError(
  result: StreamOutcome,
  { brokenOff, language }: { brokenOff: BreakReason | null; language: Language },
): RelayError | null {
  if (result === 'error-chunk') return null
  const code = brokenOff ?? (result === 'stalled' ? 'upstream_timeout' : 'upstream_cut')
  return ownError(new AppError(code), language)
}

export const isWhole = (result: StreamOutcome): boolean =>
  result === 'clean' || result === 'usage-missing'

/** Returns an error inside an upstream's stream, cleaned for the client. */
export function cleanError(
  error: unknown,
  { upstream, convert, channel }: Attempt,
  { language }: Call,
): RelayError {
  const said = upstreamError(hiddenRefusal(error, upstream), language, channel)
  return convert === null ? said : withCodeAsText(said)
}

export function endingOf(
  result: StreamOutcome,
  { isGone, brokenOff }: { isGone: boolean; brokenOff: BreakReason | null },
): Ending {
  if (isWhole(result)) return 'whole'
  if (isGone) return 'left'
  return brokenOff === 'quota_used_up' ? 'unpaid' : 'broken'
}

/** Returns the usage of a stream and its source. */
export async function measureStream(
  stream: FollowedStream,
  result: StreamOutcome,
  { attempt, completion }: { attempt: Attempt; completion: CompletionCounter },
): Promise<{ used: TokenUsage; source: UsageSource }> {
  const said = stream.usage
  const { usage } = said
  // Usage in the middle of a response that broke off covers only a part of it.
  if (said.usage !== null && (result === 'clean' || stream.isDone)) {
    return measureTold(said, { attempt, completion: () => completion })
  }
  const { estimate } = attempt
  if (estimate !== null) return { used: usage ?? estimate, source: 'estimated' }
  const told = completionOf(said)
  return {
    used: {
      ...(usage ?? { ...countedUsage(0, 0), ...extrasOf(stream) }),
      promptTokens: usage?.promptTokens || (await attempt.countPrompt()),
      completionTokens: told ?? Math.max(usage?.completionTokens ?? 0, await completion.total()),
    },
    source: 'counted',
  }
}

function extrasOf({ extras = {} }: FollowedStream): Pick<TokenUsage, 'extras'> {
  return Object.keys(extras).length === 0 ? {} : { extras }
}
