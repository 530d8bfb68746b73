import type { ChatEvent } from '../canonical/chat-answer.ts'

/** Changes the events of one answer for a client of another dialect. Keeps state. */
export interface AnswerChanges {
  events(events: readonly ChatEvent[]): readonly ChatEvent[]
  /** Returns whether the rest of the answer is dropped. */
  isOver(): boolean
}

export const NO_CHANGES: AnswerChanges = { events: (events) => events, isOver: () => false }

/** Applies several changes in order. */
export const chained = (changes: readonly AnswerChanges[]): AnswerChanges => ({
  events: (events) => changes.reduce((changed, change) => change.events(changed), events),
  isOver: () => changes.some((change) => change.isOver()),
})

/** Changes that never end the answer early. */
export const changesOf = (
  events: (events: readonly ChatEvent[]) => readonly ChatEvent[],
): AnswerChanges => ({ events, isOver: () => false })
