import {
  checkedFigures,
  NO_USAGE,
  usageOfParts,
  usageRefused,
  type TokenUsage,
  type UsageReading,
} from '../canonical/token-usage.ts'
import { arrayOr, isRecord, recordOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Reads Gemini's usage: cache reads are part of `promptTokenCount`; content retrieved by tools, and
 * reasoning, are reported beside prompt and candidates. Source: Gemini API reference,
 * "UsageMetadata". `isReadingFree`: content retrieved by tools is not charged.
 */
export function readGeminiUsage(
  value: unknown,
  tokensMax: number,
  isReadingFree = false,
): UsageReading {
  if (value === undefined || value === null) return NO_USAGE
  if (!isRecord(value)) return usageRefused('shape')
  const figures = checkedFigures(
    {
      prompt: value.promptTokenCount,
      toolPrompt: value.toolUsePromptTokenCount,
      cached: value.cachedContentTokenCount,
      candidates: value.candidatesTokenCount,
      thoughts: value.thoughtsTokenCount,
      total: value.totalTokenCount,
      heard: countOf(value.promptTokensDetails, 'AUDIO'),
      heardBefore: countOf(value.cacheTokensDetails, 'AUDIO'),
      seen: countOf(value.promptTokensDetails, 'IMAGE'),
      seenBefore: countOf(value.cacheTokensDetails, 'IMAGE'),
      spoken: countOf(value.candidatesTokensDetails, 'AUDIO'),
      drawn: countOf(value.candidatesTokensDetails, 'IMAGE'),
    },
    (name) => (name === 'total' ? 2 * tokensMax : tokensMax),
  )
  if (typeof figures === 'string') return usageRefused(figures)
  const { prompt, total } = figures
  if (prompt === null) return usageRefused('shape')
  const toolPrompt = figures.toolPrompt ?? 0
  // The prompt's details include its cached part, which has its own price.
  const heard = (figures.heard ?? 0) - (figures.heardBefore ?? 0)
  const seen = (figures.seen ?? 0) - (figures.seenBefore ?? 0)
  const thoughts = figures.thoughts ?? 0
  const cached = figures.cached ?? 0
  // Gemini's JSON omits zeros; some servers report a figure only in the total.
  const rest = (total ?? 0) - prompt - toolPrompt - thoughts
  const candidates = figures.candidates ?? Math.max(0, rest)
  if (cached > prompt) return usageRefused('inconsistent')
  // For some models the total excludes tools and reasoning.
  const least = prompt + candidates
  if (total !== null && total !== 0 && total < least) return usageRefused('inconsistent')
  return usageOfParts(
    {
      freshTokens: prompt - cached + (isReadingFree ? 0 : toolPrompt),
      cachedTokens: cached,
      cacheWriteTokens: 0,
      cacheWriteHourTokens: 0,
      answerTokens: candidates,
      thoughtTokens: thoughts,
      thoughtInsideTokens: 0,
      extras: {
        ...(figures.heardBefore ? { audioCachedTokens: figures.heardBefore } : {}),
        ...(heard > 0 ? { audioPromptTokens: heard } : {}),
        ...(seen > 0 ? { imagePromptTokens: seen } : {}),
        ...(figures.spoken ? { audioCompletionTokens: figures.spoken } : {}),
        ...(figures.drawn ? { imageCompletionTokens: figures.drawn } : {}),
      },
    },
    tokensMax,
  )
}

/** Tokens of one modality in the details; null if the details do not list any. */
function countOf(details: unknown, modality: string): unknown {
  const [first = null, ...others] = arrayOr(details)
    .map(recordOr)
    .filter((detail) => detail.modality === modality)
    .map(({ tokenCount }) => tokenCount)
  return others.length === 0 ? first : others.reduce<number>(sumOf, sumOf(0, first))
}

/** Adds figures; NaN, which every reader rejects, if any of them is not a number. */
const sumOf = (sum: number, count: unknown): number =>
  typeof count === 'number' ? sum + count : Number.NaN

/**
 * Usage of an embedding, whose details have other names in the Gemini API than in Vertex. Video has
 * the highest price there; it is counted as audio, the most expensive kind with a ratio. Source:
 * Gemini API reference, "EmbedContentResponse", and "Pricing".
 */
export function embeddingMetadata(value: unknown): unknown {
  if (!isRecord(value)) return value
  const { promptTokenDetails, promptTokensDetails = promptTokenDetails } = value
  const details = arrayOr(promptTokensDetails).map((sent) => {
    const detail = recordOr(sent)
    return detail.modality === 'VIDEO' ? { ...detail, modality: 'AUDIO' } : detail
  })
  return { ...value, promptTokensDetails: details }
}

export function writeGeminiUsage(usage: TokenUsage): JsonRecord {
  const { promptTokens, cachedTokens, completionTokens, reasoningTokens, extras = {} } = usage
  const read = detailsOf(extras.audioPromptTokens, extras.imagePromptTokens)
  const made = detailsOf(extras.audioCompletionTokens, extras.imageCompletionTokens)
  return {
    promptTokenCount: promptTokens,
    candidatesTokenCount: completionTokens - reasoningTokens,
    totalTokenCount: promptTokens + completionTokens,
    ...(cachedTokens === 0 ? {} : { cachedContentTokenCount: cachedTokens }),
    ...(reasoningTokens === 0 ? {} : { thoughtsTokenCount: reasoningTokens }),
    ...(read.length === 0 ? {} : { promptTokensDetails: read }),
    ...(made.length === 0 ? {} : { candidatesTokensDetails: made }),
  }
}

/** Tokens other than text have prices of their own. */
const detailsOf = (audio = 0, image = 0): JsonRecord[] =>
  [
    { modality: 'AUDIO', tokenCount: audio },
    { modality: 'IMAGE', tokenCount: image },
  ].filter(({ tokenCount }) => tokenCount > 0)
