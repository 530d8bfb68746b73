import { isRecord, recordOr } from '../json/json-value.ts'
import type { JsonRecord } from '../json/json-value.ts'

/**
 * Usage figures of the OpenAI dialect, which decide what a call costs and come from a server that
 * may be wrong, or hostile. They are believed when they are whole numbers within bounds that agree
 * with each other; otherwise the reading names the reason and the caller counts for itself.
 *
 * Vendors differ in what their fields include. After reading, always:
 * `promptTokens` includes `cachedTokens` and `cacheWriteTokens`, `completionTokens` includes
 * `reasoningTokens`.
 */
export interface TokenUsage {
  promptTokens: number
  /** Read from the upstream's prompt cache. */
  cachedTokens: number
  /** Written to it, where the vendor says so. */
  cacheWriteTokens: number
  completionTokens: number
  reasoningTokens: number
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
  /**
   * The total exceeded its parts: the completion was reported without its reasoning, and it was
   * added.
   */
  | 'completion-from-total'
  /** More reasoning than completion was reported, and cut down to it. */
  | 'reasoning-clamped'
  /** Something was produced from a prompt of nothing. */
  | 'prompt-zero'

export type UsageReading =
  | { usage: TokenUsage; fault: null; notes: readonly UsageNote[] }
  | { usage: null; fault: UsageFault; notes: readonly UsageNote[] }

export const NO_USAGE: UsageReading = { usage: null, fault: 'absent', notes: [] }

/**
 * Reads one usage object. `tokensMax` bounds prompt and completion each: what is plausible for the
 * model, for example ten times its context.
 */
export function readUsage(value: unknown, tokensMax: number): UsageReading {
  if (value === undefined || value === null) return NO_USAGE
  if (!isRecord(value)) return refused('shape')
  const figures = readFigures(value, tokensMax)
  return typeof figures === 'string' ? refused(figures) : reconcile(figures, tokensMax)
}

/**
 * Where a chunk of a stream carries its usage: beside `choices`, in Groq's own member, or, with
 * Moonshot, inside the first choice. Undefined when nowhere.
 */
export function usageOfChunk(chunk: JsonRecord): unknown {
  if (isRecord(chunk.usage)) return chunk.usage
  const ofGroq = recordOr(chunk.x_groq).usage
  if (isRecord(ofGroq)) return ofGroq
  const choices: unknown = chunk.choices
  const ofChoice = Array.isArray(choices) ? recordOr(choices[0]).usage : undefined
  return isRecord(ofChoice) ? ofChoice : (chunk.usage ?? undefined)
}

interface Figures {
  prompt: number | null
  completion: number | null
  total: number | null
  cached: number
  cacheWrite: number
  reasoning: number
}

const refused = (fault: UsageFault): UsageReading => ({ usage: null, fault, notes: [] })

/**
 * A single wrong figure spoils the whole: a server that sends it cannot be trusted with the
 * others.
 */
function readFigures(value: JsonRecord, tokensMax: number): Figures | UsageFault {
  const promptDetails = recordOr(value.prompt_tokens_details ?? value.input_tokens_details)
  const completionDetails = recordOr(value.completion_tokens_details ?? value.output_tokens_details)
  const candidates: Record<keyof Figures, unknown> = {
    prompt: value.prompt_tokens ?? value.input_tokens,
    completion: value.completion_tokens ?? value.output_tokens,
    total: value.total_tokens,
    // In this order: OpenAI and most, DeepSeek, Moonshot.
    cached: promptDetails.cached_tokens ?? value.prompt_cache_hit_tokens ?? value.cached_tokens,
    // OpenRouter, Qwen.
    cacheWrite: promptDetails.cache_write_tokens ?? promptDetails.cache_creation_input_tokens,
    reasoning: completionDetails.reasoning_tokens,
  }
  for (const [name, figure] of Object.entries(candidates)) {
    if (figure === undefined || figure === null) continue
    if (typeof figure !== 'number' || !Number.isInteger(figure)) return 'not-integer'
    if (figure < 0 || figure > (name === 'total' ? 2 * tokensMax : tokensMax)) return 'out-of-range'
  }
  // The loop has left nothing but numbers, null and undefined.
  const { prompt, completion, total, cached, cacheWrite, reasoning } = candidates as Record<
    keyof Figures,
    number | null | undefined
  >
  return {
    prompt: prompt ?? null,
    completion: completion ?? null,
    // Zero is how servers spell a total they do not compute.
    total: total || null,
    cached: cached ?? 0,
    cacheWrite: cacheWrite ?? 0,
    reasoning: reasoning ?? 0,
  }
}

function reconcile(figures: Figures, tokensMax: number): UsageReading {
  const { total, cached, cacheWrite } = figures
  const parts = completeParts(figures)
  if (parts === null) return refused('shape')
  let { prompt, completion } = parts
  if (prompt < 0 || completion < 0) return refused('inconsistent')
  if (prompt + completion + figures.reasoning + cached + cacheWrite === 0) return refused('empty')
  if (total !== null && total < prompt + completion) return refused('inconsistent')

  const notes: UsageNote[] = []
  const cacheTokens = cached + cacheWrite
  let excess = total === null ? 0 : total - prompt - completion
  // Either the cache cannot be part of the prompt, or it is exactly what the total has more.
  const isExclusive =
    cacheTokens > prompt ||
    (cacheTokens > 0 && excess === cacheTokens && excess !== figures.reasoning)
  if (isExclusive) {
    prompt += cacheTokens
    excess -= cacheTokens
    notes.push('cache-exclusive')
  }
  if (excess > 0) {
    completion += excess
    notes.push('completion-from-total')
  }
  if (figures.reasoning > completion) notes.push('reasoning-clamped')
  if (prompt === 0 && completion > 0) notes.push('prompt-zero')
  if (prompt > tokensMax || completion > tokensMax) return refused('out-of-range')
  return {
    usage: {
      promptTokens: prompt,
      cachedTokens: cached,
      cacheWriteTokens: cacheWrite,
      completionTokens: completion,
      reasoningTokens: Math.min(figures.reasoning, completion),
    },
    fault: null,
    notes,
  }
}

/**
 * Embeddings report a prompt and a total, rerankers at times the total alone. A completion without
 * a prompt or a total is no account of a call.
 */
function completeParts({ prompt, completion, total }: Figures) {
  if (prompt !== null && completion !== null) return { prompt, completion }
  if (prompt !== null) return { prompt, completion: total === null ? 0 : total - prompt }
  if (total !== null) return { prompt: total - (completion ?? 0), completion: completion ?? 0 }
  return null
}
