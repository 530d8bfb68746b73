import { arrayOr, isRecord, parseJson, recordOr } from '../json/json-value.ts'
import type { JsonRecord } from '../json/json-value.ts'
import type { DeltaText, StreamChunk } from '../dialect/dialect.ts'
import { toolText } from '../dialect/lane.ts'
import { usageOfChunk } from './usage.ts'

/**
 * What the relay needs to know of one `data` payload of an OpenAI-dialect stream (chat or legacy
 * completions). The bytes themselves are forwarded as they came.
 *
 * Each chunk is parsed in full: with 250 bytes to a chunk that costs a microsecond, and only a full
 * parse tells a chunk that clients can read from one they cannot.
 */
export interface OpenaiChunk extends StreamChunk {
  /** Indexes of the choices in this chunk. */
  choices: number[]
  /** Those of them that carry a finish reason. */
  finished: number[]
  /** The usage object as sent, for `readUsage`; undefined when there is none. */
  usage: unknown
}

const Lane = { content: 0, reasoning: 1, call: 2 } as const
const LANES_PER_CHOICE = 3
/** No upstream offers more; indexes beyond it, or that are no index, count as choice 0. */
const CHOICES_MAX = 1024

export function readChunk(data: Buffer): OpenaiChunk {
  const text = data.toString('utf8')
  if (text.length < 16 && text.trim() === '[DONE]') return chunkOf('done')
  const value = parseJson(text)
  if (!isRecord(value)) return chunkOf('malformed')
  const chunk = chunkOf('delta', value)
  chunk.usage = usageOfChunk(value)
  chunk.error = errorOf(value)
  const choices = arrayOr(value.choices)
  for (const choice of choices) {
    if (isRecord(choice)) readChoice(choice, chunk)
  }
  if (chunk.error !== undefined) chunk.kind = 'error'
  else if (choices.length === 0 && isRecord(chunk.usage)) chunk.kind = 'usage'
  return chunk
}

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

/** The completion texts of a whole answer, for counting what an upstream left uncounted. */
export function answerTexts(answer: unknown): DeltaText[] {
  const texts: DeltaText[] = []
  for (const choice of arrayOr(recordOr(answer).choices)) {
    if (!isRecord(choice)) continue
    const lane = choiceIndex(choice) * LANES_PER_CHOICE
    if (isRecord(choice.message)) addMessage(texts, lane, choice.message)
    else addText(texts, lane + Lane.content, choice.text)
  }
  return texts
}

const chunkOf = (kind: StreamChunk['kind'], value: JsonRecord | null = null): OpenaiChunk => ({
  kind,
  texts: [],
  choices: [],
  finished: [],
  usage: undefined,
  error: undefined,
  value,
})

function readChoice(choice: JsonRecord, chunk: OpenaiChunk): void {
  const index = choiceIndex(choice)
  chunk.choices.push(index)
  // Some servers send '' with every chunk for what others spell null.
  if (typeof choice.finish_reason === 'string' && choice.finish_reason !== '') {
    chunk.finished.push(index)
  }
  const lane = index * LANES_PER_CHOICE
  // MiniMax repeats the whole text as `message` at the end; only a delta is new. Together repeats
  // the text of a delta as `text`, which is the text of completions of the older kind.
  if (isRecord(choice.delta)) addMessage(chunk.texts, lane, choice.delta)
  else addText(chunk.texts, lane + Lane.content, choice.text)
}

export function choiceIndex(choice: JsonRecord): number {
  const index = choice.index
  const isIndex =
    typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < CHOICES_MAX
  return isIndex ? index : 0
}

function addMessage(texts: DeltaText[], lane: number, message: JsonRecord): void {
  // Servers that know both names send the same text under both.
  addText(texts, lane + Lane.reasoning, message.reasoning_content ?? message.reasoning)
  addText(texts, lane + Lane.content, message.content)
  addText(texts, lane + Lane.content, message.refusal)
  if (message.tool_calls !== undefined) {
    for (const call of arrayOr(message.tool_calls)) {
      addCall(texts, lane, recordOr(recordOr(call).function))
    }
  }
  if (isRecord(message.function_call)) addCall(texts, lane, message.function_call)
}

function addCall(texts: DeltaText[], lane: number, call: JsonRecord): void {
  texts.push(...toolText(lane + Lane.call, call.name))
  const { arguments: given } = call
  addText(texts, lane + Lane.call, isRecord(given) ? JSON.stringify(given) : given)
}

function addText(texts: DeltaText[], lane: number, value: unknown): void {
  if (typeof value === 'string') {
    if (value !== '') texts.push({ lane, text: value })
  } else if (Array.isArray(value)) {
    // Content in parts: `text`, and with Mistral `thinking`, which holds parts again.
    for (const part of value) {
      if (!isRecord(part)) continue
      addText(texts, lane, part.text)
      for (const inner of arrayOr(part.thinking)) addText(texts, lane, recordOr(inner).text)
    }
  }
}
