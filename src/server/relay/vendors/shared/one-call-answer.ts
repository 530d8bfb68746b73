import {
  textEvent,
  type ChatEvent,
  type Finish,
  type FinishReason,
} from '../../protocols/canonical/chat-answer.ts'

/** One event of a model that calls one function at a time, without an id. */
export interface OneCallPiece {
  text: string
  thought: string
  /** Always complete, even in a stream. */
  call: { name: string; argumentsJson: string } | null
  /** Reason why the response ended; null if it continues. */
  finish: FinishReason | null
}

/** Converts the pieces of one response to canonical events. */
export class OneCallEvents {
  private hasCall = false

  of({ text, thought, call, finish }: OneCallPiece): ChatEvent[] {
    const events = [...textEvent('thinking', thought), ...textEvent('text', text)]
    if (call !== null && !this.hasCall) {
      this.hasCall = true
      const { name, argumentsJson } = call
      events.push(
        { kind: 'toolCall', choice: 0, call: 0, id: '', name, signature: null },
        { kind: 'toolArguments', choice: 0, call: 0, text: argumentsJson },
      )
    }
    if (finish !== null) events.push({ kind: 'finish', choice: 0, finish: this.agreed(finish) })
    return events
  }

  private agreed(reason: FinishReason): Finish {
    return { reason: reason === 'stop' && this.hasCall ? 'toolCalls' : reason, stopSequence: null }
  }
}
