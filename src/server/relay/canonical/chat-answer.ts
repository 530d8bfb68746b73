import { textOr } from '../json/json-value.ts'
import type { Signature } from './chat-request.ts'
import type { TokenUsage } from './token-usage.ts'
import type { Citation, RunSearch } from './web-search.ts'

/** A whole chat answer as no provider spells it; see chat-request.ts. */
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
  /** The model declines, and says so apart from its answer. */
  | { kind: 'refusal'; text: string }
  | { kind: 'thinking'; text: string; signature: Signature | null; redacted: string | null }
  | {
      kind: 'toolCall'
      id: string
      name: string
      argumentsJson: string
      signature: Signature | null
    }
  /** A picture the model has made; base64. */
  | { kind: 'image'; mimeType: string; data: string }
  /** The vendor has searched the web. */
  | { kind: 'search'; search: RunSearch }
  /** What the text before it is based on. */
  | { kind: 'citation'; citation: Citation }

/** Why the model stopped. */
export interface Finish {
  reason: FinishReason
  /** The text that ended the answer, where the provider says which. */
  stopSequence: string | null
}

export type FinishReason =
  | 'stop'
  | 'length'
  | 'toolCalls'
  /** The provider held the answer back. */
  | 'filtered'

/** Why an answer ended, by the provider's word for it; a word that is not known is an end. */
export const finishNamed = (
  finishes: Readonly<Record<string, FinishReason>>,
  word: unknown,
): Finish => ({ reason: finishes[textOr(word)] ?? 'stop', stopSequence: null })

/**
 * A streamed answer, piece by piece. Texts of one kind in one choice continue each other; tool
 * calls are numbered within their choice, and what belongs to them names the number.
 */
export type ChatEvent =
  | { kind: 'start'; id: string }
  | { kind: 'text' | 'refusal' | 'thinking'; choice: number; text: string }
  /**
   * What the model wrote to a hosted tool: counted, and seen only by clients of the upstream's own
   * dialect.
   */
  | { kind: 'hostedTool'; choice: number; text: string }
  /** Seals the thinking before it; `redacted` stands for thinking that is not shown. */
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
  /** The provider is still at work. */
  | { kind: 'ping' }

/** A piece of text as an upstream's stream has it; none, when it is empty or no text. */
export function textEvent(
  kind: 'text' | 'refusal' | 'thinking' | 'hostedTool',
  value: unknown,
  choice = 0,
): ChatEvent[] {
  const text = textOr(value)
  return text === '' ? [] : [{ kind, choice, text }]
}

/** A whole answer as the events it could have come in. */
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
