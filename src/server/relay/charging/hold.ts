import { AppError } from '../../app-error.ts'
import { COMPLETION_TOKENS_MAX, costOf, reservationOf } from '../../ledger/price.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { obeyLimits } from '../../limit/limit-answer.ts'
import { countedUsage, type TokenUsage } from '../canonical/token-usage.ts'
import { estimatePromptTokens } from '../count/estimate.ts'
import type { ScannedBody } from '../json/body-scan.ts'
import type { RequestFigures } from '../openai/surfaces.ts'
import { settlementOf } from './settle.ts'
import type { Charge, RelayCall, RelayParts } from '../relay-call.ts'
import type { Caller } from '../routing/caller.ts'

/** What a call may cost is held back before its upstream is asked. */

interface HeldCall {
  caller: Caller
  body: ScannedBody
  figures: RequestFigures
  /** What the upstream reads again from a stored response. */
  earlierTokens: number
}

interface Asked {
  charge: Charge
  /** What it can use at most; null: it is text. */
  estimate: TokenUsage | null
  /** What may be used beside its text; undefined: what the request tells of it. */
  extras: UsedExtras | undefined
  /** Points that are held for an earlier attempt; null: none. */
  held: number | null
}

/**
 * Holds back what the call can cost on this channel; answers how many points. A call is reserved
 * once: for a dearer channel more is held, and null is the answer where the balances do not cover
 * it. Throws the refusal that the client is to see.
 */
export async function hold(
  parts: RelayParts,
  call: RelayCall,
  text: HeldCall,
  asked: Asked,
): Promise<number | null> {
  const most = mostOf(parts, text, asked)
  if (asked.held === null) {
    const tokens = most.promptTokens + most.completionTokens
    return reserve(parts, call, text.caller, { amount: most.amount, tokens })
  }
  if (most.amount <= asked.held) return asked.held
  const used = countedUsage(most.promptTokens, most.completionTokens)
  const settlement = settlementOf(parts, call, asked.charge, { used, source: 'estimated' })
  const isCovered = await parts.app.ledger
    .extend({ ...settlement, cost: most.amount }, text.caller.token.unlimited_quota)
    .catch((error: unknown) => notHeld(parts, call, error))
  return isCovered ? most.amount : null
}

interface Most {
  amount: number
  promptTokens: number
  completionTokens: number
}

function mostOf({ app }: RelayParts, text: HeldCall, { charge, estimate, ...asked }: Asked): Most {
  const { maxCompletionTokens } = text.figures
  const extras = asked.extras ?? text.figures.extras
  const preConsumedTokens = app.options.number('PreConsumedQuota')
  const promptTokens =
    estimate?.promptTokens ?? estimatePromptTokens(text.body, charge.modelName) + text.earlierTokens
  const completionTokens =
    estimate?.completionTokens ??
    Math.min(maxCompletionTokens ?? preConsumedTokens, COMPLETION_TOKENS_MAX)
  const amount =
    estimate === null
      ? reservationOf(charge.price, {
          promptTokens,
          maxCompletionTokens,
          preConsumedTokens,
          ...(extras === undefined ? {} : { extras }),
        })
      : costOf(charge.price, estimate)
  return { amount, promptTokens, completionTokens }
}

/** Holds back `amount` points, and `tokens` of a limit by the minute; throws the refusal. */
export async function reserve(
  parts: RelayParts,
  call: RelayCall,
  caller: Caller,
  { amount, tokens }: { amount: number; tokens: number },
): Promise<number> {
  const { app, callers } = parts
  const nowSeconds = app.clock.nowSeconds()
  const operation = {
    requestId: call.requestId,
    userId: caller.user.id,
    tokenId: caller.token.id,
    amount,
    tokens,
    nowSeconds,
    node: app.node,
  }
  const refusal = await app.ledger
    .reserve(operation)
    .catch((error: unknown) => notHeld(parts, call, error))
  if (typeof refusal === 'object') {
    if (refusal !== null) {
      const zone = app.options.text('LimitTimeZone')
      obeyLimits(call, refusal, { ask: { tokens, quota: amount }, nowSeconds, zone })
    }
    return amount
  }
  switch (refusal) {
    case 'user_quota':
      throw new AppError('user_quota_insufficient')
    case 'token_quota':
    case 'token_unavailable':
    case 'user_unavailable': {
      // The rows have changed since they were read: say what they say now.
      const reason = await callers.recheck(caller, () => app.addressOf(call.request))
      throw reason ?? new AppError('token_quota_insufficient')
    }
    default:
      return refusal satisfies never
  }
}

function notHeld({ app }: RelayParts, { requestId }: RelayCall, error: unknown): never {
  app.trace.error({ err: error, requestId }, 'nothing could be reserved')
  throw new AppError('busy')
}
