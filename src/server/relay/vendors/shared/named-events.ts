import { type EventReader, type Wire, SseReader, type SseEvent } from '../../transport/wire.ts'
import { recordOr, textOr } from '../../json/json-value.ts'

/**
 * Server-sent events that are identified by their name. The dialect receives the name and the data
 * as one JSON object.
 */
export const namedEvents: Wire = {
  accept: 'text/event-stream',
  isStream: (contentType) => /^text\/event-stream/i.test(contentType),
  reader: () => new NamedEventReader(),
}

export interface NamedEvent {
  name: string
  /** Unparsed data: JSON or plain text. */
  data: string
}

/** Parses an event that the reader has built. */
export function namedEvent(value: unknown): NamedEvent {
  const { name, data } = recordOr(value)
  return { name: textOr(name), data: textOr(data) }
}

class NamedEventReader implements EventReader {
  private readonly events = new SseReader()

  push(chunk: Buffer): SseEvent[] {
    return this.events.push(chunk).map(withName)
  }

  end(): SseEvent | null {
    const event = this.events.end()
    return event === null ? null : withName(event)
  }

  get fault(): string | null {
    return this.events.fault
  }
}

function withName(event: SseEvent): SseEvent {
  if (event.data === null) return event
  const { name, data } = event
  return { ...event, data: Buffer.from(JSON.stringify({ name, data: data.toString('utf8') })) }
}
