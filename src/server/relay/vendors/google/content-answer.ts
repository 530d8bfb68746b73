import type { TokenUsage } from '../../protocols/canonical/token-usage.ts'
import { readGeminiUsage } from '../../protocols/gemini/usage.ts'
import { arrayOr, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { jsonAnswer } from '../../transport/json-steps.ts'
import type { StepAnswer } from '../../transport/upstream-steps.ts'

/** Reads responses of `generateContent` that contain images, audio or a transcript. */

const partsOf = (answer: JsonRecord): JsonRecord[] => {
  const [first] = arrayOr(answer.candidates).map(recordOr)
  return arrayOr(recordOr(first?.content).parts).map(recordOr)
}

/** Parts of the response with binary data: `mimeType`, and `data` in base64. */
export const inlinePartsOf = (answer: JsonRecord): JsonRecord[] =>
  partsOf(answer)
    .filter(({ thought }) => thought !== true)
    .map(({ inlineData }) => recordOr(inlineData))
    .filter(({ data }) => typeof data === 'string' && data !== '')

/** Text of the response, without reasoning. */
export const textIn = (answer: JsonRecord): string =>
  partsOf(answer)
    .filter(({ thought }) => thought !== true)
    .map(({ text }) => textOr(text))
    .join('')

/**
 * Error for a response without the requested content: the model's explanation, or its finish
 * reason.
 */
export function refusalIn(answer: JsonRecord, type: string): StepAnswer {
  const [first = {}] = arrayOr(answer.candidates).map(recordOr)
  const feedback = recordOr(answer.promptFeedback)
  const message =
    textOr(first.finishMessage) ||
    textOr(feedback.blockReasonMessage) ||
    textIn(answer) ||
    textOr(first.finishReason) ||
    textOr(feedback.blockReason) ||
    'nothing was made'
  return jsonAnswer({ error: { message, type, code: 'content_filter' } }, 400)
}

const COUNTS = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'cachedContentTokenCount',
  'candidatesTokenCount',
  'thoughtsTokenCount',
  'totalTokenCount',
] as const
const DETAILS = ['promptTokensDetails', 'cacheTokensDetails', 'candidatesTokensDetails'] as const

/** Total usage of several responses; null if any of them reports no valid usage. */
export function usageOfAll(answers: readonly JsonRecord[], tokensMax: number): TokenUsage | null {
  const told = answers.map(({ usageMetadata }) => recordOr(usageMetadata))
  if (told.some((usage) => readGeminiUsage(usage, tokensMax).usage === null)) return null
  const sum: JsonRecord = {}
  for (const name of COUNTS) {
    const counts = told.map((usage) => usage[name]).filter((count) => typeof count === 'number')
    if (counts.length > 0) sum[name] = counts.reduce((all, count) => all + count, 0)
  }
  for (const name of DETAILS) sum[name] = told.flatMap((usage) => arrayOr(usage[name]))
  return readGeminiUsage(sum, tokensMax).usage
}
