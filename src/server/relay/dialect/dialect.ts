import type { Capabilities } from '../../model/capabilities.ts'
import type { ChatAnswer, ChatEvent } from '../canonical/chat-answer.ts'
import type { ChatRequest, DialectName } from '../canonical/chat-request.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { Embedding } from './embedding.ts'
import type { TokenUsage, UsageReading } from '../canonical/token-usage.ts'
import type { JsonRecord } from '../json/json-value.ts'
import type { RequestNotes } from '../canonical/request-notes.ts'
import type { RelayError } from './relay-error.ts'
import type { Steering } from './steering.ts'
import type { UpstreamTraits } from './traits.ts'

/**
 * A dialect is how a family of programs spells chat: what clients write and expect, and what
 * upstreams take and answer. Each has a folder; everything in it is pure.
 *
 * The answer of an upstream is read once, into canonical events (`AnswerReader`). Its usage, the
 * text that is counted and captured, and the outcome of a stream follow from these events. A call
 * whose client and upstream speak one dialect is spliced: the client gets the upstream's bytes.
 * Where they differ, the request goes through `readRequest` of the client's and `writeRequest` of
 * the upstream's dialect, and the client's bytes are written from the events.
 */
export interface Dialect extends ClientDialect, UpstreamDialect {
  name: DialectName
}

/** What is to be known of a dialect that upstreams speak. */
export interface UpstreamDialect extends AnswerReader {
  /** That of a client's dialect, or one of its own. */
  name: string
  /**
   * Writes a request for an upstream. Steering parameters without a word there are left out into
   * the request's notes. Throws the refusal that names what else has no word.
   */
  writeRequest(request: ChatRequest, to: Target): JsonRecord
  /** Steering parameters that the dialect does not have, for `docs/providers/`; absent: none. */
  lacks?: readonly Steering[]
  /** What a request takes that is not sold by the token; absent: its text is counted. */
  estimate?(request: ChatRequest): TokenUsage
  /** False if a request has no member that limits the length of the answer. */
  limitsOutput?: false
  /** What a tool is called there; absent: as the client calls it. */
  toolName?: (name: string) => string
  /** How it embeds; absent: it does not, or as a client's dialect does. */
  embedding?: Embedding
}

/** Reads the answers of upstreams that speak a dialect. */
export interface AnswerReader {
  /** Reads a whole answer with a good status. */
  readAnswer(bytes: Buffer): AnswerReading
  /** Makes a reader for one streamed answer. */
  readStream(): StreamReader
  /** The status that an error in a good answer would have had by itself, as far as it tells. */
  statusOf?(error: JsonRecord): number | undefined
}

/** What is to be known of a dialect that clients speak. */
export interface ClientDialect {
  name: DialectName

  /**
   * Reads a client's request; steering parameters that have no place in the canonical form are left
   * out into `notes`. Throws the refusal that names what is wrong or not understood.
   */
  readRequest(body: JsonRecord, notes?: RequestNotes): ChatRequest
  writeAnswer(answer: ChatAnswer, as: AnswerHead): JsonRecord
  /** Turns canonical events into a client's bytes. */
  streamWriter(as: StreamHead): StreamWriter
  /** A whole answer, given to a client of the same dialect that wanted a stream: its events. */
  wholeAsEvents(answer: JsonRecord, wantsUsage: boolean): StreamPiece[]
  /**
   * Puts a stream together for a client of the same dialect that wanted a whole answer, with every
   * member that the upstream sent.
   */
  gatherer(): StreamGatherer

  /**
   * What tells a client that it has the whole answer; null: nothing but the answer's own last
   * words.
   */
  end: StreamPiece | null
  errorBody(error: RelayError, requestId: string): string
  /** An error in the middle of a stream. */
  errorPiece(error: RelayError, requestId: string): StreamPiece
}

/** Where a request goes. */
export interface Target {
  /** As the upstream calls it. */
  model: string
  isStream: boolean
  /** The upstream says what a stream used only when it is asked. */
  asksForUsage: boolean
  /** From what on Gemini holds an answer back; absent: as Google has it. */
  safety?: string | undefined
  /** Of the channel; absent: nobody's in particular. */
  type?: number | undefined
  /** Of the channel's vendor; absent: none. */
  traits?: UpstreamTraits
  /** What the model can do; absent: what is known without the operator's entries. */
  capabilities?: Capabilities | undefined
}

/** What an answer says of itself. */
export interface AnswerHead {
  id: string
  /** As the client called it. */
  model: string
  nowSeconds: number
}

export interface StreamHead extends AnswerHead {
  /** The client wants to be told what was used, where that is its choice. */
  wantsUsage: boolean
  /** An estimate for clients of Anthropic, who are told before the upstream has counted; absent: 0. */
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
      /** The answer as one JSON object, where it came otherwise. */
      body?: Buffer
      /** What was used beside tokens, for an answer that does not say how many these were. */
      extras?: UsedExtras | undefined
      /** See `EventReport`. */
      failure?: unknown
      /** The answer as the events of a stream. Called only when somebody needs them. */
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

/** What a `StreamReader` reports of one event. */
export interface EventReport {
  events?: readonly ChatEvent[]
  /** See `ReadEvent`; absent: `delta`. */
  kind?: 'usage' | 'idle' | 'last' | 'malformed'
  /** The answer's id, with the event that begins it; '' if the upstream gives none. */
  id?: string
  /** What the upstream says went wrong, as sent; absent: nothing. */
  error?: unknown
  /**
   * The answer ended without a result in a way that only its own dialect has a word for: clients of
   * other dialects get this error.
   */
  failure?: unknown
  /** What was used up to and including this event; absent: as after the event before. */
  usage?: UsageReading
  /** The same of what is used beside tokens, for a stream whose usage never comes. */
  extras?: UsedExtras
  /** Nothing follows. */
  isEnd?: boolean
}

/** One event of an upstream's stream. */
export interface ReadEvent {
  /**
   * - `delta`: a part of the answer
   * - `usage`: the usage and nothing else, which a client of OpenAI's dialect must ask for
   * - `idle`: a sign of life; commits to nothing
   * - `last`: the answer's end, to be held back until the call is settled
   * - `done`: `[DONE]` or its like; the dialect's own end takes its place
   * - `malformed`: what no client could read
   */
  kind: 'delta' | 'usage' | 'idle' | 'last' | 'done' | 'error' | 'malformed'
  events: readonly ChatEvent[]
  /** What the upstream says went wrong, as sent; undefined when nothing. */
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
  /** Complete, but what it used must be counted here. */
  | 'usage-missing'
  /** It stopped before it was finished. */
  | 'truncated'
  /** The upstream reported an error inside the stream. */
  | 'error-chunk'
  /** Something that is no chunk, or a line beyond all bounds. */
  | 'malformed'
  /** It went silent, and the relay gave up. */
  | 'stalled'

/** Why reading stopped: orderly end, broken connection, silence, or the SSE reader's fault. */
export type StreamEnding = 'end' | 'reset' | 'stalled' | 'oversized'

/** Puts the events of a stream together into the whole answer that it could have been. */
export interface StreamGatherer {
  add(event: JsonRecord): void
  whole(): JsonRecord
}

export interface StreamWriter {
  write(event: ChatEvent): StreamPiece[]
  /** What is left to say when all has gone well; `usage` is what is charged. */
  end(usage: TokenUsage): StreamPiece[]
}

/** One event for a client: its JSON (or a word like `[DONE]`), and its name where events have one. */
export interface StreamPiece {
  name?: string
  data: string
}
