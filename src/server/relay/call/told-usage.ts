import { countedUsage, type TokenUsage, type UsageReading } from '../canonical/token-usage.ts'
import type { CompletionCounter } from '../count/count-completion.ts'
import type { UsageSource } from './call.ts'
import type { Prompt } from '../whole-answer.ts'

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
