import {
  finishNamed,
  type AnswerChoice,
  type AnswerPart,
  type ChatAnswer,
  type ChatEvent,
  type FinishReason,
} from '../canonical/chat-answer.ts'
import type { Signature } from '../canonical/chat-request.ts'
import { unwrapSignature } from '../canonical/signature.ts'
import type { StreamReader } from '../dialect/dialect.ts'
import {
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  textOr,
  type JsonRecord,
} from '../json/json-value.ts'
import { USAGE_TOKENS_MAX } from '../canonical/token-usage.ts'
import { objectText } from '../canonical/arguments-text.ts'
import { CallAssembly, type AssembledCall } from '../canonical/call-assembly.ts'
import { callSeals, detailedThoughts, picturesOf } from './answer-parts.ts'
import { citationsIn } from './citations.ts'
import { isOfMinimax } from './thinking/reasoning.ts'
import { readUsage } from './usage.ts'

/** A chat completion, whole or streamed, in the canonical form. What is odd about it is passed over. */
export function readOpenaiAnswer(answer: JsonRecord): ChatAnswer {
  return {
    id: textOr(answer.id),
    choices: arrayOr(answer.choices).map((choice) => readChoice(recordOr(choice))),
    usage: readUsage(answer.usage, USAGE_TOKENS_MAX).usage,
  }
}

function readChoice(choice: JsonRecord): AnswerChoice {
  const message = recordOr(choice.message)
  const seals = callSeals(message)
  const calls = callsOf(message).flatMap((sent): AnswerPart[] => {
    const { id, name, args, signature } = readCall(sent, seals)
    if (name === '') return []
    const argumentsJson = objectText(args)
    return [{ kind: 'toolCall', id, name, argumentsJson, signature }]
  })
  return {
    parts: [
      ...thoughtsOf(message),
      ...textsOf(message),
      ...citationsOf(message),
      ...picturesOf(message),
      ...calls,
    ],
    finish: finishNamed(FINISHES, choice.finish_reason),
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

/** Calls and reason are made to agree for all dialects in `dialect/tool-calls.ts`. */
const FINISHES: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  // Mistral.
  model_length: 'length',
  tool_calls: 'toolCalls',
  function_call: 'toolCalls',
  content_filter: 'filtered',
  // Zhipu.
  sensitive: 'filtered',
  model_context_window_exceeded: 'length',
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

const citationsOf = ({ annotations }: JsonRecord) =>
  citationsIn(arrayOr(annotations)).map((citation) => ({ kind: 'citation' as const, citation }))

function sealOf(call: JsonRecord) {
  const seal = recordOr(recordOr(call.extra_content).google).thought_signature
  return typeof seal === 'string' ? unwrapSignature(seal, 'gemini') : null
}

function readCall(call: JsonRecord, seals: ReadonlyMap<string, Signature>) {
  const called = recordOr(call.function)
  const id = textOr(call.id)
  return {
    id,
    name: textOr(called.name),
    args: called.arguments,
    signature: sealOf(call) ?? seals.get(id) ?? null,
  }
}

/** Indexes beyond it are no index. */
const INDEX_MAX = 1024

const indexOr = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < INDEX_MAX
    ? value
    : otherwise

/** Chunk by chunk. */
export class OpenaiStreamReader implements StreamReader {
  private hasStarted = false
  private hasDeltas = false
  private readonly calls = new CallAssembly()
  /** The last call of each index of a choice; some providers give every call the same index. */
  private readonly latest = new Map<string, AssembledCall>()
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
      if (isRecord(choice)) events.push(...this.readChoice(choice, indexOr(choice.index, 0)))
    }
    return events
  }

  end(): ChatEvent[] {
    return this.calls.endAll()
  }

  private readChoice(choice: JsonRecord, index: number): ChatEvent[] {
    const delta = this.deltaOf(choice)
    const said = [...this.readThoughts(delta, index)]
    for (const part of [...textsOf(delta), ...picturesOf(delta)]) {
      if (part.kind === 'text' || part.kind === 'refusal' || part.kind === 'image') {
        said.push({ ...part, choice: index })
      }
    }
    said.push(...citationsOf(delta).map((part) => ({ ...part, choice: index })))
    const opened = said.length === 0 ? [] : this.calls.open(index)
    const events = [...opened, ...said, ...this.readSeals(delta, index)]
    for (const [place, call] of callsOf(delta).entries()) {
      events.push(...this.readCall(call, { choice: index, index: indexOr(call.index, place) }))
    }
    const word = textOr(choice.finish_reason)
    if (word !== '') {
      events.push(...this.calls.open(index), {
        kind: 'finish',
        choice: index,
        finish: finishNamed(FINISHES, word),
      })
    }
    return events
  }

  /** Some servers stream messages in place of deltas. Others repeat the whole message behind them. */
  private deltaOf({ delta, message, text }: JsonRecord): JsonRecord {
    if (isRecord(delta)) this.hasDeltas = true
    if (this.hasDeltas) return recordOr(delta)
    return isRecord(message) ? message : { content: text }
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
    const begun = this.calls.of(choice)
    return [...callSeals(delta)].flatMap(([id, signature]): ChatEvent[] => {
      const call = begun.find((other) => other.id === id)
      if (call === undefined) this.seals.set(id, signature)
      else if (call.call === null) call.signature ??= signature
      else return [{ kind: 'signature', choice, signature }]
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

  private readCall(sent: JsonRecord, at: { choice: number; index: number }): ChatEvent[] {
    const { choice, index } = at
    const { args: given, ...piece } = readCall(sent, this.seals)
    // Some give the object itself.
    const args = isRecord(given) ? JSON.stringify(given) : textOr(given)
    const place = `${choice}/${index}`
    const begun = this.latest.get(place)
    if (begun !== undefined && !beginsAnother(begun, piece, args)) {
      return this.calls.add(begun, { ...piece, args })
    }
    const opened = this.calls.open(choice)
    const call = this.calls.begin(choice)
    this.latest.set(place, call)
    return [...opened, ...this.calls.add(call, { ...piece, args })]
  }
}

/**
 * Some providers give every call the same index. A new one has a name, and another id than the
 * last; without ids, the last one's arguments are whole.
 */
function beginsAnother(
  begun: AssembledCall,
  { id, name }: { id: string; name: string },
  args: string,
): boolean {
  if (name === '' || begun.name === '') return false
  if (id !== '' && begun.id !== '') return id !== begun.id
  return (args !== '' || name !== begun.name) && isRecord(parseJson(begun.args))
}
