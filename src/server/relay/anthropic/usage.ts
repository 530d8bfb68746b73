import {
  checkedFigures,
  NO_USAGE,
  usageOfParts,
  usageRefused,
  type TokenUsage,
  type UsageReading,
} from '../canonical/token-usage.ts'
import { isRecord, present, recordOr, type JsonRecord } from '../json/json-value.ts'

/**
 * Anthropic's usage: what was read from and written to the cache stands beside `input_tokens`, what
 * was thought is part of `output_tokens`. Source: Anthropic's API reference, "Messages", and
 * "Prompt caching: tracking cache performance".
 */
export function readAnthropicUsage(value: unknown, tokensMax: number): UsageReading {
  if (value === undefined || value === null) return NO_USAGE
  if (!isRecord(value)) return usageRefused('shape')
  const written = recordOr(value.cache_creation)
  const figures = checkedFigures(
    {
      input: value.input_tokens,
      output: value.output_tokens,
      read: value.cache_read_input_tokens,
      written: value.cache_creation_input_tokens,
      minutes: written.ephemeral_5m_input_tokens,
      hour: written.ephemeral_1h_input_tokens,
      thought: recordOr(value.output_tokens_details).thinking_tokens,
      searches: recordOr(value.server_tool_use).web_search_requests,
    },
    () => tokensMax,
  )
  if (typeof figures === 'string') return usageRefused(figures)
  const { input, output, read } = figures
  if (input === null || output === null) return usageRefused('shape')
  const hour = figures.hour ?? 0
  const total = figures.written ?? (figures.minutes ?? 0) + hour
  // What was written in all includes what was written for an hour.
  if (hour > total) return usageRefused('inconsistent')
  return usageOfParts(
    {
      freshTokens: input,
      cachedTokens: read ?? 0,
      cacheWriteTokens: total - hour,
      cacheWriteHourTokens: hour,
      answerTokens: output,
      thoughtTokens: 0,
      thoughtInsideTokens: figures.thought ?? 0,
      // Searches that were made, not tools that were offered.
      extras: figures.searches ? { tools: { web_search: figures.searches } } : {},
    },
    tokensMax,
  )
}

/** The figures of a stream: each event repeats those that have changed since the first. */
export function joinedUsage(earlier: JsonRecord, later: JsonRecord): JsonRecord {
  return { ...earlier, ...present(later) }
}

export function writeAnthropicUsage(usage: TokenUsage): JsonRecord {
  const { promptTokens, cachedTokens, cacheWriteTokens, cacheWriteHourTokens } = usage
  const written = cacheWriteTokens + cacheWriteHourTokens
  return {
    input_tokens: promptTokens - cachedTokens - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cachedTokens,
    ...(written === 0
      ? {}
      : {
          cache_creation: {
            ephemeral_5m_input_tokens: cacheWriteTokens,
            ephemeral_1h_input_tokens: cacheWriteHourTokens,
          },
        }),
    output_tokens: usage.completionTokens,
  }
}
