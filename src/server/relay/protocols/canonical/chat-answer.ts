import { textOr } from '../../json/json-value.ts'
import type { Signature } from './chat-request.ts'
import type { TokenUsage } from './token-usage.ts'
import type { Citation, RunSearch } from './web-search.ts'

/** A whole chat answer, independent of any provider; see chat-request.ts. */
export interface ChatAnswer {
  id: string
  choices: readonly AnswerChoice[]
  usage: TokenUsage | null
}

export interface AnswerChoice {
  parts: readonly AnswerPart[]
  finish: Finish
}

export type AnswerPart =
  | { kind: 'text'; text: string }
  /** A refusal that the model reports apart from its answer. */
  | { kind: 'refusal'; text: string }
  | { kind: 'thinking'; text: string; signature: Signature | null; redacted: string | null }
  | {
      kind: 'toolCall'
      id: string
      name: string
      argumentsJson: string
      signature: Signature | null
    }
  /** An image that the model generated; base64. */
  | { kind: 'image'; mimeType: string; data: string }
  /** A web search that the vendor ran. */
  | { kind: 'search'; search: RunSearch }
  /** Source of the text before it. */
  | { kind: 'citation'; citation: Citation }

/** Why the model stopped. */
export interface Finish {
  reason: FinishReason
  /** Stop text that ended the answer; null if not reported. */
  stopSequence: string | null
}

export type FinishReason =
  | 'stop'
  | 'length'
  | 'toolCalls'
  /** The provider's content filter withheld the answer. */
  | 'filtered'

/** Maps a provider's finish reason; an unknown one counts as a normal end. */
export const finishNamed = (
  finishes: Readonly<Record<string, FinishReason>>,
  word: unknown,
): Finish => ({ reason: finishes[textOr(word)] ?? 'stop', stopSequence: null })

/**
 * A streamed answer, event by event. Texts of one kind in one choice continue each other; tool
 * calls are numbered within their choice, and their events have that number.
 */
export type ChatEvent =
  | { kind: 'start'; id: string }
  | { kind: 'text' | 'refusal' | 'thinking'; choice: number; text: string }
  /**
   * Input that the model wrote for a hosted tool: counted, and visible only to clients of the
   * upstream's own dialect.
   */
  | { kind: 'hostedTool'; choice: number; text: string }
  /** Signs the thinking before it; `redacted` is thinking that is not shown. */
  | { kind: 'signature'; choice: number; signature: Signature }
  | { kind: 'redacted'; choice: number; redacted: string }
  | {
      kind: 'toolCall'
      choice: number
      call: number
      id: string
      name: string
      signature: Signature | null
    }
  | { kind: 'toolArguments'; choice: number; call: number; text: string }
  | { kind: 'image'; choice: number; mimeType: string; data: string }
  | { kind: 'search'; choice: number; search: RunSearch }
  | { kind: 'citation'; choice: number; citation: Citation }
  | { kind: 'finish'; choice: number; finish: Finish }
  /** Keep-alive of the provider. */
  | { kind: 'ping' }

/** Returns the event of a text delta; none if it is empty or not a text. */
export function textEvent(
  kind: 'text' | 'refusal' | 'thinking' | 'hostedTool',
  value: unknown,
  choice = 0,
): ChatEvent[] {
  const text = textOr(value)
  return text === '' ? [] : [{ kind, choice, text }]
}

/** Returns a whole answer as stream events. */
export function eventsOfAnswer(answer: ChatAnswer): ChatEvent[] {
  const events: ChatEvent[] = [{ kind: 'start', id: answer.id }]
  for (const [choice, { parts, finish }] of answer.choices.entries()) {
    let call = 0
    for (const part of parts) {
      events.push(...eventsOfPart(part, choice, call))
      if (part.kind === 'toolCall') call += 1
    }
    events.push({ kind: 'finish', choice, finish })
  }
  return events
}

function eventsOfPart(part: AnswerPart, choice: number, call: number): ChatEvent[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return [{ kind: part.kind, choice, text: part.text }]
    case 'thinking': {
      const { text, signature, redacted } = part
      return [
        ...(text === '' ? [] : [{ kind: 'thinking' as const, choice, text }]),
        ...(signature === null ? [] : [{ kind: 'signature' as const, choice, signature }]),
        ...(redacted === null ? [] : [{ kind: 'redacted' as const, choice, redacted }]),
      ]
    }
    case 'toolCall': {
      const { id, name, argumentsJson, signature } = part
      return [
        { kind: 'toolCall', choice, call, id, name, signature },
        { kind: 'toolArguments', choice, call, text: argumentsJson },
      ]
    }
    case 'search':
    case 'citation':
      return [{ ...part, choice }]
    case 'image':
      return [{ kind: 'image', choice, mimeType: part.mimeType, data: part.data }]
    default:
      return part satisfies never
  }
}

/**
 * Text that counts as completion. Texts of one lane continue each other; lanes run side by side.
 */
export interface AnswerText {
  lane: number
  text: string
  /** The text begins a call of this tool. */
  tool?: string
}

const LANES_PER_CHOICE = 3
const Lane = { text: 0, thinking: 1, calls: 2 } as const

/** Texts of events, for counting without an upstream's usage and for capturing. */
export function textsOf(events: readonly ChatEvent[]): AnswerText[] {
  const texts: AnswerText[] = []
  for (const event of events) {
    switch (event.kind) {
      case 'text':
      case 'refusal':
        texts.push({ lane: event.choice * LANES_PER_CHOICE + Lane.text, text: event.text })
        break
      case 'thinking':
        texts.push({ lane: event.choice * LANES_PER_CHOICE + Lane.thinking, text: event.text })
        break
      case 'toolCall': {
        const { choice, name } = event
        texts.push({ lane: choice * LANES_PER_CHOICE + Lane.calls, text: name, tool: name })
        break
      }
      case 'toolArguments':
      case 'hostedTool':
        texts.push({ lane: event.choice * LANES_PER_CHOICE + Lane.calls, text: event.text })
        break
      default:
    }
  }
  return texts
}
