import { readFileSync } from 'node:fs'

/** One token per line, by number: `<base64> <number>`. */
const FILE = import.meta.resolve('gpt-tokenizer/data/cl100k_base.tiktoken')

/** Loaded on first use, in 40 ms: few clients send token numbers to vendors other than OpenAI. */
let tokens: string[] | null = null

/**
 * Returns the text of token numbers in cl100k, the vocabulary of OpenAI's embedding models and of
 * models that LangChain mistakes for one; null if a number is not in it. Where a client has cut
 * through a character, its halves are not readable.
 */
export function textOfTokens(ids: readonly unknown[]): string | null {
  tokens ??= readFileSync(new URL(FILE), 'latin1').trimEnd().split('\n')
  const pieces: Buffer[] = []
  for (const id of ids) {
    const line = typeof id === 'number' ? tokens[id] : undefined
    if (line === undefined) return null
    pieces.push(Buffer.from(line.slice(0, line.indexOf(' ')), 'base64'))
  }
  return Buffer.concat(pieces).toString('utf8')
}
