import {
  checkedFigures,
  NO_USAGE,
  usageRefused,
  type TokenUsage,
  type UsageFault,
  type UsageNote,
  type UsageReading,
} from '../canonical/token-usage.ts'
import type { UsedExtras } from '../../../ledger/price/price-lines.ts'
import { isRecord, recordOr } from '../../json/json-value.ts'
import type { JsonRecord } from '../../json/json-value.ts'

/**
 * Usage of the OpenAI dialect, whose vendors differ in what their figures include. For the rules
 * and the result, see `TokenUsage`.
 */

/**
 * Reads a usage object. `tokensMax` bounds prompt and completion each: what is plausible for the
 * model, for example ten times its context.
 */
export function readUsage(value: unknown, tokensMax: number): UsageReading {
  if (value === undefined || value === null) return NO_USAGE
  if (!isRecord(value)) return usageRefused('shape')
  const figures = readFigures(value, tokensMax)
  return typeof figures === 'string' ? usageRefused(figures) : reconcile(figures, tokensMax)
}

/**
 * Finds the usage of a stream chunk: beside `choices`, in Groq's own member, or, for Moonshot,
 * inside the first choice. Undefined if missing.
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
  /** All cache writes, and those of them for an hour. */
  cacheWrite: number
  cacheWriteHour: number
  reasoning: number
  extras: UsedExtras | null
}

function readFigures(value: JsonRecord, tokensMax: number): Figures | UsageFault {
  const promptDetails = recordOr(value.prompt_tokens_details ?? value.input_tokens_details)
  const completionDetails = recordOr(value.completion_tokens_details ?? value.output_tokens_details)
  const sent = {
    prompt: value.prompt_tokens ?? value.input_tokens,
    completion: value.completion_tokens ?? value.output_tokens,
    total: value.total_tokens,
    // Names of the cached tokens, in this order: OpenAI and most vendors, DeepSeek, Moonshot.
    cached: promptDetails.cached_tokens ?? value.prompt_cache_hit_tokens ?? value.cached_tokens,
    cacheWrite: cacheWriteOf(value, promptDetails),
    cacheWriteHour: cacheWriteHourOf(value, promptDetails),
    reasoning: completionDetails.reasoning_tokens,
    audioPrompt: promptDetails.audio_tokens,
    imagePrompt: promptDetails.image_tokens,
    audioCompletion: completionDetails.audio_tokens,
    imageCompletion: completionDetails.image_tokens,
  }
  const figures = checkedFigures(sent, (name) => (name === 'total' ? 2 * tokensMax : tokensMax))
  if (typeof figures === 'string') return figures
  const cacheWriteHour = figures.cacheWriteHour ?? 0
  return {
    prompt: figures.prompt,
    completion: figures.completion,
    // Servers send zero for a total that they do not compute.
    total: figures.total || null,
    cached: figures.cached ?? 0,
    cacheWrite: Math.max(figures.cacheWrite ?? 0, cacheWriteHour),
    cacheWriteHour,
    reasoning: figures.reasoning ?? 0,
    extras: extrasOf({
      audioPromptTokens: figures.audioPrompt,
      imagePromptTokens: figures.imagePrompt,
      audioCompletionTokens: figures.audioCompletion,
      imageCompletionTokens: figures.imageCompletion,
    }),
  }
}

/** Names of cache writes, in this order: OpenRouter, Qwen, LiteLLM, New API; LiteLLM again. */
const cacheWriteOf = (value: JsonRecord, details: JsonRecord): unknown =>
  details.cache_write_tokens ??
  details.cache_creation_input_tokens ??
  details.cache_creation_tokens ??
  details.cached_creation_tokens ??
  value.cache_creation_input_tokens

/** Names of cache writes for an hour, in this order: Qwen, LiteLLM, New API. */
const cacheWriteHourOf = (value: JsonRecord, details: JsonRecord): unknown =>
  recordOr(details.cache_creation ?? details.cache_creation_token_details)
    .ephemeral_1h_input_tokens ?? value.claude_cache_creation_1_h_tokens

type TokenExtra =
  | 'audioPromptTokens'
  | 'imagePromptTokens'
  | 'audioCompletionTokens'
  | 'imageCompletionTokens'

/** Figures other than text tokens; null if all are missing. */
function extrasOf(figures: Readonly<Record<TokenExtra, number | null>>): UsedExtras | null {
  const { audioPromptTokens, imagePromptTokens } = figures
  const { audioCompletionTokens, imageCompletionTokens } = figures
  const extras: UsedExtras = {
    ...(audioPromptTokens ? { audioPromptTokens } : {}),
    ...(imagePromptTokens ? { imagePromptTokens } : {}),
    ...(audioCompletionTokens ? { audioCompletionTokens } : {}),
    ...(imageCompletionTokens ? { imageCompletionTokens } : {}),
  }
  return Object.keys(extras).length === 0 ? null : extras
}

function reconcile(figures: Figures, tokensMax: number): UsageReading {
  const { total, cached, cacheWrite, cacheWriteHour } = figures
  const parts = completeParts(figures)
  if (parts === null) return usageRefused('shape')
  let { prompt, completion } = parts
  if (prompt < 0 || completion < 0) return usageRefused('inconsistent')
  if (prompt + completion + figures.reasoning + cached + cacheWrite === 0)
    return usageRefused('empty')
  if (total !== null && total < prompt + completion) return usageRefused('inconsistent')

  const notes: UsageNote[] = []
  const cacheTokens = cached + cacheWrite
  let excess = total === null ? 0 : total - prompt - completion
  // OpenRouter counts tokens that Gemini read from the cache and then kept for longer as both, and
  // charges both; the total shows that the prompt contains them once.
  const isOverlapping =
    total !== null && excess === 0 && cacheTokens > prompt && Math.max(cached, cacheWrite) <= prompt
  // The prompt was reported without its cache if the cache exceeds it, or equals the difference to
  // the total.
  const isExclusive =
    (cacheTokens > prompt && !isOverlapping) ||
    (cacheTokens > 0 && excess === cacheTokens && excess !== figures.reasoning)
  if (isOverlapping) notes.push('cache-overlap')
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
  if (figures.prompt === null && figures.completion === null) notes.push('prompt-from-total')
  if (prompt > tokensMax || completion > tokensMax) return usageRefused('out-of-range')
  return {
    usage: {
      promptTokens: prompt,
      cachedTokens: cached,
      cacheWriteTokens: cacheWrite - cacheWriteHour,
      cacheWriteHourTokens: cacheWriteHour,
      ...(isOverlapping ? { cacheOverlapTokens: Math.min(cached, cacheWrite) } : {}),
      completionTokens: completion,
      reasoningTokens: Math.min(figures.reasoning, completion),
      ...(figures.extras === null ? {} : { extras: figures.extras }),
    },
    fault: null,
    notes,
  }
}

/**
 * Completes missing figures: embeddings report a prompt and a total, rerankers at times only the
 * total. A completion without a prompt or a total is invalid.
 */
function completeParts({ prompt, completion, total }: Figures) {
  if (prompt !== null && completion !== null) return { prompt, completion }
  if (prompt !== null) return { prompt, completion: total === null ? 0 : total - prompt }
  if (total !== null) return { prompt: total - (completion ?? 0), completion: completion ?? 0 }
  return null
}

/** Prompt details that `readUsage` reads back: the parts with prices of their own. */
export function writePromptDetails(usage: TokenUsage): JsonRecord {
  const { cacheWriteTokens, cacheWriteHourTokens, extras = {} } = usage
  const written = cacheWriteTokens + cacheWriteHourTokens
  return {
    cached_tokens: usage.cachedTokens,
    ...(written > 0 ? { cache_write_tokens: written } : {}),
    ...(cacheWriteHourTokens > 0
      ? {
          cache_creation: {
            ephemeral_5m_input_tokens: cacheWriteTokens,
            ephemeral_1h_input_tokens: cacheWriteHourTokens,
          },
        }
      : {}),
    ...(extras.audioPromptTokens ? { audio_tokens: extras.audioPromptTokens } : {}),
    ...(extras.imagePromptTokens ? { image_tokens: extras.imagePromptTokens } : {}),
  }
}

/** Completion details that `readUsage` reads back. */
export function writeCompletionDetails({ reasoningTokens, extras = {} }: TokenUsage): JsonRecord {
  const { audioCompletionTokens, imageCompletionTokens } = extras
  return {
    reasoning_tokens: reasoningTokens,
    ...(audioCompletionTokens ? { audio_tokens: audioCompletionTokens } : {}),
    ...(imageCompletionTokens ? { image_tokens: imageCompletionTokens } : {}),
  }
}
