import type {
  AnswerChoice,
  AnswerPart,
  ChatAnswer,
  ChatEvent,
  Finish,
  FinishReason,
} from '../canonical/chat-answer.ts'
import { unwrapSignature } from '../canonical/signature.ts'
import type { StreamReader } from '../dialect/dialect.ts'
import { arrayOr, isRecord, recordOr, type JsonRecord } from '../json/json-value.ts'
import { USAGE_TOKENS_MAX } from '../canonical/token-usage.ts'
import { readUsage } from './usage.ts'

/** A chat completion, whole or streamed, in the canonical form. What is odd about it is passed over. */
export function readOpenaiAnswer(answer: JsonRecord): ChatAnswer {
  return {
    id: textOr(answer.id),
    choices: arrayOr(answer.choices).map((choice) => readChoice(recordOr(choice))),
    usage: readUsage(answer.usage, USAGE_TOKENS_MAX).usage,
  }
}

const textOr = (value: unknown, otherwise = ''): string =>
  typeof value === 'string' ? value : otherwise

function readChoice(choice: JsonRecord): AnswerChoice {
  const message = recordOr(choice.message)
  const calls = arrayOr(message.tool_calls).map((call) => readCall(recordOr(call)))
  return {
    parts: [...thoughtsOf(message), ...textsOf(message), ...calls],
    finish: finishOf(textOr(choice.finish_reason, 'stop'), calls.length > 0),
  }
}

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

function readCall(call: JsonRecord): AnswerPart & { kind: 'toolCall' } {
  const called = recordOr(call.function)
  return {
    kind: 'toolCall',
    id: textOr(call.id),
    name: textOr(called.name),
    argumentsJson: textOr(called.arguments),
    signature: sealOf(call),
  }
}

/** Indexes beyond it are no index. */
const INDEX_MAX = 1024

const indexOr = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < INDEX_MAX
    ? value
    : otherwise

/** Chunk by chunk. A call's id and name come once, with the first piece of it. */
export class OpenaiStreamReader implements StreamReader {
  private hasStarted = false
  /** Calls that have begun, by choice and index. */
  private readonly begun = new Set<string>()

  read(chunk: JsonRecord): ChatEvent[] {
    const events: ChatEvent[] = []
    const choices = arrayOr(chunk.choices)
    if (!this.hasStarted && choices.length > 0) {
      this.hasStarted = true
      events.push({ kind: 'start', id: textOr(chunk.id) })
    }
    for (const choice of choices) {
      if (isRecord(choice)) events.push(...this.readChoice(choice))
    }
    return events
  }

  private readChoice(choice: JsonRecord): ChatEvent[] {
    const index = indexOr(choice.index, 0)
    const delta = recordOr(choice.delta)
    const events: ChatEvent[] = []
    const thought = thoughtText(delta) || nestedThought(delta.content)
    if (thought !== '') events.push({ kind: 'thinking', choice: index, text: thought })
    for (const part of textsOf(delta)) {
      if (part.kind === 'text' || part.kind === 'refusal') {
        events.push({ kind: part.kind, choice: index, text: part.text })
      }
    }
    for (const [place, call] of arrayOr(delta.tool_calls).entries()) {
      if (isRecord(call)) events.push(...this.readCall(call, index, indexOr(call.index, place)))
    }
    const word = textOr(choice.finish_reason)
    if (word !== '') {
      const hasCalls = [...this.begun].some((key) => key.startsWith(`${index}/`))
      events.push({ kind: 'finish', choice: index, finish: finishOf(word, hasCalls) })
    }
    return events
  }

  private readCall(sent: JsonRecord, choice: number, call: number): ChatEvent[] {
    const { id, name, argumentsJson, signature } = readCall(sent)
    const key = `${choice}/${call}`
    const text: ChatEvent[] =
      argumentsJson === '' ? [] : [{ kind: 'toolArguments', choice, call, text: argumentsJson }]
    if (this.begun.has(key)) return text
    this.begun.add(key)
    return [{ kind: 'toolCall', choice, call, id, name, signature }, ...text]
  }
}
