import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { roundedNumber } from '../json/json-value.ts'

/**
 * What a call used, in one meaning for all vendors. The figures decide what a call costs and come
 * from a server that may be wrong, or hostile. They are believed when they are whole numbers within
 * bounds that agree with each other; otherwise the reading names the reason and the caller counts
 * for itself.
 *
 * Vendors differ in what their fields include; each dialect's `usage.ts` knows how. After reading,
 * always: `promptTokens` includes `cachedTokens`, `cacheWriteTokens` and `cacheWriteHourTokens`,
 * which overlap by `cacheOverlapTokens` only, and `completionTokens` includes `reasoningTokens`.
 */
export interface TokenUsage {
  promptTokens: number
  /** Read from the upstream's prompt cache. */
  cachedTokens: number
  /** Written to it, to be kept for minutes, where the vendor says so. */
  cacheWriteTokens: number
  /** Written to it, to be kept for an hour. */
  cacheWriteHourTokens: number
  /** Both read from the cache and written to it, and paid for as both; 0 if absent. */
  cacheOverlapTokens?: number
  completionTokens: number
  reasoningTokens: number
  /** What is not text, and what was used beside tokens; absent: nothing. */
  extras?: UsedExtras
}

export type UsageFault =
  /** No usage object at all. */
  | 'absent'
  /** An object, or something else, without the figures that are needed. */
  | 'shape'
  /** A figure that is text, a fraction, NaN … */
  | 'not-integer'
  /** A figure below zero or above what the caller finds plausible. */
  | 'out-of-range'
  /** The total is less than its parts. */
  | 'inconsistent'
  /** All figures zero, as some servers fill the field they do not know. */
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
  /** The total is all that was told, and was taken for the prompt. */
  | 'prompt-from-total'
  /** Only the beginning of an answer has told its completion, and not its end. */
  | 'completion-begun'
  /** The vendor charges nothing for the answer, whatever it says. */
  | 'unbilled'

export type UsageReading =
  | { usage: TokenUsage; fault: null; notes: readonly UsageNote[] }
  | {
      usage: null
      fault: UsageFault
      notes: readonly UsageNote[]
      /** What was made, by a vendor that says so and nothing of the prompt. */
      completionTokens?: number
    }

/** What was made, where it is all that a vendor tells; null: it tells everything, or nothing. */
export const completionOf = (reading: UsageReading): number | null =>
  reading.usage === null ? (reading.completionTokens ?? null) : null

export const NO_USAGE: UsageReading = { usage: null, fault: 'absent', notes: [] }

export const usageRefused = (fault: UsageFault): UsageReading => ({ usage: null, fault, notes: [] })

/**
 * Figures as a vendor sends them, or why none of them can be believed: a server that sends one that
 * is wrong cannot be trusted with the others. Absent ones and `null` are null. `maxOf` bounds each.
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
 * Figures whose parts stand beside each other, as Anthropic and Gemini report them: `freshTokens`
 * is the prompt without its cached parts, `thoughtTokens` what was thought beside the answer.
 */
export interface SeparateFigures {
  freshTokens: number
  cachedTokens: number
  cacheWriteTokens: number
  cacheWriteHourTokens: number
  answerTokens: number
  thoughtTokens: number
  /** How much of the answer was thought, where the vendor counts it inside. */
  thoughtInsideTokens: number
  /** What is not text, and tools that the vendor ran. */
  extras: UsedExtras
}

/** None of them, for vendors that tell some only. */
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

/** Puts separate figures together; refuses sums beyond what is plausible. */
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
 * The reading of a vendor that says how much was read and how much was written, and nothing else.
 * `otherwise`: what it is taken for where one of the two is missing.
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

/** What was counted here, for a call whose upstream does not say. */
export const countedUsage = (promptTokens: number, completionTokens: number): TokenUsage => ({
  promptTokens,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteHourTokens: 0,
  completionTokens,
  reasoningTokens: 0,
})

/** What a model can plausibly have read or written: ten times the largest context on offer. */
export const USAGE_TOKENS_MAX = 20_000_000

/** The most that a request may ask a model to write; what lies beyond is a mistake. */
export const ASKED_TOKENS_MAX = 100_000_000
