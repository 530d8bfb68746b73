import type { UsageShape } from './directives.ts'
import type { Json } from './call.ts'

export type UsageCounts = {
  promptTokens: number
  completionTokens: number
  cachedTokens: number
  reasoningTokens: number
}

/** `usage` member of a response in the OpenAI dialect, correct or corrupted as `shape` says. */
export function usageMembers(counts: UsageCounts, shape: UsageShape): { usage: Json } {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens } = counts
  const total = promptTokens + completionTokens
  const spoil = spoilers[shape]
  return {
    usage: {
      prompt_tokens: spoil(promptTokens),
      completion_tokens: spoil(completionTokens),
      total_tokens: spoil(total),
      ...(cachedTokens > 0 ? { prompt_tokens_details: { cached_tokens: cachedTokens } } : {}),
      ...(reasoningTokens > 0
        ? { completion_tokens_details: { reasoning_tokens: reasoningTokens } }
        : {}),
    },
  }
}

const spoilers: Record<UsageShape, (count: number) => number | string> = {
  plain: (count) => count,
  negative: (count) => -count,
  string: String,
  huge: () => 1e308,
  nan: () => 'NaN',
  fraction: (count) => count + 0.5,
}
