import type { ChatEvent } from '../../protocols/canonical/chat-answer.ts'
import { USAGE_TOKENS_MAX } from '../../protocols/canonical/token-usage.ts'
import type { AnswerReading, EventReport, StreamReader } from '../../protocols/dialect/dialect.ts'
import { readWhole } from '../../protocols/dialect/read-whole.ts'
import { isRecord, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { OpenaiStreamReader } from '../../protocols/openai-chat/read-answer.ts'
import { readUsage } from '../../protocols/openai-chat/usage.ts'
import { statedError } from '../../protocols/dialect/error-body.ts'

/**
 * Hunyuan uses OpenAI's schema with PascalCase keys; a whole response is in `Response`. Source:
 * Tencent Cloud API documentation, Hunyuan, "ChatCompletions" and "Error codes".
 */
const unwrapped = (answer: JsonRecord): JsonRecord =>
  isRecord(answer.Response) ? answer.Response : answer

const DEPTH_MAX = 8

/**
 * Converts keys at all levels, such as `FinishReason` to `finish_reason`; levels deeper than a
 * response has are dropped.
 */
function renamed(value: unknown, depth = 0): unknown {
  if (depth > DEPTH_MAX) return null
  if (Array.isArray(value)) return value.map((item) => renamed(item, depth + 1))
  if (!isRecord(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [snake(name), renamed(member, depth + 1)]),
  )
}

const snake = (name: string): string =>
  name.replace(/(?<=[a-z0-9])[A-Z]/g, (letter) => `_${letter}`).toLowerCase()

const inOpenai = ({ Id, Choices }: JsonRecord): JsonRecord => recordOr(renamed({ Id, Choices }))

export const readTencentAnswer = (bytes: Buffer): AnswerReading =>
  readWhole(bytes, new TencentStreamReader())

/** Reads a stream event by event; each event has the usage so far. */
export class TencentStreamReader implements StreamReader {
  private readonly reader = new OpenaiStreamReader()

  read(event: JsonRecord): EventReport {
    const sent = unwrapped(event)
    const error = errorIn(sent)
    if (error !== undefined) return { error }
    const { id, events } = this.reader.read(inOpenai(sent))
    const usage = readUsage(renamed(sent.Usage), USAGE_TOKENS_MAX)
    const report = { ...(id === undefined ? {} : { id }), events, usage }
    const isEnd = events.some(({ kind }) => kind === 'finish')
    return isEnd ? { ...report, kind: 'last', isEnd } : report
  }

  end(): ChatEvent[] {
    return this.reader.end()
  }
}

/** HTTP statuses by prefix of the error code; the first match counts. */
const STATUSES: readonly [start: string, status: number][] = [
  ['AuthFailure', 401],
  ['UnauthorizedOperation', 403],
  ['RequestLimitExceeded', 429],
  ['LimitExceeded', 429],
  ['FailedOperation.EngineServerLimitExceeded', 429],
  ['FailedOperation.EngineRequestTimeout', 504],
  ['FailedOperation.ResourcePackExhausted', 402],
  ['FailedOperation.FreeResourcePackExhausted', 402],
  ['FailedOperation.ServiceStop', 402],
  ['FailedOperation.ServiceNotActivated', 403],
  ['FailedOperation.UserUnAuthError', 403],
  ['InvalidParameterValue.Model', 404],
  ['InvalidParameter', 400],
  ['MissingParameter', 400],
  ['UnknownParameter', 400],
  ['UnsupportedOperation', 400],
  ['OperationDenied', 400],
  ['ResourceNotFound', 404],
  ['ResourceInsufficient', 503],
  ['ResourceUnavailable', 503],
  ['ResourcesSoldOut', 503],
  ['InternalError', 500],
]

const OTHER_STATUS = 502

const statusOf = (code: string): number =>
  STATUSES.find(([start]) => code.startsWith(start))?.[1] ?? OTHER_STATUS

/**
 * Error of a response; undefined if there is no error. In a stream, the error has another name and
 * a numeric code.
 */
function errorIn({ Error: told, ErrorMsg: toldInStream }: JsonRecord): unknown {
  if (isRecord(told)) {
    const code = textOr(told.Code)
    return statedError(statusOf(code), code, textOr(told.Message))
  }
  if (!isRecord(toldInStream)) return undefined
  const { Code: code, Msg: words } = toldInStream
  const isNothing = code === 0 && textOr(words) === ''
  return isNothing ? undefined : statedError(OTHER_STATUS, code, textOr(words))
}
