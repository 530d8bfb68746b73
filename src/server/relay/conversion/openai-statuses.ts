import { isErrorStatus, statusInCode } from '../protocols/dialect/error-body.ts'
import { wordOf, type JsonRecord } from '../json/json-value.ts'
import { minimaxStatuses } from '../vendors/minimax/statuses.ts'
import { sparkStatuses } from '../vendors/spark/statuses.ts'

/**
 * Numbers of vendors of OpenAI's dialect who count their errors themselves, which no two use alike:
 * Spark's, and SiliconFlow's for no such model and nothing left to pay with. Source of the latter:
 * its error page.
 */
const imitatorStatuses: Readonly<Record<number, number>> = {
  ...sparkStatuses,
  20_012: 404,
  30_001: 402,
}

/** What OpenAI calls an invalid request although it is about the key or the model. */
const UNBLAMED: ReadonlyMap<string, number> = new Map([
  ['invalid_api_key', 401],
  ['account_deactivated', 401],
  ['model_not_found', 404],
])

/**
 * The status that an error in OpenAI's dialect, or an imitator's, stands for; undefined: it does
 * not say. OpenRouter's and vLLM's carry it as their code.
 */
export function openaiStatus(error: JsonRecord): number | undefined {
  const { code, type, status_code: numbered } = error
  const status = statusInCode(error) ?? (isErrorStatus(numbered) ? numbered : knownStatus(error))
  if (status !== undefined || type !== 'invalid_request_error') return status
  return UNBLAMED.get(wordOf(code)) ?? 400
}

/** Groq's `status_code` is a status, MiniMax's its own number. */
const knownStatus = ({ code, status_code: numbered }: JsonRecord): number | undefined =>
  typeof numbered === 'number' ? minimaxStatuses[numbered] : imitatorStatuses[Number(wordOf(code))]
