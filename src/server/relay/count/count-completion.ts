import { textsOf, type AnswerText } from '../canonical/answer-texts.ts'
import type { ChatEvent } from '../canonical/chat-answer.ts'
import { approximateTokens } from './estimate.ts'
import { cutPlace } from './tokenizer.ts'
import type { Tokenizer } from './tokenizer.ts'

/**
 * Counts the completion of a stream while it passes, without ever counting a text twice.
 *
 * Each lane (content, reasoning and calls of each choice) keeps its latest text as bytes and is
 * counted in segments of about 2 KiB, cut where the tokenizer begins a new piece, so that the sum
 * is exact. Where a segment has no such place (digits, base64 without a break) it is cut at the end
 * of a delta, and the sum may be a token or two too high for each 2 KiB. A short answer is not
 * counted at all until somebody asks, which an upstream that reports its usage makes unnecessary.
 */
const SEGMENT_BYTES = 2_048
/**
 * A segment can grow beyond that while its vocabulary loads, or by one huge delta. Up to here it
 * waits, or is counted here; a larger one would hold up all other streams and is counted
 * approximately.
 */
const SEGMENT_BYTES_MAX = 64 * 1024
const FIRST_BYTES = 256

interface LaneText {
  bytes: Buffer
  length: number
}

export class CompletionCounter {
  private readonly load: () => Tokenizer | Promise<Tokenizer>
  private tokenizer: Tokenizer | null = null
  private loading: Promise<Tokenizer | null> | null = null
  private readonly lanes = new Map<number, LaneText>()
  private tokens = 0

  /**
   * `load` gives the tokenizer of the model; it is called when the first segment is full, or at the
   * end.
   */
  constructor(load: () => Tokenizer | Promise<Tokenizer>) {
    this.load = load
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
    if (held.length >= SEGMENT_BYTES) this.countSegment(held)
  }

  /**
   * Tokens so far, at once: counted segments, and an estimate of what follows them. For
   * checkpoints.
   */
  soFar(): number {
    let tokens = this.tokens
    for (const { length } of this.lanes.values()) tokens += approximateTokens(length)
    return tokens
  }

  /** Tokens of all that was added. Approximate only if the tokenizer cannot be loaded. */
  total(): number | Promise<number> {
    const tokenizer = this.ready()
    if (tokenizer !== null) return this.countRest(tokenizer)
    return (this.loading ?? Promise.resolve(null)).then((loaded) => this.countRest(loaded))
  }

  private countSegment(held: LaneText): void {
    if (held.length > SEGMENT_BYTES_MAX) {
      this.tokens += approximateTokens(held.length)
      held.length = 0
      return
    }
    const tokenizer = this.ready()
    if (tokenizer === null) return
    const text = held.bytes.toString('utf8', 0, held.length)
    const cut = cutPlace(text)
    this.tokens += tokenizer.count(text.slice(0, cut))
    held.length = held.bytes.write(text.slice(cut))
  }

  private countRest(tokenizer: Tokenizer | null): number {
    for (const held of this.lanes.values()) {
      this.tokens +=
        tokenizer?.count(held.bytes.toString('utf8', 0, held.length)) ??
        approximateTokens(held.length)
      held.length = 0
    }
    return this.tokens
  }

  /** The tokenizer if it is there; otherwise loading begins, once. */
  private ready(): Tokenizer | null {
    if (this.tokenizer !== null || this.loading !== null) return this.tokenizer
    const loaded = this.load()
    if (!(loaded instanceof Promise)) {
      this.tokenizer = loaded
    } else {
      this.loading = loaded.then(
        (tokenizer) => (this.tokenizer = tokenizer),
        () => null,
      )
    }
    return this.tokenizer
  }
}
