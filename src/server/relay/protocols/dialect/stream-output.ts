import type { ChatEvent } from '../canonical/chat-answer.ts'
import { parseJson, recordOr } from '../../json/json-value.ts'
import type { AnswerChanges } from './answer-changes.ts'
import type { PassedOn } from './surface.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { SseEvent } from '../../transport/wire.ts'
import type { RelayError } from './relay-error.ts'
import type { ClientDialect, ReadEvent, StreamHead, StreamPiece } from './dialect.ts'

/** An answer that came as a whole. */
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
  /** Returns the client's bytes for one event; null if the event is held back. */
  take(event: SseEvent, read: ReadEvent): Buffer | null
  /** The client's bytes for an upstream's keep-alive. */
  idle(event: SseEvent): Buffer | null
  /** Returns the gateway's own keep-alive; null if the client would misread it. */
  ping(): Buffer | null
  /** The client's bytes for an answer that came as a whole. */
  whole(answer: WholeAnswer): Buffer
  /**
   * Whether the client has the whole answer before the upstream's stream ends; absent means false.
   */
  readonly isOver?: boolean
  /** The cost as a comment, for clients that requested it. */
  cost(charged: number): Buffer
  /** The last events; `rest`: the events that the stream's reader held back. */
  end(used: TokenUsage, rest?: readonly ChatEvent[]): Buffer
  error(error: RelayError, requestId: string): Buffer
}

/**
 * Server-sent events are UTF-8 by definition. HTTP clients such as Python's `requests` read a text
 * without a charset as Latin-1 and break Chinese characters.
 */
export const EVENT_STREAM = 'text/event-stream; charset=utf-8'

/** Framing of events: server-sent events or, for Gemini, elements of one JSON array. */
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
    // The array allows whitespace between elements, but no comments.
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
      // The client did not request the usage chunk, and old clients fail on it.
      if (kind === 'done' || (kind === 'usage' && !wantsUsage)) return null
      const bytes = pass(event)
      const whole = event.isTerminated ? bytes : Buffer.concat([bytes, BLANK_LINE])
      if (kind === 'last') {
        held.push(whole)
        return null
      }
      // The held event was not the end: another choice continues.
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
 * Anthropic's dialect has an event for keep-alives, OpenAI's clients ignore comments; Gemini's
 * official client supports neither.
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
  // Some upstreams put a finish reason into every event, and clients stop reading at the first. So
  // it is held until the stream is over.
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
