import type { UsedExtras } from '../../../ledger/price/price-lines.ts'
import { roundedNumber } from '../../json/json-value.ts'

/**
 * Usage of a call, with the same meaning for all vendors. The figures decide the price of a call
 * and come from a server that may be wrong, or hostile. They are accepted if they are whole numbers
 * within bounds and consistent; otherwise the reading names the reason and the caller counts
 * itself.
 *
 * Vendors differ in what their fields include; see each dialect's `usage.ts`. After reading,
 * always: `promptTokens` includes `cachedTokens`, `cacheWriteTokens` and `cacheWriteHourTokens`,
 * which overlap by `cacheOverlapTokens` only, and `completionTokens` includes `reasoningTokens`.
 */
export interface TokenUsage {
  promptTokens: number
  /** Read from the upstream's prompt cache. */
  cachedTokens: number
  /** Written to the cache for minutes, if the vendor reports it. */
  cacheWriteTokens: number
  /** Written to the upstream's cache for an hour. */
  cacheWriteHourTokens: number
  /** Both read from the cache and written to it, and charged as both; 0 if absent. */
  cacheOverlapTokens?: number
  completionTokens: number
  reasoningTokens: number
  /** Usage other than text tokens; absent: none. */
  extras?: UsedExtras
}

export type UsageFault =
  /** No usage object at all. */
  | 'absent'
  /** Not an object, or one without the required figures. */
  | 'shape'
  /** A figure that is text, a fraction, NaN … */
  | 'not-integer'
  /** A figure below zero or above what the caller finds plausible. */
  | 'out-of-range'
  /** The total is less than its parts. */
  | 'inconsistent'
  /** All figures are zero, which some servers send for "unknown". */
  | 'empty'

export type UsageNote =
  /**
   * Cache figures exceeded the prompt: the vendor reported the prompt without them, and they were
   * added.
   */
  | 'cache-exclusive'
  /** Tokens read from and written to the cache exceeded the prompt: some were counted as both. */
  | 'cache-overlap'
  /**
   * The total exceeded its parts: the completion was reported without its reasoning, and it was
   * added.
   */
  | 'completion-from-total'
  /** More reasoning than completion was reported, and cut down to it. */
  | 'reasoning-clamped'
  /** No prompt tokens were reported beside some completion. */
  | 'prompt-zero'
  /** Only the total was reported, and counts as the prompt. */
  | 'prompt-from-total'
  /** The beginning of an answer reported its completion, but its end did not. */
  | 'completion-begun'
  /** The vendor does not charge for the answer. */
  | 'unbilled'

export type UsageReading =
  | { usage: TokenUsage; fault: null; notes: readonly UsageNote[] }
  | {
      usage: null
      fault: UsageFault
      notes: readonly UsageNote[]
      /** Completion tokens, from a vendor that does not report the prompt. */
      completionTokens?: number
    }

/** Completion tokens, if a vendor reports nothing else; null otherwise. */
export const completionOf = (reading: UsageReading): number | null =>
  reading.usage === null ? (reading.completionTokens ?? null) : null

export const NO_USAGE: UsageReading = { usage: null, fault: 'absent', notes: [] }

export const usageRefused = (fault: UsageFault): UsageReading => ({ usage: null, fault, notes: [] })

/**
 * Checks a vendor's figures. Returns the reason if any is invalid: a server that sends one wrong
 * figure cannot be trusted with the others. Absent ones and `null` are null. `maxOf` bounds each.
 */
export function checkedFigures<Name extends string>(
  sent: Readonly<Record<Name, unknown>>,
  maxOf: (name: Name) => number,
): Record<Name, number | null> | 'not-integer' | 'out-of-range' {
  const figures: Partial<Record<Name, number | null>> = {}
  for (const name in sent) {
    const figure = roundedNumber(sent[name] ?? null)
    if (figure === null) {
      figures[name] = null
      continue
    }
    if (typeof figure !== 'number' || !Number.isInteger(figure)) return 'not-integer'
    if (figure < 0 || figure > maxOf(name)) return 'out-of-range'
    figures[name] = figure
  }
  // The loop has filled every name.
  return figures as Record<Name, number | null>
}

/**
 * Figures whose parts are reported separately, as Anthropic and Gemini do: `freshTokens` is the
 * prompt without its cached parts, `thoughtTokens` the reasoning beside the answer.
 */
export interface SeparateFigures {
  freshTokens: number
  cachedTokens: number
  cacheWriteTokens: number
  cacheWriteHourTokens: number
  answerTokens: number
  thoughtTokens: number
  /** Reasoning that the vendor counts as part of the answer. */
  thoughtInsideTokens: number
  /** Usage other than text tokens, and tools that the vendor ran. */
  extras: UsedExtras
}

/** All figures zero, for vendors that report only some. */
export const NO_FIGURES: SeparateFigures = {
  freshTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteHourTokens: 0,
  answerTokens: 0,
  thoughtTokens: 0,
  thoughtInsideTokens: 0,
  extras: {},
}

/** Joins separate figures; rejects implausibly high sums. */
export function usageOfParts(parts: SeparateFigures, tokensMax: number): UsageReading {
  const promptTokens =
    parts.freshTokens + parts.cachedTokens + parts.cacheWriteTokens + parts.cacheWriteHourTokens
  const completionTokens = parts.answerTokens + parts.thoughtTokens
  if (promptTokens + completionTokens === 0) return usageRefused('empty')
  if (promptTokens > tokensMax || completionTokens > tokensMax) return usageRefused('out-of-range')
  const reasoning = parts.thoughtTokens + parts.thoughtInsideTokens
  const notes: UsageNote[] = []
  if (reasoning > completionTokens) notes.push('reasoning-clamped')
  if (promptTokens === 0) notes.push('prompt-zero')
  return {
    usage: {
      promptTokens,
      cachedTokens: parts.cachedTokens,
      cacheWriteTokens: parts.cacheWriteTokens,
      cacheWriteHourTokens: parts.cacheWriteHourTokens,
      completionTokens,
      reasoningTokens: Math.min(reasoning, completionTokens),
      ...(Object.keys(parts.extras).length === 0 ? {} : { extras: parts.extras }),
    },
    fault: null,
    notes,
  }
}

/**
 * Reads the usage of a vendor that reports only prompt and completion tokens. `otherwise`: the
 * result if one of the two is missing.
 */
export function usageOfTwo(
  sent: Readonly<{ input: unknown; output: unknown }>,
  tokensMax: number,
  otherwise: UsageReading,
): UsageReading {
  const figures = checkedFigures(sent, () => tokensMax)
  if (typeof figures === 'string') return usageRefused(figures)
  const { input, output } = figures
  if (input === null || output === null) return otherwise
  return usageOfParts({ ...NO_FIGURES, freshTokens: input, answerTokens: output }, tokensMax)
}

/** Usage counted by the gateway, for an upstream that does not report it. */
export const countedUsage = (promptTokens: number, completionTokens: number): TokenUsage => ({
  promptTokens,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteHourTokens: 0,
  completionTokens,
  reasoningTokens: 0,
})

/** Maximum plausible tokens of a call: ten times the largest context on offer. */
export const USAGE_TOKENS_MAX = 20_000_000

/** Maximum completion limit of a request; higher values are mistakes. */
export const ASKED_TOKENS_MAX = 100_000_000
