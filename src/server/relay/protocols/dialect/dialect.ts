import type { Capabilities } from '../../../model/capabilities.ts'
import type { ChatAnswer, ChatEvent } from '../canonical/chat-answer.ts'
import type { ChatRequest, DialectName } from '../canonical/chat-request.ts'
import type { UsedExtras } from '../../../ledger/price/price-lines.ts'
import type { Embedding } from '../canonical/embedding.ts'
import type { TokenUsage, UsageReading } from '../canonical/token-usage.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import type { RequestNotes } from '../canonical/request-notes.ts'
import type { Task } from './provider.ts'
import type { RelayError } from './relay-error.ts'
import type { Steering } from './steering.ts'
import type { UpstreamTraits } from './traits.ts'

/**
 * A dialect is the chat format of a family of programs: the requests and responses of its clients
 * and its upstreams. Each dialect has a folder, and everything in it is pure.
 *
 * An upstream's response is read once, into canonical events (`AnswerReader`). Its usage, the text
 * that is counted and captured, and the outcome of a stream follow from these events. If client and
 * upstream use one dialect, the call is spliced: the client gets the upstream's bytes. Otherwise
 * the request goes through `readRequest` of the client's and `writeRequest` of the upstream's
 * dialect, and the client's bytes are written from the events.
 */
export interface Dialect extends ClientDialect, UpstreamDialect {
  name: DialectName
}

/** The upstream's side of a dialect: writes requests and reads answers. */
export interface UpstreamDialect extends AnswerReader {
  /** Name of a client's dialect, or a name that no client's dialect has. */
  name: string
  /**
   * Writes a request for an upstream. Steering parameters that the upstream lacks are left out with
   * a note in the request's notes. Throws for other unsupported members, with the member's name.
   */
  writeRequest(request: ChatRequest, to: Target): JsonRecord
  /** Steering parameters that the dialect lacks, for the vendors' pages; absent: all are supported. */
  lacks?: readonly Steering[]
  /** Estimates usage that is not priced by the token; absent: the request's text is counted. */
  estimate?(request: ChatRequest): TokenUsage
  /** False if a request has no member that limits the length of the answer. */
  limitsOutput?: false
  /** Maps a tool's name to one that the upstream accepts; absent: names stay as they are. */
  toolName?: (name: string) => string
  /** Embedding API; absent if the dialect has no embeddings or uses a client's dialect for them. */
  embedding?: Embedding
}

/** Reads the responses of upstreams that use a dialect. */
export interface AnswerReader {
  /**
   * Reads a whole answer with a good status. `task`: the task of the request, in a dialect whose
   * answers differ by task; absent if a stream was joined.
   */
  readAnswer(bytes: Buffer, task?: Task): AnswerReading
  /** Makes a reader for one streamed answer. */
  readStream(): StreamReader
  /** Returns the HTTP status that fits an error in an answer with status 200; undefined if unknown. */
  statusOf?(error: JsonRecord): number | undefined
}

/** The client's side of a dialect: reads requests and writes answers. */
export interface ClientDialect {
  name: DialectName

  /**
   * Reads a client's request; steering parameters that have no place in the canonical form are left
   * out into `notes`. Throws an error that names the invalid or unsupported member.
   */
  readRequest(body: JsonRecord, notes?: RequestNotes): ChatRequest
  writeAnswer(answer: ChatAnswer, as: AnswerHead): JsonRecord
  /** Turns canonical events into a client's bytes. */
  streamWriter(as: StreamHead): StreamWriter
  /** Splits a whole answer into events, for a client of the same dialect that requested a stream. */
  wholeAsEvents(answer: JsonRecord, wantsUsage: boolean): StreamPiece[]
  /**
   * Joins a stream into one answer with every member that the upstream sent, for a client of the
   * same dialect that requested no stream.
   */
  gatherer(): StreamGatherer

  /** The event that ends every complete stream; null if the last event of the answer does. */
  end: StreamPiece | null
  errorBody(error: RelayError, requestId: string): string
  /** An error in the middle of a stream. */
  errorPiece(error: RelayError, requestId: string): StreamPiece
}

/** The upstream of a request, and its properties that affect the conversion. */
export interface Target {
  /** Model name at the upstream. */
  model: string
  isStream: boolean
  /** The upstream reports a stream's usage only on request. */
  asksForUsage: boolean
  /** Threshold of Gemini's safety filters; absent: Google's default. */
  safety?: string | undefined
  /** Type of the channel; absent if not set. */
  type?: number | undefined
  /** Traits of the channel's vendor; absent if not set. */
  traits?: UpstreamTraits
  /** Capabilities of the model; absent: those of the bundled data. */
  capabilities?: Capabilities | undefined
}

/** Members of an answer that do not come from the upstream. */
export interface AnswerHead {
  id: string
  /** Model name in the client's request. */
  model: string
  nowSeconds: number
}

export interface StreamHead extends AnswerHead {
  /** The client requested the usage, in dialects where that is optional. */
  wantsUsage: boolean
  /**
   * Estimate for Anthropic's first event, which is sent before the upstream reports usage; 0 if
   * absent.
   */
  promptTokens?: number
}

/**
 * A whole answer with a good status. `malformed`: not a JSON object (an HTML page, a cut body), or
 * without an answer in it; `error`: an error in spite of its status.
 */
export type AnswerReading =
  | {
      kind: 'ok'
      usage: UsageReading
      /** The answer as one JSON object, if the upstream sent another format. */
      body?: Buffer
      /** Usage that is not counted in tokens, for an answer that reports no tokens. */
      extras?: UsedExtras | undefined
      /** See `EventReport`. */
      failure?: unknown
      /** Returns the answer as the events of a stream. They are made when this is called. */
      events(): readonly ChatEvent[]
    }
  | { kind: 'error'; error: unknown }
  | { kind: 'malformed' }

/** Reads one streamed answer. */
export interface StreamReader {
  /** Reads the next event. */
  read(value: JsonRecord): EventReport
  /** Returns what was held back until the stream is over; absent: nothing is held back. */
  end?(): ChatEvent[]
  /**
   * Returns whether the answer is complete; absent: it is when a `finish` event was followed by the
   * last event (`isDone`) or by the orderly end of the input.
   */
  isComplete?(at: StreamState): boolean
}

export interface StreamState {
  isDone: boolean
  hasUsage: boolean
  ending: StreamEnding
}

/** Report of a `StreamReader` on one event. */
export interface EventReport {
  events?: readonly ChatEvent[]
  /** See `ReadEvent`; absent: `delta`. */
  kind?: 'usage' | 'idle' | 'last' | 'malformed'
  /** The answer's id, with the event that begins it; '' if the upstream gives none. */
  id?: string
  /** Error that the upstream reported, unchanged; absent if there is no error. */
  error?: unknown
  /**
   * The response ended without a result, with a reason that only its own dialect can express:
   * clients of other dialects get this error.
   */
  failure?: unknown
  /** Usage up to and including this event; absent if unchanged. */
  usage?: UsageReading
  /** Usage so far that is not counted in tokens, for a stream that never reports usage. */
  extras?: UsedExtras
  /** No event follows this one. */
  isEnd?: boolean
}

/** One event of an upstream's stream. */
export interface ReadEvent {
  /**
   * - `delta`: a part of the answer
   * - `usage`: the usage and nothing else, which a client of OpenAI's dialect must ask for
   * - `idle`: a keep-alive; commits to nothing
   * - `last`: the answer's end, to be held back until the call is settled
   * - `done`: `[DONE]` or a similar marker; the dialect's own end takes its place
   * - `malformed`: an event that no client could read
   */
  kind: 'delta' | 'usage' | 'idle' | 'last' | 'done' | 'error' | 'malformed'
  events: readonly ChatEvent[]
  /** Error that the upstream reported, unchanged; undefined if there is no error. */
  error: unknown
  /** The parsed event; null when it is no JSON object. */
  value: JsonRecord | null
}

/**
 * How a stream went. The relay lets the dialect's end follow only a stream that is `clean` or
 * `usage-missing`: a client that sees it takes what it has for the whole answer.
 */
export type StreamOutcome =
  /** Complete, and its usage is known. */
  | 'clean'
  /** Complete, but its usage must be counted here. */
  | 'usage-missing'
  /** It ended before the answer was complete. */
  | 'truncated'
  /** The upstream reported an error inside the stream. */
  | 'error-chunk'
  /** An invalid event, or a line beyond the size limit. */
  | 'malformed'
  /** The relay gave up after a timeout. */
  | 'stalled'

/**
 * Why reading stopped: orderly end, broken connection, timeout, or a line beyond the size limit.
 */
export type StreamEnding = 'end' | 'reset' | 'stalled' | 'oversized'

/** Joins the events of a stream into a whole answer. */
export interface StreamGatherer {
  add(event: JsonRecord): void
  whole(): JsonRecord
}

export interface StreamWriter {
  write(event: ChatEvent): StreamPiece[]
  /** The final events after success; `usage` is what is charged. */
  end(usage: TokenUsage): StreamPiece[]
}

/** One event for a client: its JSON (or a word like `[DONE]`), and its name if it has one. */
export interface StreamPiece {
  name?: string
  data: string
}
