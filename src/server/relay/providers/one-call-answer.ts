import {
  textEvent,
  type AnswerPart,
  type ChatEvent,
  type Finish,
} from '../canonical/chat-answer.ts'
import type { DeltaText, StreamReader } from '../dialect/dialect.ts'
import type { JsonRecord } from '../json/json-value.ts'
import { Lane, laneText, toolText } from '../dialect/lane.ts'

/** Answers of models that call one function at a time, without an id, whole or a piece of one. */
export interface Said {
  id: string
  text: string
  thought: string
  /** Comes whole, also in a stream. */
  call: { name: string; argumentsJson: string } | null
}

export function partsOfSaid({ text, thought, call }: Said): AnswerPart[] {
  const parts: AnswerPart[] = []
  if (thought !== '') {
    parts.push({ kind: 'thinking', text: thought, signature: null, redacted: null })
  }
  if (text !== '') parts.push({ kind: 'text', text })
  if (call !== null) parts.push({ kind: 'toolCall', id: '', ...call, signature: null })
  return parts
}

export function textsOfSaid({ text, thought, call }: Said): DeltaText[] {
  return [
    ...laneText(Lane.thinking, thought),
    ...laneText(Lane.text, text),
    ...(call === null ? [] : toolText(Lane.call, call.name, call.argumentsJson)),
  ]
}

/** What a provider's events say: their pieces, and, of the last one, how the answer ended. */
export interface OneCallEvents {
  saidIn(event: JsonRecord): Said
  /** Null: it goes on. */
  finishOf(event: JsonRecord, hasCall: boolean): Finish | null
}

export class OneCallStreamReader implements StreamReader {
  private readonly events: OneCallEvents
  private hasStarted = false
  private hasCall = false

  constructor(events: OneCallEvents) {
    this.events = events
  }

  read(event: JsonRecord): ChatEvent[] {
    const { id, text, thought, call } = this.events.saidIn(event)
    const pieces: ChatEvent[] = this.hasStarted ? [] : [{ kind: 'start', id }]
    this.hasStarted = true
    pieces.push(...textEvent('thinking', thought), ...textEvent('text', text))
    if (call !== null && !this.hasCall) {
      this.hasCall = true
      const { name, argumentsJson } = call
      pieces.push(
        { kind: 'toolCall', choice: 0, call: 0, id: '', name, signature: null },
        { kind: 'toolArguments', choice: 0, call: 0, text: argumentsJson },
      )
    }
    const finish = this.events.finishOf(event, this.hasCall)
    if (finish !== null) pieces.push({ kind: 'finish', choice: 0, finish })
    return pieces
  }
}
