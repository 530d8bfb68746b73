import type { ChatEvent } from '../canonical/chat-answer.ts'
import { parseJson, recordOr } from '../json/json-value.ts'
import type { AnswerChanges } from './answer-changes.ts'
import type { PassedOn } from './metering.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { SseEvent } from '../transport/sse.ts'
import type { RelayError } from './relay-error.ts'
import type { ClientDialect, ReadEvent, StreamHead, StreamPiece } from './dialect.ts'

/** An answer that came in one piece. */
export interface WholeAnswer {
  /** One JSON object. */
  body: Buffer
  events(): readonly ChatEvent[]
}

/**
 * Writes an upstream's stream for a client: the events unchanged if both use one dialect, else
 * events in the client's dialect. The last event waits for `end`, which is called when the call is
 * settled.
 */
export interface StreamOutput {
  contentType: string
  /** The client's bytes of one event; null: none now. */
  take(event: SseEvent, read: ReadEvent): Buffer | null
  /** The same of an upstream's sign of life. */
  idle(event: SseEvent): Buffer | null
  /** A sign of life of our own; null: the client would take it for something else. */
  ping(): Buffer | null
  /** An answer that came in one piece. */
  whole(answer: WholeAnswer): Buffer
  /** The client has the whole answer before the upstream's stream ends; absent: it has not. */
  readonly isOver?: boolean
  /** The cost as a comment, for clients that asked for it. */
  cost(charged: number): Buffer
  /** The last events; `rest`: the events that the stream's reader held back. */
  end(used: TokenUsage, rest?: readonly ChatEvent[]): Buffer
  error(error: RelayError, requestId: string): Buffer
}

/**
 * Events are UTF-8 by their definition. Clients that know HTTP only, such as Python's `requests`,
 * take a text without a charset for Latin-1 and break Chinese letters.
 */
export const EVENT_STREAM = 'text/event-stream; charset=utf-8'

/** How events are laid out: as server-sent ones, or, by Gemini, as elements of one JSON array. */
export type Framing = 'events' | 'array'

interface Layout {
  contentType: string
  piece(piece: StreamPiece): string
  comment(text: string): string
  end: string
}

function layoutOf(framing: Framing): Layout {
  if (framing === 'events') {
    return {
      contentType: EVENT_STREAM,
      piece: ({ name, data }) =>
        name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`,
      comment: (text) => `: ${text}\n\n`,
      end: '',
    }
  }
  let elements = 0
  return {
    contentType: 'application/json; charset=utf-8',
    piece: ({ data }) => {
      elements += 1
      return (elements === 1 ? '[' : ',\r\n') + data
    },
    // Blanks between elements would be allowed, but words would not.
    comment: () => '',
    get end() {
      return elements === 0 ? '[]' : ']'
    },
  }
}

const bytesOf = (text: string): Buffer | null => (text === '' ? null : Buffer.from(text))

/** Passes events on unchanged. */
export function splicedOutput(
  client: PassedOn,
  { framing, wantsUsage }: { framing: Framing; wantsUsage: boolean },
): StreamOutput {
  const layout = layoutOf(framing)
  const held: Buffer[] = []
  const pass = (event: SseEvent): Buffer =>
    framing === 'events'
      ? event.raw
      : Buffer.from(layout.piece({ data: event.data?.toString('utf8') ?? '' }))
  return {
    contentType: layout.contentType,
    take(event, { kind }) {
      // The usage chunk is for us: the client did not ask for it, and old ones stumble over it.
      if (kind === 'done' || (kind === 'usage' && !wantsUsage)) return null
      const bytes = pass(event)
      const whole = event.isTerminated ? bytes : Buffer.concat([bytes, BLANK_LINE])
      if (kind === 'last') {
        held.push(whole)
        return null
      }
      // It was not the end: another choice continues.
      return held.length === 0 ? whole : Buffer.concat([...held.splice(0), whole])
    },
    idle: (event) => (framing === 'events' ? event.raw : null),
    ping: () => pingOf(client, layout),
    whole({ body }) {
      const answer = recordOr(parseJson(body.toString('utf8')))
      return Buffer.from(client.wholeAsEvents(answer, wantsUsage).map(layout.piece).join(''))
    },
    cost: (charged) => Buffer.from(layout.comment(`cost ${charged}`)),
    end() {
      const last = held.length > 0 || client.end === null ? '' : layout.piece(client.end)
      return Buffer.concat([...held, Buffer.from(last + layout.end)])
    },
    error: (error, requestId) =>
      Buffer.from(layout.piece(client.errorPiece(error, requestId)) + layout.end),
  }
}

/**
 * Anthropic's clients have an event for it, OpenAI's pass comments over; Gemini's official client
 * knows neither.
 */
function pingOf(client: PassedOn, layout: Layout): Buffer | null {
  if (client.name === 'gemini') return null
  const [ping] = client.streamWriter(NO_HEAD).write({ kind: 'ping' })
  return bytesOf(ping === undefined ? layout.comment('ping') : layout.piece(ping))
}

const NO_HEAD: StreamHead = { id: '', model: '', nowSeconds: 0, wantsUsage: false }

const BLANK_LINE = Buffer.from('\n\n')

/** Writes canonical events in the client's dialect. */
export function convertedOutput(
  client: ClientDialect,
  changes: AnswerChanges,
  { framing, head }: { framing: Framing; head: StreamHead },
): StreamOutput {
  const layout = layoutOf(framing)
  const writer = client.streamWriter(head)
  const bytesFor = (pieces: readonly StreamPiece[]): Buffer | null =>
    bytesOf(pieces.map(layout.piece).join(''))
  // Some upstreams put a finish reason into every event, and clients stop reading at the first: it
  // is held until the stream is over.
  const finishes = new Map<number, ChatEvent>()
  const piecesOf = (events: readonly ChatEvent[]): StreamPiece[] =>
    changes.events(events).flatMap((event) => {
      if (event.kind !== 'finish') return writer.write(event)
      finishes.set(event.choice, event)
      return []
    })
  return {
    contentType: layout.contentType,
    take: (_event, { events }) => (events.length === 0 ? null : bytesFor(piecesOf(events))),
    get isOver() {
      return changes.isOver()
    },
    idle: () => pingOf(client, layout),
    ping: () => pingOf(client, layout),
    whole: (answer) => bytesFor(piecesOf(answer.events())) ?? NOTHING,
    cost: (charged) => Buffer.from(layout.comment(`cost ${charged}`)),
    end(used, rest = []) {
      const pieces = piecesOf(rest)
      const ends = [...finishes.values()].flatMap((event) => writer.write(event))
      const last = [...pieces, ...ends, ...writer.end(used)]
      return Buffer.from(last.map(layout.piece).join('') + layout.end)
    },
    error: (error, requestId) =>
      Buffer.from(layout.piece(client.errorPiece(error, requestId)) + layout.end),
  }
}

const NOTHING = Buffer.alloc(0)
