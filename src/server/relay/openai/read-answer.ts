import type {
  AnswerChoice,
  AnswerPart,
  ChatAnswer,
  ChatEvent,
  Finish,
  FinishReason,
} from '../canonical/chat-answer.ts'
import type { Signature } from '../canonical/chat-request.ts'
import { unwrapSignature } from '../canonical/signature.ts'
import type { StreamReader } from '../dialect/dialect.ts'
import {
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  wordOf,
  textOr,
  type JsonRecord,
} from '../json/json-value.ts'
import { USAGE_TOKENS_MAX } from '../canonical/token-usage.ts'
import { madeId } from '../canonical/call-id.ts'
import { callSeals, detailedThoughts, picturesOf } from './answer-parts.ts'
import { isOfMinimax } from './thinking/reasoning.ts'
import { readUsage } from './usage.ts'

/** A chat completion, whole or streamed, in the canonical form. What is odd about it is passed over. */
export function readOpenaiAnswer(answer: JsonRecord): ChatAnswer {
  return {
    id: textOr(answer.id),
    choices: arrayOr(answer.choices).map((choice, index) =>
      readChoice(recordOr(choice), idsFor(answer, index)),
    ),
    usage: readUsage(answer.usage, USAGE_TOKENS_MAX).usage,
  }
}

/** Makes up ids for the calls of a choice: what repeats an answer's makes the same. */
type CallIds = (call: number) => string

function idsFor({ id, created }: JsonRecord, choice: number): CallIds {
  const place = `${wordOf(id)} ${wordOf(created)} ${choice}`
  return (call) => madeId(`${place} ${call}`)
}

function readChoice(choice: JsonRecord, ids: CallIds): AnswerChoice {
  const message = recordOr(choice.message)
  const seals = callSeals(message)
  const calls = callsOf(message).map((sent, index) => {
    const call = readCall(sent, seals)
    return { ...call, id: call.id || ids(index), argumentsJson: call.argumentsJson || '{}' }
  })
  return {
    parts: [...thoughtsOf(message), ...textsOf(message), ...picturesOf(message), ...calls],
    finish: finishOf(textOr(choice.finish_reason) || 'stop', calls.length > 0),
  }
}

/** Calls of tools, and the one that an older spelling has room for. */
function callsOf({ tool_calls: calls, function_call: called }: JsonRecord): JsonRecord[] {
  const sent = arrayOr(calls).filter(isRecord)
  return sent.length === 0 && isFunctionCall(called) ? [{ function: called }] : sent
}

/**
 * Whether a `function_call` says anything. Servers that marshal Go structs send one with an empty
 * name and empty arguments in every answer (Snowflake Cortex).
 */
export const isFunctionCall = (called: unknown): called is JsonRecord =>
  isRecord(called) && (textOr(called.name) !== '' || textOr(called.arguments) !== '')

const FINISHES: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'toolCalls',
  function_call: 'toolCalls',
  content_filter: 'filtered',
  // Zhipu.
  sensitive: 'filtered',
  model_context_window_exceeded: 'length',
}

/** Some servers say `stop` after calls. */
function finishOf(word: string, hasCalls: boolean): Finish {
  const reason = FINISHES[word] ?? 'stop'
  return { reason: reason === 'stop' && hasCalls ? 'toolCalls' : reason, stopSequence: null }
}

/** What a message or a delta thinks, under the name that its server uses. */
const thoughtText = (message: JsonRecord): string =>
  textOr(message.reasoning_content) || textOr(message.reasoning)

function thoughtsOf(message: JsonRecord): AnswerPart[] {
  const detailed = detailedThoughts(message)
  if (detailed.length > 0) return detailed
  const text = thoughtText(message) || nestedThought(message.content)
  return text === '' ? [] : [{ kind: 'thinking', text, signature: null, redacted: null }]
}

/** Mistral's content in parts: `thinking` holds parts again. */
function nestedThought(content: unknown): string {
  return arrayOr(content)
    .flatMap((part) => arrayOr(recordOr(part).thinking))
    .map((part) => textOr(recordOr(part).text))
    .join('')
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return arrayOr(content)
    .map((part) => textOr(recordOr(part).text))
    .join('')
}

function textsOf(message: JsonRecord): AnswerPart[] {
  const text = contentText(message.content)
  const refusal = textOr(message.refusal)
  return [
    ...(text === '' ? [] : [{ kind: 'text' as const, text }]),
    ...(refusal === '' ? [] : [{ kind: 'refusal' as const, text: refusal }]),
  ]
}

function sealOf(call: JsonRecord) {
  const seal = recordOr(recordOr(call.extra_content).google).thought_signature
  return typeof seal === 'string' ? unwrapSignature(seal, 'gemini') : null
}

function readCall(
  call: JsonRecord,
  seals: ReadonlyMap<string, Signature>,
): AnswerPart & { kind: 'toolCall' } {
  const called = recordOr(call.function)
  const id = textOr(call.id)
  return {
    kind: 'toolCall',
    id,
    name: textOr(called.name),
    // Some give the object itself.
    argumentsJson: isRecord(called.arguments)
      ? JSON.stringify(called.arguments)
      : textOr(called.arguments),
    signature: sealOf(call) ?? seals.get(id) ?? null,
  }
}

/** Indexes beyond it are no index. */
const INDEX_MAX = 1024

const indexOr = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < INDEX_MAX
    ? value
    : otherwise

interface BegunCall {
  choice: number
  /** As they are counted here; some providers give every call the same index. */
  call: number
  /** '' where the provider gives none. */
  id: string
  text: string
}

/** Chunk by chunk. A call's id and name come once, with the first piece of it. */
export class OpenaiStreamReader implements StreamReader {
  private hasStarted = false
  /** Of each choice, in their order. */
  private readonly begun = new Map<number, BegunCall[]>()
  /** The last one of each index of a choice. */
  private readonly latest = new Map<string, BegunCall>()
  /** Seals of calls that have not begun. */
  private readonly seals = new Map<string, Signature>()
  /** What MiniMax has thought until now, of each choice. */
  private readonly thoughts = new Map<number, string>()

  read(chunk: JsonRecord): ChatEvent[] {
    const events: ChatEvent[] = []
    const choices = arrayOr(chunk.choices)
    if (!this.hasStarted && choices.length > 0) {
      this.hasStarted = true
      events.push({ kind: 'start', id: textOr(chunk.id) })
    }
    for (const choice of choices) {
      if (!isRecord(choice)) continue
      const index = indexOr(choice.index, 0)
      events.push(...this.readChoice(choice, index, idsFor(chunk, index)))
    }
    return events
  }

  private readChoice(choice: JsonRecord, index: number, ids: CallIds): ChatEvent[] {
    const delta = recordOr(choice.delta)
    const events = [...this.readThoughts(delta, index), ...this.readSeals(delta, index)]
    for (const part of [...textsOf(delta), ...picturesOf(delta)]) {
      if (part.kind === 'text' || part.kind === 'refusal' || part.kind === 'image') {
        events.push({ ...part, choice: index })
      }
    }
    for (const [place, call] of callsOf(delta).entries()) {
      events.push(...this.readCall(call, { choice: index, index: indexOr(call.index, place) }, ids))
    }
    const word = textOr(choice.finish_reason)
    if (word !== '') {
      const calls = this.begun.get(index) ?? []
      events.push(...calls.flatMap(withArguments))
      events.push({ kind: 'finish', choice: index, finish: finishOf(word, calls.length > 0) })
    }
    return events
  }

  /** A piece of a thought, and behind its last piece the seal. */
  private readThoughts(delta: JsonRecord, choice: number): ChatEvent[] {
    const events: ChatEvent[] = []
    const detailed = detailedThoughts(delta)
    const sent =
      thoughtText(delta) ||
      nestedThought(delta.content) ||
      detailed.map((thought) => thought.text).join('')
    const text = isOfMinimax(delta) ? this.newThought(sent, choice) : sent
    if (text !== '') events.push({ kind: 'thinking', choice, text })
    for (const { signature, redacted } of detailed) {
      if (signature !== null) events.push({ kind: 'signature', choice, signature })
      if (redacted !== null) events.push({ kind: 'redacted', choice, redacted })
    }
    return events
  }

  /** Keeps the seals of calls until they begin. One that comes later is told by itself. */
  private readSeals(delta: JsonRecord, choice: number): ChatEvent[] {
    const begun = this.begun.get(choice) ?? []
    return [...callSeals(delta)].flatMap(([id, signature]): ChatEvent[] => {
      if (begun.some((call) => call.id === id)) return [{ kind: 'signature', choice, signature }]
      this.seals.set(id, signature)
      return []
    })
  }

  /**
   * MiniMax says at some of its addresses what is new, at others all of the thought again and what
   * is new behind it (MiniMax-AI/MiniMax-M2#95, t8y2/dbx#5921).
   */
  private newThought(sent: string, choice: number): string {
    const before = this.thoughts.get(choice) ?? ''
    const repeats = before !== '' && sent.startsWith(before)
    this.thoughts.set(choice, repeats ? sent : before + sent)
    return repeats ? sent.slice(before.length) : sent
  }

  private readCall(
    sent: JsonRecord,
    { choice, index }: { choice: number; index: number },
    ids: CallIds,
  ): ChatEvent[] {
    const piece = readCall(sent, this.seals)
    const place = `${choice}/${index}`
    const begun = this.latest.get(place)
    if (begun !== undefined && !beginsAnother(begun, piece)) {
      begun.text += piece.argumentsJson
      return argumentsOf(begun, piece.argumentsJson)
    }
    const { name, signature, argumentsJson: text } = piece
    const others = this.begun.get(choice) ?? []
    const call = others.length
    const opened = { choice, call, id: piece.id, text }
    others.push(opened)
    this.begun.set(choice, others)
    this.latest.set(place, opened)
    const id = piece.id || ids(call)
    return [{ kind: 'toolCall', choice, call, id, name, signature }, ...argumentsOf(opened, text)]
  }
}

/**
 * Some providers give every call the same index. A new one has a name, and another id than the
 * last; without ids, the last one's arguments are whole.
 */
function beginsAnother(
  begun: BegunCall,
  { id, name, argumentsJson }: AnswerPart & { kind: 'toolCall' },
): boolean {
  if (name === '') return false
  if (id !== '' && begun.id !== '') return id !== begun.id
  return argumentsJson !== '' && isRecord(parseJson(begun.text))
}

const argumentsOf = ({ choice, call }: BegunCall, text: string): ChatEvent[] =>
  text === '' ? [] : [{ kind: 'toolArguments', choice, call, text }]

/** A call without arguments has an empty object of them, as in a whole answer. */
function withArguments(begun: BegunCall): ChatEvent[] {
  if (begun.text !== '') return []
  begun.text = '{}'
  return argumentsOf(begun, begun.text)
}
