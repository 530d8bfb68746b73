import { scanAnswer } from '../json/body-scan.ts'
import type { CountRequest } from './count-request.ts'
import { CountThread } from './count-thread.ts'
import { approximateTokens, estimatePromptTokens } from './estimate.ts'
import { textsOf, type AnswerText, type ChatEvent } from '../protocols/canonical/chat-answer.ts'

/**
 * Counts prompt and completion tokens of calls whose upstream reports none. A thread counts; if it
 * fails or is overloaded, the result is an estimate: counting never fails a call.
 */
export interface TokenCounter {
  /** Prompt tokens of a whole request. */
  countRequest(request: CountRequest): Promise<number>
  /** Returns a counter for one stream of that model. */
  countCompletion(model: string): CompletionCounter
  /** Ends the thread. Later requests are estimated. */
  close(): Promise<void>
}

/** `onFault` gets the error if a figure had to be estimated. */
export function createTokenCounter(onFault: (error: Error) => void = () => {}): TokenCounter {
  const thread = new CountThread()

  async function orEstimate(counted: Promise<number>, estimate: () => number): Promise<number> {
    try {
      return await counted
    } catch (error) {
      onFault(error instanceof Error ? error : new Error(String(error)))
      return estimate()
    }
  }

  return {
    countRequest(request) {
      // A copy: the body is sent upstream meanwhile, and may share its memory with others.
      const bytes = Uint8Array.from(request.bytes)
      const question = { kind: 'request', request: { ...request, bytes } } as const
      const counted = thread.ask(question, bytes.length, [bytes.buffer])
      return orEstimate(counted, () => estimateOf(request))
    },
    countCompletion: (model) =>
      new CompletionCounter((text) =>
        orEstimate(thread.ask({ kind: 'text', model, text }, text.length), () =>
          approximateTokens(Buffer.byteLength(text)),
        ),
      ),
    close: () => thread.close(),
  }
}

function estimateOf({ model, bytes }: CountRequest): number {
  const body = scanAnswer(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length))
  return body === null ? approximateTokens(bytes.length) : estimatePromptTokens(body, model)
}

/**
 * Counts the completion of a stream while it passes, without ever counting a text twice.
 *
 * Each lane (content, reasoning and calls of each choice) keeps its latest text as bytes and is
 * counted in segments of about 16 KiB, cut where the tokenizer begins a new piece, so that the sum
 * is exact. Where a segment has no such place (digits, base64 without a break) it is cut at the end
 * of a delta, and the sum may be a token or two too high for each segment. A shorter completion is
 * not counted at all until its total is needed, which an upstream that reports its usage makes
 * unnecessary.
 */
const SEGMENT_BYTES = 16_384
/** Deltas larger than this are counted as they are, without a search for a place to cut. */
const CUT_BYTES_MAX = 64 * 1024
const FIRST_BYTES = 256

interface LaneText {
  bytes: Buffer
  length: number
}

export class CompletionCounter {
  private readonly count: (text: string) => Promise<number>
  private readonly lanes = new Map<number, LaneText>()
  private tokens = 0
  /** Bytes that are being counted. */
  private pendingBytes = 0
  private pending: Promise<void> = Promise.resolve()

  /** `count` never rejects. */
  constructor(count: (text: string) => Promise<number>) {
    this.count = count
  }

  addAll(events: readonly ChatEvent[]): void {
    for (const text of textsOf(events)) this.add(text)
  }

  add({ lane, text }: AnswerText): void {
    let held = this.lanes.get(lane)
    if (held === undefined) {
      held = { bytes: Buffer.allocUnsafeSlow(FIRST_BYTES), length: 0 }
      this.lanes.set(lane, held)
    }
    const lengthMax = held.length + text.length * 3
    if (lengthMax > held.bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(lengthMax, held.bytes.length * 2))
      held.bytes.copy(larger, 0, 0, held.length)
      held.bytes = larger
    }
    held.length += held.bytes.write(text, held.length)
    if (held.length < SEGMENT_BYTES) return
    const segment = held.bytes.toString('utf8', 0, held.length)
    const cut = held.length > CUT_BYTES_MAX ? segment.length : cutPlace(segment)
    this.countText(segment.slice(0, cut))
    held.length = held.bytes.write(segment.slice(cut))
  }

  /**
   * Estimate of the tokens so far, without waiting: counted segments plus an estimate of the rest.
   * For checkpoints.
   */
  soFar(): number {
    let tokens = this.tokens + approximateTokens(this.pendingBytes)
    for (const { length } of this.lanes.values()) tokens += approximateTokens(length)
    return tokens
  }

  /** Tokens of all added texts. */
  async total(): Promise<number> {
    for (const held of this.lanes.values()) {
      if (held.length > 0) this.countText(held.bytes.toString('utf8', 0, held.length))
      held.length = 0
    }
    await this.pending
    return this.tokens
  }

  private countText(text: string): void {
    const byteCount = Buffer.byteLength(text)
    this.pendingBytes += byteCount
    const counted = this.count(text)
    this.pending = this.pending.then(async () => {
      this.tokens += await counted
      this.pendingBytes -= byteCount
    })
  }
}

/**
 * Returns where a text can be cut so that its parts count exactly as the whole: between two
 * letters, before a single character that is neither letter, mark, digit, apostrophe nor line end.
 * Both vocabularies begin a piece there, since such a character opens the word after it. A text
 * without such a place is cut at its end, which may add a token or two.
 */
export function cutPlace(text: string): number {
  const place = CUT_PLACE.exec(text)
  if (place !== null) return place[0].length
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length
}
/** The regex is greedy, so it finds the last such place. */
const CUT_PLACE = /^.*\p{L}(?=[^\p{L}\p{M}\p{N}'\r\n]\p{L})/su
