import {
  changedEvents,
  eventOf,
  serverSentEvents,
  type Wire,
  type SseEvent,
} from '../../transport/wire.ts'
import { arrayOr, isRecord, parseJson, type JsonRecord } from '../../json/json-value.ts'

/**
 * MiniMax ends a stream with a whole response: the complete text again, as `message`, and the
 * usage. Clients of OpenAI's dialect expect a `delta` in every choice and fail without one, so the
 * message is replaced by an empty delta. Source: MiniMax's API reference, "ChatCompletion v2".
 */
export const minimaxWire: Wire = changedEvents(serverSentEvents, withDelta)

const MESSAGE = '"message"'

function withDelta(event: SseEvent): SseEvent {
  if (event.data === null || !event.data.includes(MESSAGE)) return event
  const value = parseJson(event.data.toString('utf8'))
  if (!isRecord(value) || !Array.isArray(value.choices)) return event
  const repaired = { ...value, choices: arrayOr(value.choices).map(choiceWithDelta) }
  return eventOf(Buffer.from(JSON.stringify(repaired)), event.name, event.isTerminated)
}

function choiceWithDelta(choice: unknown): unknown {
  if (!isRecord(choice) || isRecord(choice.delta) || !isRecord(choice.message)) return choice
  const { message: _message, ...rest }: JsonRecord = choice
  return { ...rest, delta: {} }
}
