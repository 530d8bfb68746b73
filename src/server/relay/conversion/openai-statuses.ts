import { isErrorStatus, statusInCode } from '../protocols/dialect/error-body.ts'
import { wordOf, type JsonRecord } from '../json/json-value.ts'
import { minimaxStatuses } from '../vendors/minimax/statuses.ts'
import { sparkStatuses } from '../vendors/spark/statuses.ts'

/**
 * Statuses of vendors' own error numbers in OpenAI's dialect, none of which conflict: Spark's, and
 * SiliconFlow's for an unknown model and an exhausted balance. Source of the latter: SiliconFlow's
 * documentation, "Error handling".
 */
const imitatorStatuses: Readonly<Record<number, number>> = {
  ...sparkStatuses,
  20_012: 404,
  30_001: 402,
}

/**
 * Codes that concern the key, the account or the model, with the status that OpenAI sends them
 * with. Some have the type `invalid_request_error`, and in a stream none has a status.
 */
const CODE_STATUSES: ReadonlyMap<string, number> = new Map([
  ['insufficient_quota', 429],
  ['invalid_api_key', 401],
  ['account_deactivated', 401],
  ['model_not_found', 404],
])

/**
 * Returns the status that an error in OpenAI's dialect stands for; undefined if unknown. OpenRouter
 * and vLLM send the status as the code.
 */
export function openaiStatus(error: JsonRecord): number | undefined {
  const { code, type, status_code: numbered } = error
  const status = statusInCode(error) ?? (isErrorStatus(numbered) ? numbered : knownStatus(error))
  if (status !== undefined) return status
  return CODE_STATUSES.get(wordOf(code)) ?? (type === 'invalid_request_error' ? 400 : undefined)
}

/** `status_code` is an HTTP status at Groq and MiniMax's own number at MiniMax. */
const knownStatus = ({ code, status_code: numbered }: JsonRecord): number | undefined =>
  typeof numbered === 'number' ? minimaxStatuses[numbered] : imitatorStatuses[Number(wordOf(code))]
