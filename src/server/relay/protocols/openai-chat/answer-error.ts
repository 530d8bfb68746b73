import { arrayOr, isRecord, recordOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Returns the error of an answer or a chunk with HTTP status 200; undefined if there is no error.
 * Shapes: OpenAI's `error`, also inside a choice (OpenRouter); a choice that broke off (Zhipu,
 * DeepSeek, vLLM); `object: "error"` (vLLM); MiniMax's `base_resp`; and, without an answer,
 * `bareErrorOf`.
 */
export function errorOf(answer: JsonRecord): unknown {
  if (isError(answer.error)) return answer.error
  const choices = arrayOr(answer.choices)
  const ofChoice = choices.length > 0 ? recordOr(choices[0]).error : undefined
  if (isError(ofChoice)) return ofChoice
  const broken = choices.find(hasBrokenOff)
  if (broken !== undefined) return { code: recordOr(broken).finish_reason }
  if (answer.object === 'error') return answer
  const status = recordOr(answer.base_resp).status_code
  if (typeof status === 'number' && status !== 0) return answer.base_resp
  return hasContent(answer) ? undefined : bareErrorOf(answer)
}

/**
 * Finish reasons that are errors. Sources: the API references of Zhipu ("Chat completion"),
 * DeepSeek ("Create Chat Completion") and OpenRouter ("Chat completion", `error`); vLLM's
 * `FinishReason` (`abort`, `error`).
 */
export const BROKEN_OFF = [
  'network_error',
  'insufficient_system_resource',
  'error',
  'abort',
] as const

const hasBrokenOff = (choice: unknown): boolean => {
  const finish = recordOr(choice).finish_reason
  return BROKEN_OFF.some((reason) => reason === finish)
}

const isError = (value: unknown): boolean =>
  isRecord(value) ? Object.keys(value).length > 0 : Boolean(value)

/** Members of the answers of all tasks; an empty transcript is an answer, too. */
const hasContent = (answer: JsonRecord): boolean =>
  typeof answer.text === 'string' ||
  ['choices', 'data', 'results', 'output'].some((name) => arrayOr(answer[name]).length > 0)

/**
 * An error without a member of its own: a code and its message (SiliconFlow, Baidu), `success:
 * false` beside a message, FastAPI's `detail`, Cloudflare's `errors`. A message alone is not an
 * error: vendors' events between chunks may have one.
 */
function bareErrorOf(answer: JsonRecord): unknown {
  const { detail, errors } = answer
  const listed = recordOr([...arrayOr(errors), ...arrayOr(detail)][0])
  const words = [answer.message, answer.msg, answer.error_msg, detail, listed.message, listed.msg]
  const message = words.find((value) => typeof value === 'string' && value !== '')
  const code = answer.code ?? answer.error_code
  const isRefusal = message !== undefined && (isFailureCode(code) || answer.success === false)
  const isListed = arrayOr(errors).length > 0
  return isRefusal || isListed || isDetail(detail)
    ? { ...answer, ...(message === undefined ? {} : { message }) }
    : undefined
}

const isDetail = (detail: unknown): boolean =>
  Array.isArray(detail) ? detail.length > 0 : isError(detail)

/** Vendors that always send a code use 0 or 200 for success. */
const isFailureCode = (code: unknown): boolean =>
  (typeof code === 'number' && code !== 0 && code !== 200) ||
  (typeof code === 'string' && code !== '' && code !== '0' && code !== '200')
