import {
  checkedFigures,
  NO_USAGE,
  usageRefused,
  type TokenUsage,
  type UsageFault,
  type UsageNote,
  type UsageReading,
} from '../canonical/token-usage.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { isRecord, recordOr } from '../json/json-value.ts'
import type { JsonRecord } from '../json/json-value.ts'

/**
 * Usage figures of the OpenAI dialect, whose many speakers differ in what they include. What is
 * believed and what comes out of it: `TokenUsage`.
 */

/**
 * Reads one usage object. `tokensMax` bounds prompt and completion each: what is plausible for the
 * model, for example ten times its context.
 */
export function readUsage(value: unknown, tokensMax: number): UsageReading {
  if (value === undefined || value === null) return NO_USAGE
  if (!isRecord(value)) return usageRefused('shape')
  const figures = readFigures(value, tokensMax)
  return typeof figures === 'string' ? usageRefused(figures) : reconcile(figures, tokensMax)
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
  /** All that was written, and how much of it for an hour. */
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
    // In this order: OpenAI and most, DeepSeek, Moonshot.
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
    // Zero is how servers spell a total they do not compute.
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

/** In this order: OpenRouter, Qwen, LiteLLM, New API; LiteLLM again. */
const cacheWriteOf = (value: JsonRecord, details: JsonRecord): unknown =>
  details.cache_write_tokens ??
  details.cache_creation_input_tokens ??
  details.cache_creation_tokens ??
  details.cached_creation_tokens ??
  value.cache_creation_input_tokens

/** In this order: Qwen, LiteLLM, New API. */
const cacheWriteHourOf = (value: JsonRecord, details: JsonRecord): unknown =>
  recordOr(details.cache_creation ?? details.cache_creation_token_details)
    .ephemeral_1h_input_tokens ?? value.claude_cache_creation_1_h_tokens

type TokenExtra =
  | 'audioPromptTokens'
  | 'imagePromptTokens'
  | 'audioCompletionTokens'
  | 'imageCompletionTokens'

/** Those that are any; null: all is text. */
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
  // OpenRouter counts what Gemini has read and then kept for longer as both, and pays for both; the
  // total shows that it stands in the prompt once.
  const isOverlapping =
    total !== null && excess === 0 && cacheTokens > prompt && Math.max(cached, cacheWrite) <= prompt
  // Either the cache cannot be part of the prompt, or it is exactly what the total has more.
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
 * Embeddings report a prompt and a total, rerankers at times the total alone. A completion without
 * a prompt or a total is no account of a call.
 */
function completeParts({ prompt, completion, total }: Figures) {
  if (prompt !== null && completion !== null) return { prompt, completion }
  if (prompt !== null) return { prompt, completion: total === null ? 0 : total - prompt }
  if (total !== null) return { prompt: total - (completion ?? 0), completion: completion ?? 0 }
  return null
}

/** What `readUsage` finds again: the parts of a prompt that have a price of their own. */
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

/** The same of a completion. */
export function writeCompletionDetails({ reasoningTokens, extras = {} }: TokenUsage): JsonRecord {
  const { audioCompletionTokens, imageCompletionTokens } = extras
  return {
    reasoning_tokens: reasoningTokens,
    ...(audioCompletionTokens ? { audio_tokens: audioCompletionTokens } : {}),
    ...(imageCompletionTokens ? { image_tokens: imageCompletionTokens } : {}),
  }
}
