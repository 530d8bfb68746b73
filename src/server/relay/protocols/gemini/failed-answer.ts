import { arrayOr, isRecord, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Finish reasons of failed answers that other dialects cannot express: their clients would take the
 * answer for complete. Source: `FinishReason` of Google's SDK.
 */
const FAILED: ReadonlySet<unknown> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'MISSING_THOUGHT_SIGNATURE',
  'TOO_MANY_TOOL_CALLS',
  'UNEXPECTED_TOOL_CALL',
])

/** Finish reasons that leave a usable answer, if it has any content. */
const CUT_SHORT: ReadonlySet<unknown> = new Set(['IMAGE_OTHER', 'NO_IMAGE', 'OTHER'])

const BAD_GATEWAY = 502

/**
 * Returns the error of an answer, or of a stream event, by its finish reason; null if there is no
 * error. `hasBegun`: earlier events had content.
 */
export function failureIn(response: JsonRecord, hasBegun: boolean): JsonRecord | null {
  const candidates = arrayOr(response.candidates).map(recordOr)
  const hasFailed = (candidate: JsonRecord): boolean =>
    FAILED.has(candidate.finishReason) ||
    (CUT_SHORT.has(candidate.finishReason) && !hasBegun && !saysAnything(candidate))
  const [first] = candidates
  if (first === undefined || !candidates.every(hasFailed)) return null
  const reason = textOr(first.finishReason)
  const message = textOr(first.finishMessage) || `The model stopped without an answer: ${reason}`
  return { code: BAD_GATEWAY, status: reason, message }
}

/** Whether a candidate has content other than thoughts. */
export const saysAnything = (candidate: unknown): boolean =>
  arrayOr(recordOr(recordOr(candidate).content).parts).some(
    (part) => isRecord(part) && part.thought !== true && part.text !== '',
  )
