import { arrayOr, isRecord, recordOr, type JsonRecord } from '../json/json-value.ts'

/**
 * The error an answer or a chunk reports although its HTTP status was 200; undefined when it
 * reports none. Shapes: OpenAI's `error`, also inside a choice (OpenRouter); a choice that has
 * broken off (Zhipu); `object: "error"` (vLLM); MiniMax's `base_resp`; and where nothing is
 * answered, `bareErrorOf`.
 */
export function errorOf(answer: JsonRecord): unknown {
  if (isError(answer.error)) return answer.error
  const choices = arrayOr(answer.choices)
  const ofChoice = choices.length > 0 ? recordOr(choices[0]).error : undefined
  if (isError(ofChoice)) return ofChoice
  if (choices.some(hasBrokenOff)) return { code: BROKEN_OFF }
  if (answer.object === 'error') return answer
  const status = recordOr(answer.base_resp).status_code
  if (typeof status === 'number' && status !== 0) return answer.base_resp
  return saysSomething(answer) ? undefined : bareErrorOf(answer)
}

/** A reason to stop that is none. Source: Zhipu's API reference, "Chat completion". */
export const BROKEN_OFF = 'network_error'

const hasBrokenOff = (choice: unknown): boolean => recordOr(choice).finish_reason === BROKEN_OFF

const isError = (value: unknown): boolean =>
  isRecord(value) ? Object.keys(value).length > 0 : Boolean(value)

/** Members of what any task answers; a transcript without words is one too. */
const saysSomething = (answer: JsonRecord): boolean =>
  typeof answer.text === 'string' ||
  ['choices', 'data', 'results', 'output'].some((name) => arrayOr(answer[name]).length > 0)

/**
 * An error without a member of its own: a code and its words (SiliconFlow, Baidu), `success: false`
 * beside words, FastAPI's `detail`, Cloudflare's `errors`. Words alone are none: what vendors send
 * between chunks may have a message.
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

/** Vendors that always send a code mean success by 0 or 200. */
const isFailureCode = (code: unknown): boolean =>
  (typeof code === 'number' && code !== 0 && code !== 200) ||
  (typeof code === 'string' && code !== '' && code !== '0' && code !== '200')
