import type { Capabilities } from '../../model/capabilities.ts'
import type { ChatAnswer, ChatEvent } from '../canonical/chat-answer.ts'
import type { ChatRequest, DialectName, UpstreamName } from '../canonical/chat-request.ts'
import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import type { TokenUsage, UsageReading } from '../canonical/token-usage.ts'
import type { JsonRecord } from '../json/json-value.ts'
import type { SseEvent } from '../transport/sse.ts'
import type { RequestNotes } from '../canonical/request-notes.ts'
import type { RelayError } from './relay-error.ts'
import type { Steering } from './steering.ts'
import type { UpstreamTraits } from './traits.ts'

/**
 * A dialect is how a family of programs spells chat: what clients write and expect, and what
 * upstreams take and answer. Each has a folder; everything in it is pure.
 *
 * A call whose client and upstream speak one dialect is spliced: bytes pass as they are, and only
 * `look`, `follow` and the error members are used. Where they differ, the request goes through
 * `readRequest` of the client's and `writeRequest` of the upstream's dialect, and the answer the
 * other way. A new dialect is a folder with these members and a row in `conversion/dialects.ts`.
 */
export interface Dialect extends ClientDialect, UpstreamDialect {
  name: DialectName
}

/** What is to be known of a dialect that upstreams speak. */
export interface UpstreamDialect {
  name: UpstreamName

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

  /** What the relay itself must know of a whole answer with a good status. */
  look(bytes: Buffer, tokensMax: number): AnswerReading
  /** The completion texts of a whole answer, for counting what an upstream left uncounted. */
  textsOf(answer: JsonRecord): DeltaText[]
  /** Tool calls have an empty id where the upstream gives none. */
  readAnswer(answer: JsonRecord): ChatAnswer

  /** Follows an upstream's stream: what each event is, what was used, whether it is whole. */
  follow(tokensMax: number): StreamFollower
  /** Turns an upstream's events into canonical ones; ids as those of `readAnswer`. */
  streamReader(): StreamReader
  /** Makes one answer of a stream that nobody asked for; absent: none is known to come. */
  gatherer?: () => StreamGatherer
  /** The status that an error in a good answer would have had by itself, as far as it tells. */
  statusOf?(error: JsonRecord): number | undefined
  /** Used instead of `look` and `follow` for answers that will be converted; absent: those are. */
  converted?: Pick<UpstreamDialect, 'look' | 'follow'>
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
 * What the relay needs to know of a whole answer with status 200. `malformed`: not a JSON object
 * (an HTML page, a cut body); `error`: an error in spite of its status.
 */
export type AnswerReading =
  /**
   * `body`: the answer as one object, where it came otherwise. `extras`: what is known to have been
   * used beside tokens, for an answer that does not say how many these were.
   */
  | { kind: 'ok'; usage: UsageReading; body?: Buffer; extras?: UsedExtras }
  | { kind: 'error'; error: unknown }
  | { kind: 'malformed' }

/**
 * Text that counts as completion. Texts of one lane continue each other; lanes run side by
 * side.
 */
export interface DeltaText {
  lane: number
  text: string
  /** A call of the tool of this name begins with the text. */
  tool?: string
}

/** What the relay needs to know of one event of an upstream's stream. */
export interface StreamChunk {
  /**
   * - `delta`: a part of the answer
   * - `usage`: the usage and nothing else, which a client of OpenAI's dialect must ask for
   * - `idle`: a sign of life; commits to nothing
   * - `last`: the answer's end, to be held back until the call is settled
   * - `done`: `[DONE]` or its like; the dialect's own end takes its place
   * - `malformed`: what no client could read
   */
  kind: 'delta' | 'usage' | 'idle' | 'last' | 'done' | 'error' | 'malformed'
  texts: DeltaText[]
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

export interface StreamFollower {
  /** What an event is; changes nothing. */
  read(event: SseEvent): StreamChunk
  /**
   * Takes it into account. One whose event was left open by the end of the input (`isTerminated`
   * false) is only believed if it is whole: half a chunk means a cut stream, not a malformed one.
   */
  see(chunk: StreamChunk, isTerminated?: boolean): void
  /** The end was seen: whatever follows is not the answer. */
  readonly isDone: boolean
  /** What follows is no part of the answer: it has ended, or it has broken. */
  readonly isOver: boolean
  /** The last usage worth the name, for settling whatever the outcome is. */
  readonly usage: UsageReading
  /** What was used beside tokens until now, for settling a stream whose usage never came. */
  readonly extras?: UsedExtras
  outcome(ending: StreamEnding): StreamOutcome
}

/** Puts the events of a stream together into the whole answer that it could have been. */
export interface StreamGatherer {
  add(event: JsonRecord): void
  whole(): JsonRecord
}

export interface StreamReader {
  read(value: JsonRecord): ChatEvent[]
  /** What was held back until the stream is over; absent: nothing ever is. */
  end?(): ChatEvent[]
  /** The answer has been cut here: what the upstream adds is not wanted; absent: never. */
  readonly isOver?: boolean
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
