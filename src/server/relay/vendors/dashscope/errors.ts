import { textOr, type JsonRecord } from '../../json/json-value.ts'
import type { StepAnswer } from '../../transport/upstream-steps.ts'
import { jsonAnswer, recordIn } from '../../transport/json-steps.ts'

/** Source: Alibaba Cloud Model Studio, "Error messages". */

/** Converts an error of DashScope's own API to the format of its compatible mode. */
export function inOpenaisWords(answer: StepAnswer): StepAnswer {
  const { code, message } = recordIn(answer)
  if (typeof code !== 'string') return answer
  return {
    ...jsonAnswer({ error: errorOf(code, textOr(message)) }, answer.status),
    headers: answer.headers,
  }
}

const errorOf = (code: string, message: string): JsonRecord => ({
  code,
  type: code,
  message: message || code,
})

/** HTTP status for the error code of a failed task; tasks have no status of their own. */
const STATUSES: readonly [code: RegExp, status: number][] = [
  [/^InvalidApiKey/, 401],
  [/^(?:Arrearage|AccessDenied)/, 403],
  [/^ModelNotFound/, 404],
  [/^(?:Throttling|LimitRequests)/, 429],
  [/^(?:InvalidParameter|InvalidURL|DataInspectionFailed|IPInfringementSuspect)/, 400],
]

export function failedTask({ code, message }: JsonRecord): StepAnswer {
  const known = textOr(code)
  const status = STATUSES.find(([pattern]) => pattern.test(known))?.[1] ?? 500
  return jsonAnswer({ error: errorOf(known || 'TaskFailed', textOr(message)) }, status)
}
