import {
  checkedFigures,
  NO_FIGURES,
  NO_USAGE,
  usageOfParts,
  usageRefused,
  type SeparateFigures,
  type TokenUsage,
  type UsageFault,
  type UsageReading,
} from '../canonical/token-usage.ts'
import { searchUsage } from './search-blocks.ts'
import { arrayOr, isRecord, present, recordOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Reads Anthropic's usage: cache reads and writes are reported beside `input_tokens`, reasoning is
 * part of `output_tokens`. Source: Anthropic's API reference, "Messages", and "Prompt caching:
 * tracking cache performance".
 */
export function readAnthropicUsage(value: unknown, tokensMax: number): UsageReading {
  if (value === undefined || value === null) return NO_USAGE
  if (!isRecord(value)) return usageRefused('shape')
  const figures = checkedFigures(
    {
      thought: recordOr(value.output_tokens_details).thinking_tokens,
      searches: recordOr(value.server_tool_use).web_search_requests,
    },
    () => tokensMax,
  )
  if (typeof figures === 'string') return usageRefused(figures)
  let sum = NO_FIGURES
  for (const run of [value, ...arrayOr(value.iterations).filter(isBeside)]) {
    const parts = partsOf(run, tokensMax)
    if (typeof parts === 'string') return usageRefused(parts)
    sum = {
      ...sum,
      freshTokens: sum.freshTokens + parts.freshTokens,
      cachedTokens: sum.cachedTokens + parts.cachedTokens,
      cacheWriteTokens: sum.cacheWriteTokens + parts.cacheWriteTokens,
      cacheWriteHourTokens: sum.cacheWriteHourTokens + parts.cacheWriteHourTokens,
      answerTokens: sum.answerTokens + parts.answerTokens,
    }
  }
  return usageOfParts(
    {
      ...sum,
      thoughtInsideTokens: figures.thought ?? 0,
      // Counts searches that ran, not search tools that were declared.
      extras: figures.searches ? { tools: { web_search: figures.searches } } : {},
    },
    tokensMax,
  )
}

/**
 * Model runs that the top-level figures exclude: compaction of a long conversation, and advice.
 * Source: Anthropic's SDK, `BetaIterationsUsage`, and "Advisor tool: usage and billing".
 */
const BESIDE: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message'])

const isBeside = (run: unknown): run is JsonRecord => isRecord(run) && BESIDE.has(run.type)

/** Whether the usage explicitly reports that no model wrote anything. */
export const wroteNothing = ({ output_tokens, iterations }: JsonRecord): boolean =>
  output_tokens === 0 && !arrayOr(iterations).some(isBeside)

type Parts = Omit<SeparateFigures, 'thoughtTokens' | 'thoughtInsideTokens' | 'extras'>

/** Usage of one model run, or why its figures are invalid. */
function partsOf(run: JsonRecord, tokensMax: number): Parts | UsageFault {
  const written = recordOr(run.cache_creation)
  const figures = checkedFigures(
    {
      input: run.input_tokens,
      output: run.output_tokens,
      read: run.cache_read_input_tokens,
      written: run.cache_creation_input_tokens,
      minutes: written.ephemeral_5m_input_tokens,
      hour: written.ephemeral_1h_input_tokens,
    },
    () => tokensMax,
  )
  if (typeof figures === 'string') return figures
  const { input, output, read } = figures
  if (input === null || output === null) return 'shape'
  const hour = figures.hour ?? 0
  const total = figures.written ?? (figures.minutes ?? 0) + hour
  // The total of cache writes includes those for an hour.
  if (hour > total) return 'inconsistent'
  return {
    freshTokens: input,
    cachedTokens: read ?? 0,
    cacheWriteTokens: total - hour,
    cacheWriteHourTokens: hour,
    answerTokens: output,
  }
}

/**
 * Joins the figures of a stream: each event repeats those that have changed since the first.
 * Figures never shrink: a later zero means that a proxy did not know the figure. Only figures with
 * `iterations` are complete: their zeros count, because the earlier figure belongs to an iteration
 * that is listed by itself.
 */
export function joinedUsage(earlier: JsonRecord, later: JsonRecord): JsonRecord {
  const { iterations } = later
  if (Array.isArray(iterations) && iterations.length > 0) {
    const { cache_creation: _ofAnother, ...others } = earlier
    return { ...others, ...cacheCreationOf(iterations), ...present(later) }
  }
  const told = Object.entries(present(later)).flatMap(([name, figure]) => {
    const before = earlier[name]
    if (isRecord(before) && isRecord(figure)) return [[name, joinedUsage(before, figure)]]
    return figure === 0 && typeof before === 'number' ? [] : [[name, figure]]
  })
  return { ...earlier, ...Object.fromEntries(told) }
}

/** Sum of `cache_creation` over the answer's own iterations, if they report it. */
function cacheCreationOf(iterations: readonly unknown[]): JsonRecord {
  const sum: Record<string, number> = {}
  for (const run of iterations.filter((sent) => isRecord(sent) && !BESIDE.has(sent.type))) {
    for (const [name, tokens] of Object.entries(recordOr(recordOr(run).cache_creation))) {
      sum[name] = (sum[name] ?? 0) + (typeof tokens === 'number' ? tokens : 0)
    }
  }
  return Object.keys(sum).length === 0 ? {} : { cache_creation: sum }
}

/** Writes usage. The figures add up to the prompt: tokens both read and written count as read. */
export function writeAnthropicUsage(usage: TokenUsage): JsonRecord {
  const searches = searchUsage(usage.extras?.tools)
  const { promptTokens, cachedTokens, cacheOverlapTokens = 0, reasoningTokens } = usage
  const written = usage.cacheWriteTokens + usage.cacheWriteHourTokens - cacheOverlapTokens
  const hour = Math.min(usage.cacheWriteHourTokens, written)
  return {
    input_tokens: promptTokens - cachedTokens - written,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: cachedTokens,
    ...(written === 0
      ? {}
      : {
          cache_creation: {
            ephemeral_5m_input_tokens: written - hour,
            ephemeral_1h_input_tokens: hour,
          },
        }),
    output_tokens: usage.completionTokens,
    ...(reasoningTokens === 0
      ? {}
      : { output_tokens_details: { thinking_tokens: reasoningTokens } }),
    ...(searches === null ? {} : { server_tool_use: searches }),
  }
}
