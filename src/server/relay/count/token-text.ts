import { readTokens, type TokenBytes } from './vocabulary.ts'

/** Read when it is first asked for, in 40 ms: few clients send numbers to others than OpenAI. */
let tokens: TokenBytes | null = null

/**
 * The text that token numbers stand for in cl100k, the vocabulary of OpenAI's embedding models and
 * of whatever LangChain takes for one; null: there is no such number in it. Where a client has cut
 * through a character, its halves are not readable.
 */
export function textOfTokens(ids: readonly unknown[]): string | null {
  const { bytes, starts } = (tokens ??= readTokens('cl100k_base'))
  const pieces: Uint8Array[] = []
  for (const id of ids) {
    const [start, end] = typeof id === 'number' ? [starts[id], starts[id + 1]] : []
    if (start === undefined || end === undefined) return null
    pieces.push(bytes.subarray(start, end))
  }
  return Buffer.concat(pieces).toString('utf8')
}
