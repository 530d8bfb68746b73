import type { EncodingName } from './encoding.ts'
import { approximateTokens } from './estimate.ts'

/** Counts tokens of texts with one vocabulary. */
export interface Tokenizer {
  count(text: string): number
}

/** Each has tables of about 60 and 40 MiB, in every thread that loads it. */
const ENCODINGS = {
  o200k_base: () => import('gpt-tokenizer/encoding/o200k_base'),
  cl100k_base: () => import('gpt-tokenizer/encoding/cl100k_base'),
}

/** Special tokens count as text, as upstreams treat them in a message. */
const AS_TEXT = { disallowedSpecial: new Set<string>() }

/**
 * The library's time grows with the square of a piece of text, which is a run of letters, blanks or
 * symbols. Longer runs are cut, which adds a token or two for each cut.
 */
const LONG_RUN = /[\p{L}\p{M}]{256}|\s{256}|[^\s\p{L}\p{N}]{256}/gu

export async function loadTokenizer(encoding: EncodingName): Promise<Tokenizer> {
  const { countTokens, setMergeCacheSize } = await ENCODINGS[encoding]()
  // Turns off the library's cache of text pieces.
  setMergeCacheSize(0)
  return {
    count(text) {
      let tokens = 0
      let start = 0
      for (const { 0: run, index } of text.matchAll(LONG_RUN)) {
        const end = index + run.length
        tokens += countTokens(text.slice(start, end), AS_TEXT)
        start = end
      }
      return tokens + countTokens(text.slice(start), AS_TEXT)
    },
  }
}

/**
 * Maximum characters counted per request: 50 ms of prose, and 1.3 s of text that was made to be
 * slow (random letters).
 */
export const COUNTED_CHARS_MAX = 512 * 1024

/** Tokenizer for one request: text beyond `COUNTED_CHARS_MAX` is estimated. */
export function withLimit(tokenizer: Tokenizer): Tokenizer {
  let rest = COUNTED_CHARS_MAX
  return {
    count(text) {
      const counted = text.length <= rest ? text : text.slice(0, rest)
      rest -= counted.length
      const estimated = approximateTokens(Buffer.byteLength(text.slice(counted.length)))
      return tokenizer.count(counted) + estimated
    },
  }
}
