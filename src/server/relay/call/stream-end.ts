import type { Call } from './call.ts'
import type { Attempt, AttemptPlan, Prompt } from './plan.ts'
import type { UsageSource } from './settle.ts'
import type { BreakReason } from '../errors/attempt-outcome.ts'
import type { Language } from '../../../contract/errors.ts'
import { AppError } from '../../app-error.ts'
import type { CompletionCounter } from '../count/count-completion.ts'
import { completionOf, countedUsage, type TokenUsage } from '../protocols/canonical/token-usage.ts'
import type { StreamOutcome } from '../protocols/dialect/dialect.ts'
import type { FollowedStream } from '../protocols/dialect/followed-stream.ts'
import type { Ending } from './settle.ts'
import { withCodeAsText } from '../errors/client-error.ts'
import { ownError, type RelayError } from '../protocols/dialect/relay-error.ts'
import { hiddenRefusal, upstreamError } from '../errors/upstream-error.ts'
import { measureTold } from './settle.ts'

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
  { upstream, convert }: Pick<AttemptPlan, 'upstream' | 'convert'>,
  { language }: Call,
  { channel }: Attempt,
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
  { prompt, completion }: { prompt: Prompt; completion: CompletionCounter },
): Promise<{ used: TokenUsage; source: UsageSource }> {
  const said = stream.usage
  const { usage } = said
  // Usage in the middle of a response that broke off covers only a part of it.
  if (said.usage !== null && (result === 'clean' || stream.isDone)) {
    return measureTold(said, { prompt, completion: () => completion })
  }
  const { estimate } = prompt
  if (estimate !== null) return { used: usage ?? estimate, source: 'estimated' }
  const told = completionOf(said)
  return {
    used: {
      ...(usage ?? { ...countedUsage(0, 0), ...extrasOf(stream) }),
      promptTokens: usage?.promptTokens || (await prompt.count()),
      completionTokens: told ?? Math.max(usage?.completionTokens ?? 0, await completion.total()),
    },
    source: 'counted',
  }
}

function extrasOf({ extras = {} }: FollowedStream): Pick<TokenUsage, 'extras'> {
  return Object.keys(extras).length === 0 ? {} : { extras }
}
