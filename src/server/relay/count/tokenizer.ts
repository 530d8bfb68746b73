import {
  CL100K_TOKEN_SPLIT_REGEX,
  O200K_TOKEN_SPLIT_REGEX,
} from 'gpt-tokenizer/encodingParams/constants'
import { rankOf } from './vocabulary.ts'
import type { Vocabulary } from './vocabulary.ts'

/**
 * Counts tokens by byte pair encoding: a pattern splits the text into pieces (roughly words), and
 * within a piece the pair of neighbours with the lowest rank is joined, again and again, until no
 * pair is a token. Special tokens are text like any other, as they are when an upstream reads them
 * from a message.
 *
 * Time is linear in the text and n log n in the longest piece, whatever the text is.
 */
export class Tokenizer {
  private readonly vocabulary: Vocabulary
  private readonly pattern: RegExp
  /**
   * The piece at hand in UTF-8, and per byte the list of parts it is made of. They grow with the
   * pieces.
   */
  private bytes = new Uint8Array(0)
  private next = new Int32Array(0)
  private previous = new Int32Array(0)
  /** Rank of the pair that begins here; NO_RANK where none does. */
  private ranks = new Int32Array(0)
  private heap = new RankHeap(0)

  constructor(vocabulary: Vocabulary) {
    this.vocabulary = vocabulary
    const { source } =
      vocabulary.encoding === 'o200k_base' ? O200K_TOKEN_SPLIT_REGEX : CL100K_TOKEN_SPLIT_REGEX
    // Its own object: a shared one would share `lastIndex`.
    // oxlint-disable-next-line gatehouse/linear-pattern -- published; long texts are cut before it
    this.pattern = new RegExp(source, 'gu')
    this.growTo(256)
  }

  count(text: string): number {
    if (text.length <= SLICE_CHARS) return this.countSlice(text)
    let tokens = 0
    let rest = text
    while (rest.length > SLICE_CHARS) {
      const cut = cutPlace(rest.slice(0, SLICE_CHARS))
      tokens += this.countSlice(rest.slice(0, cut))
      rest = rest.slice(cut)
    }
    return tokens + this.countSlice(rest)
  }

  private countSlice(text: string): number {
    const { pattern } = this
    let tokens = 0
    let start = 0
    pattern.lastIndex = 0
    // `test` moves `lastIndex` and, unlike `exec`, builds nothing. The pieces lie end to end.
    while (pattern.test(text)) {
      tokens += this.countPiece(text, start, pattern.lastIndex)
      start = pattern.lastIndex
    }
    return tokens
  }

  private countPiece(text: string, start: number, end: number): number {
    if ((end - start) * UTF8_BYTES_PER_UNIT_MAX > this.bytes.length) {
      this.growTo((end - start) * UTF8_BYTES_PER_UNIT_MAX)
    }
    const length = this.encode(text, start, end)
    return length === 1 || rankOf(this.vocabulary, this.bytes, 0, length) >= 0
      ? 1
      : this.merge(length)
  }

  private encode(text: string, start: number, end: number): number {
    const { bytes } = this
    let length = 0
    for (let i = start; i < end; i++) {
      let code = text.charCodeAt(i)
      if (code < 0x80) {
        bytes[length++] = code
        continue
      }
      if (code >= 0xd800 && code <= 0xdfff) {
        // The pattern counts in code points and never parts a pair, so what stands alone is broken.
        code = text.codePointAt(i) ?? 0
        if (code > 0xffff) i++
        else code = 0xfffd
      }
      length = putCode(bytes, length, code)
    }
    return length
  }

  /** How many tokens the first `length` bytes become. */
  private merge(length: number): number {
    const { next, previous, ranks, heap } = this
    heap.clear()
    for (let at = 0; at < length; at++) {
      next[at] = at + 1
      previous[at] = at - 1
    }
    for (let at = 0; at < length; at++) this.rankPair(at, length)
    let parts = length
    for (let key = heap.pop(); key >= 0; key = heap.pop()) {
      const rank = Math.floor(key / HEAP_POSITIONS)
      const at = key - rank * HEAP_POSITIONS
      // An entry is void once its pair was joined, or grew.
      if (ranks[at] !== rank) continue
      const second = next[at] ?? length
      const after = next[second] ?? length
      ranks[second] = NO_RANK
      next[at] = after
      if (after < length) previous[after] = at
      parts--
      this.rankPair(at, length)
      const before = previous[at] ?? -1
      if (before >= 0) this.rankPair(before, length)
    }
    return parts
  }

  private rankPair(at: number, length: number): void {
    const second = this.next[at] ?? length
    const rank =
      second >= length
        ? NO_RANK
        : rankOf(this.vocabulary, this.bytes, at, this.next[second] ?? length)
    this.ranks[at] = rank
    if (rank !== NO_RANK) this.heap.push(rank * HEAP_POSITIONS + at)
  }

  private growTo(byteCount: number): void {
    const size = 2 ** Math.ceil(Math.log2(byteCount))
    this.bytes = new Uint8Array(size)
    this.next = new Int32Array(size)
    this.previous = new Int32Array(size)
    this.ranks = new Int32Array(size)
    // Each joined pair leaves at most two new entries beside the first ones.
    this.heap = new RankHeap(size * 3)
  }
}

/**
 * Texts are counted in slices of this many UTF-16 units: the pattern matcher keeps a stack as deep
 * as a piece is long, and the heap keys below need a bound.
 */
const SLICE_CHARS = 16_384
const UTF8_BYTES_PER_UNIT_MAX = 3
/**
 * Above any offset in a slice: a heap key is rank × this + offset, lowest rank and leftmost pair
 * first.
 */
const HEAP_POSITIONS = 65_536
const NO_RANK = -1

/**
 * Where a text can be cut so that its parts count exactly as the whole does: between two letters,
 * before the one character between them that is neither letter, mark, digit, apostrophe nor line
 * end. Both patterns begin a piece there, since such a character opens the word behind it. A text
 * without such a place is cut at its end, which may add a token or two.
 */
export function cutPlace(text: string): number {
  const place = CUT_PLACE.exec(text)
  if (place !== null) return place[0].length
  const last = text.charCodeAt(text.length - 1)
  return last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length
}
/** Greedy, hence the last such place. */
const CUT_PLACE = /^.*\p{L}(?=[^\p{L}\p{M}\p{N}'\r\n]\p{L})/su

function putCode(bytes: Uint8Array, length: number, code: number): number {
  let at = length
  if (code < 0x800) {
    bytes[at++] = 0xc0 | (code >> 6)
  } else {
    if (code < 0x10000) {
      bytes[at++] = 0xe0 | (code >> 12)
    } else {
      bytes[at++] = 0xf0 | (code >> 18)
      bytes[at++] = 0x80 | ((code >> 12) & 0x3f)
    }
    bytes[at++] = 0x80 | ((code >> 6) & 0x3f)
  }
  bytes[at++] = 0x80 | (code & 0x3f)
  return at
}

/** A binary heap of numbers, smallest first. */
class RankHeap {
  private readonly keys: Float64Array
  private size = 0

  constructor(capacity: number) {
    this.keys = new Float64Array(capacity)
  }

  clear(): void {
    this.size = 0
  }

  push(key: number): void {
    const { keys } = this
    let at = this.size++
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = keys[parent] ?? 0
      if (above <= key) break
      keys[at] = above
      at = parent
    }
    keys[at] = key
  }

  /** The smallest key, or -1 when there is none. */
  pop(): number {
    const { keys } = this
    if (this.size === 0) return -1
    const smallest = keys[0] ?? 0
    const size = --this.size
    const moved = keys[size] ?? 0
    let at = 0
    for (let child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && (keys[child + 1] ?? 0) < (keys[child] ?? 0)) child++
      const below = keys[child] ?? 0
      if (below >= moved) break
      keys[at] = below
      at = child
    }
    keys[at] = moved
    return smallest
  }
}
