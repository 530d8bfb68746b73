import { memberBytes, memberRange, memberValue, scanAnswer } from '../../json/body-scan.ts'
import type { ScannedBody } from '../../json/body-scan.ts'
import { arrayOr, isRecord, type JsonRecord } from '../../json/json-value.ts'
import { BROKEN_OFF, errorOf } from './answer-error.ts'
import { NO_USAGE, USAGE_TOKENS_MAX } from '../canonical/token-usage.ts'
import type { AnswerReading } from '../dialect/dialect.ts'
import type { Task } from '../dialect/provider.ts'
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
/** Finish reasons of failed choices; `error` is also the member of a choice with an error. */
const CHOICE_WORDS = BROKEN_OFF.map((reason) => Buffer.from(`"${reason}"`))

/** Member that contains the answer of a task. Other tasks have readers that check it themselves. */
const ANSWER_MEMBERS: Readonly<Partial<Record<Task, string>>> = {
  chat: 'choices',
  completions: 'choices',
  embeddings: 'data',
  embedContent: 'data',
  batchEmbedContents: 'data',
  moderations: 'results',
}

/**
 * Reads a whole answer. Finds the few members that matter and skips the rest, so that megabytes of
 * embeddings or images cost a scan and no objects. `task`: the task of the request; if absent, the
 * answer of any task is accepted.
 */
export function readOpenaiAnswer(bytes: Buffer, task?: Task): AnswerReading {
  const answer = scanAnswer(bytes)
  if (answer === null) return { kind: 'malformed' }
  const isAnswer = holdsAnswer(answer, task)
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
 * `results` of moderations and rerankings. Only the latter may be an empty list.
 */
function holdsAnswer(answer: ScannedBody, task: Task | undefined): boolean {
  const only = task && ANSWER_MEMBERS[task]
  const isExpected = (name: string): boolean => only === undefined || only === name
  return (
    ['choices', 'data'].some((name) => isExpected(name) && holdsElements(answer, name)) ||
    (isExpected('results') && isThere(answer, 'results'))
  )
}

/** Whether a member is a non-empty list. Whitespace bytes are never above 0x20. */
function holdsElements(answer: ScannedBody, name: string): boolean {
  const bytes = memberBytes(answer, name)
  if (bytes?.[0] !== LIST_START) return false
  let at = 1
  while ((bytes[at] ?? LIST_END) <= BLANK) at += 1
  return bytes[at] !== LIST_END
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
