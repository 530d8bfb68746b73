import { arrayOr, isRecord, recordOr, textOr, type JsonRecord } from '../json/json-value.ts'

/**
 * Ends of an answer that came to nothing, for which the other dialects have no word: their clients
 * would take it for whole. Source: `FinishReason` of Google's SDK.
 */
const FAILED: ReadonlySet<unknown> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'MISSING_THOUGHT_SIGNATURE',
  'TOO_MANY_TOOL_CALLS',
  'UNEXPECTED_TOOL_CALL',
])

/** Finish reasons that leave a usable answer, if something was said before. */
const CUT_SHORT: ReadonlySet<unknown> = new Set(['IMAGE_OTHER', 'NO_IMAGE', 'OTHER'])

const BAD_GATEWAY = 502

/**
 * The error that an answer, or an event of a stream, tells by its end; null: none. `hasBegun`: the
 * stream has said something before.
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

/** Whether there is an answer in a candidate; thoughts are none. */
export const saysAnything = (candidate: unknown): boolean =>
  arrayOr(recordOr(recordOr(candidate).content).parts).some(
    (part) => isRecord(part) && part.thought !== true && part.text !== '',
  )
