import type { ChatAnswer, ChatEvent } from '../relay/protocols/canonical/chat-answer.ts'
import { answerOf, withEveryFinish } from '../relay/protocols/canonical/gathered-answer.ts'
import { NO_CHANGES, type AnswerChanges } from '../relay/protocols/dialect/answer-changes.ts'
import type { AnswerReader, AnswerReading } from '../relay/protocols/dialect/dialect.ts'
import { FollowedStream } from '../relay/protocols/dialect/followed-stream.ts'
import { eventOf, type SseEvent } from '../relay/transport/wire.ts'

/** Reads upstream responses with the relay's readers. */

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

export const readingOf = (reader: AnswerReader, answer: unknown): AnswerReading =>
  reader.readAnswer(bytesOf(answer))

/** Returns a whole response in the canonical form. */
export function answerIn(
  reader: AnswerReader,
  answer: unknown,
  changes: AnswerChanges = NO_CHANGES,
): ChatAnswer {
  const reading = readingOf(reader, answer)
  if (reading.kind !== 'ok') throw new Error(`it is ${reading.kind}`)
  return answerOf(changes.events(withEveryFinish(reading.events())), reading.usage.usage)
}

/** Returns a stream of events with these values or texts as data. */
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

/** Returns a stream of these events; `seen` omits those that the reader holds back until the end. */
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
