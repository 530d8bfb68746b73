import type { ChatAnswer, ChatEvent } from '../relay/canonical/chat-answer.ts'
import { answerOf, withEveryFinish } from '../relay/canonical/gathered-answer.ts'
import { NO_CHANGES, type AnswerChanges } from '../relay/dialect/answer-changes.ts'
import type { AnswerReader, AnswerReading } from '../relay/dialect/dialect.ts'
import { FollowedStream } from '../relay/dialect/followed-stream.ts'
import { eventOf, type SseEvent } from '../relay/transport/wire.ts'

/** What upstreams answer, read as the relay does. */

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

export const readingOf = (reader: AnswerReader, answer: unknown): AnswerReading =>
  reader.readAnswer(bytesOf(answer))

/** A whole answer in the canonical form. */
export function answerIn(
  reader: AnswerReader,
  answer: unknown,
  changes: AnswerChanges = NO_CHANGES,
): ChatAnswer {
  const reading = readingOf(reader, answer)
  if (reading.kind !== 'ok') throw new Error(`it is ${reading.kind}`)
  return answerOf(changes.events(withEveryFinish(reading.events())), reading.usage.usage)
}

/** A stream of events that hold these values, or texts. */
export const streamIn = (
  reader: AnswerReader,
  values: readonly unknown[],
  changes: AnswerChanges = NO_CHANGES,
) =>
  eventsIn(
    reader,
    values.map((value) => eventOf(typeof value === 'string' ? Buffer.from(value) : bytesOf(value))),
    changes,
  )

/** A stream of these events; `seen`: without what its reader holds back until the end. */
export function eventsIn(
  reader: AnswerReader,
  events: readonly SseEvent[],
  changes: AnswerChanges = NO_CHANGES,
) {
  const stream = new FollowedStream(reader.readStream(), true)
  const seen: ChatEvent[] = []
  for (const event of events) {
    const { kind, events: said } = stream.read(event)
    if (kind !== 'idle') seen.push(...changes.events(said))
  }
  const rest = changes.events(stream.end())
  return { seen, rest, usage: stream.usage.usage, outcome: stream.outcome('end'), stream }
}
