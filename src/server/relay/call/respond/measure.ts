import type { CompletionCounter } from '../../count/count-tokens.ts'
import {
  completionOf,
  countedUsage,
  type TokenUsage,
  type UsageReading,
} from '../../protocols/canonical/token-usage.ts'
import type { StreamOutcome } from '../../protocols/dialect/dialect.ts'
import type { FollowedStream } from '../../protocols/dialect/followed-stream.ts'
import type { Attempt } from '../plan.ts'

/** Decides the usage that a call is charged for: the upstream's, if it is plausible. */

/** The usage to charge. `source`: where its token figures come from. */
export interface Measured {
  used: TokenUsage
  source: UsageSource
}

export type UsageSource = 'upstream' | 'counted' | 'estimated'

/** Usage whose figures are consistent. */
type ToldUsage = Extract<UsageReading, { fault: null }>

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
): Promise<Measured> {
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

/** Returns the usage of a stream and its source. */
export async function measureStream(
  stream: FollowedStream,
  result: StreamOutcome,
  { attempt, completion }: { attempt: Attempt; completion: CompletionCounter },
): Promise<Measured> {
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
