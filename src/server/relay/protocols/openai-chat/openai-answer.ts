import { memberBytes, memberRange, memberValue, scanAnswer } from '../../json/body-scan.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import { arrayOr, isRecord, type JsonRecord } from '../../json/json-value.ts'
import { BROKEN_OFF, errorOf } from './answer-error.ts'
import { NO_USAGE, USAGE_TOKENS_MAX } from '../canonical/token-usage.ts'
import type { AnswerReading } from '../dialect/dialect.ts'
import { eventsOfCompletion } from './read-answer.ts'
import { readUsage } from './usage.ts'

/**
 * Top-level members that mark an error: every error that `errorOf` finds has at least one of them,
 * except errors of a choice.
 */
const ERROR_MEMBERS = [
  'error',
  'base_resp',
  'code',
  'error_code',
  'success',
  'detail',
  'errors',
] as const
/**
 * Found as the value of `object`, or as a key inside a choice; inside a text its quotes would be
 * escaped.
 */
const ERROR_WORD = Buffer.from('"error"')
/** `ERROR_WORD`, or found as the finish reason of a choice. */
const CHOICE_WORDS = [ERROR_WORD, ...BROKEN_OFF.map((reason) => Buffer.from(`"${reason}"`))]

/**
 * Reads a whole answer of any task. Finds the few members that matter and skips the rest, so that
 * megabytes of embeddings or images cost a scan and no objects.
 */
export function readOpenaiAnswer(bytes: Buffer): AnswerReading {
  const answer = scanAnswer(bytes)
  if (answer === null) return { kind: 'malformed' }
  const isAnswer = holdsAnswer(answer)
  if (!isAnswer || mayBeError(answer)) {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    const error = isRecord(value) ? errorOf(value) : undefined
    if (error !== undefined) return { kind: 'error', error }
  }
  if (!isAnswer) return { kind: 'malformed' }
  const hasUsage = memberRange(answer, 'usage') !== null
  return {
    kind: 'ok',
    usage: hasUsage ? readUsage(memberValue(answer, 'usage'), USAGE_TOKENS_MAX) : NO_USAGE,
    events: () => eventsOfCompletion(bytes),
  }
}

/**
 * Whether the body has an answer: choices of text models, `data` of embeddings and images,
 * `results` of moderations and rerankings. The latter two may be empty lists.
 */
function holdsAnswer(answer: ScannedBody): boolean {
  const range = memberRange(answer, 'choices')
  if (range !== null && holdsSomething(answer.bytes, range.start)) return true
  return isThere(answer, 'results') || (isThere(answer, 'data') && !isWrapped(answer))
}

/** Whether `data` is a completion that another server has wrapped. */
function isWrapped(answer: ScannedBody): boolean {
  const data = memberBytes(answer, 'data')
  return data?.[0] === OBJECT_START && data.includes('"choices"')
}

const OBJECT_START = 0x7b

/** Whether a non-empty list begins here. Whitespace bytes are never above 0x20. */
function holdsSomething(bytes: Buffer, start: number): boolean {
  let at = start + 1
  while ((bytes[at] ?? LIST_END) <= BLANK) at += 1
  return bytes[start] === LIST_START && bytes[at] !== LIST_END
}

const BLANK = 0x20
const LIST_START = 0x5b
const LIST_END = 0x5d

function isThere(answer: ScannedBody, name: string): boolean {
  const range = memberRange(answer, name)
  return range !== null && answer.bytes[range.start] !== NULL_FIRST_BYTE
}

function mayBeError(answer: ScannedBody): boolean {
  if (ERROR_MEMBERS.some((name) => isThere(answer, name))) return true
  if (memberBytes(answer, 'object')?.equals(ERROR_WORD) === true) return true
  const choices = memberBytes(answer, 'choices')
  return choices !== null && CHOICE_WORDS.some((word) => choices.includes(word))
}

/** No other JSON value begins with `n`. */
const NULL_FIRST_BYTE = 0x6e

/** Returns a whole answer as stream chunks; chat messages become deltas, texts stay texts. */
export function completionAsEvents(answer: JsonRecord, wantsUsage: boolean): JsonRecord[] {
  const { usage, choices, object, ...rest } = answer
  const isChat = object === 'chat.completion'
  const head = { ...rest, object: isChat ? 'chat.completion.chunk' : object }
  const first = {
    ...head,
    choices: arrayOr(choices).map((choice) => (isRecord(choice) ? chunkChoice(choice) : choice)),
  }
  return wantsUsage && usage !== undefined ? [first, { ...head, choices: [], usage }] : [first]
}

function chunkChoice({ message, ...choice }: JsonRecord): JsonRecord {
  if (!isRecord(message)) return choice
  const calls = message['tool_calls']
  const delta = Array.isArray(calls)
    ? {
        ...message,
        // In a stream each call has its index.
        tool_calls: calls.map((call, index) => (isRecord(call) ? { index, ...call } : call)),
      }
    : message
  return { ...choice, delta }
}
