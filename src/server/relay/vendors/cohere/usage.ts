import {
  checkedFigures,
  NO_FIGURES,
  NO_USAGE,
  usageOfParts,
  usageRefused,
  USAGE_TOKENS_MAX,
  type UsageReading,
} from '../../protocols/canonical/token-usage.ts'
import { isRecord, recordOr } from '../../json/json-value.ts'

/**
 * Cohere reports two counts: `tokens` is what the model processed, including Cohere's own preamble,
 * and `billed_units` is what Cohere charges. Billed units are used if present, otherwise `tokens`.
 * `cached_tokens` are part of the prompt. Sources: Cohere's API reference, v2, "Chat"; "How does
 * Cohere's pricing work".
 */
export function readCohereUsage(value: unknown): UsageReading {
  if (value === undefined || value === null) return NO_USAGE
  if (!isRecord(value)) return usageRefused('shape')
  const billed = recordOr(value.billed_units)
  const counted = recordOr(value.tokens)
  const figures = checkedFigures(
    {
      input: billed.input_tokens ?? counted.input_tokens,
      output: billed.output_tokens ?? counted.output_tokens,
      cached: value.cached_tokens,
    },
    () => USAGE_TOKENS_MAX,
  )
  if (typeof figures === 'string') return usageRefused(figures)
  const { input, output } = figures
  if (input === null) return usageRefused('shape')
  // Billed units may be fewer than the tokens that were read from the cache.
  const cachedTokens = Math.min(figures.cached ?? 0, input)
  const freshTokens = input - cachedTokens
  const parts = { ...NO_FIGURES, freshTokens, cachedTokens, answerTokens: output ?? 0 }
  return usageOfParts(parts, USAGE_TOKENS_MAX)
}
