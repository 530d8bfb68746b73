import type { ChatEvent } from '../canonical/chat-answer.ts'

/** What is changed of one answer on its way to a client of another dialect; has a state. */
export interface AnswerChanges {
  events(events: readonly ChatEvent[]): readonly ChatEvent[]
  /** Returns whether nothing more of the answer is wanted. */
  isOver(): boolean
}

export const NO_CHANGES: AnswerChanges = { events: (events) => events, isOver: () => false }

/** Changes one after the other. */
export const chained = (changes: readonly AnswerChanges[]): AnswerChanges => ({
  events: (events) => changes.reduce((changed, change) => change.events(changed), events),
  isOver: () => changes.some((change) => change.isOver()),
})

/** Changes that end nothing. */
export const changesOf = (
  events: (events: readonly ChatEvent[]) => readonly ChatEvent[],
): AnswerChanges => ({ events, isOver: () => false })
