import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, test } from 'vitest'
import type { EncodingName } from './encoding.ts'
import { approximateTokens } from './estimate.ts'
import { COUNTED_CHARS_MAX, loadTokenizer, withLimit } from './tokenizer.ts'

const tokenizers = {
  o200k_base: await loadTokenizer('o200k_base'),
  cl100k_base: await loadTokenizer('cl100k_base'),
}
const tokenizer = tokenizers.o200k_base
const PROSE = 'The quick brown fox, and 42 others — jumped over the lazy dog’s back.\n'

/** Counts of OpenAI's tiktoken. */
test.each<[EncodingName, string, number]>([
  ['o200k_base', '', 0],
  ['o200k_base', 'The answer is forty-two.', 6],
  ['cl100k_base', 'The answer is forty-two.', 6],
  ['o200k_base', '我们今天去公园玩得很开心，天气也很好。', 14],
  ['cl100k_base', '我们今天去公园玩得很开心，天气也很好。', 23],
  ['o200k_base', PROSE.repeat(900), 16_200],
])('%s counts %j', (encoding, text, tokens) => {
  expect(tokenizers[encoding].count(text)).toBe(tokens)
})

test('special tokens and broken characters are text', () => {
  expect(tokenizer.count('<|endoftext|>')).toBe(7)
  expect(tokenizer.count('\ud800 alone \udc00')).toBe(3)
  expect(tokenizer.count('\ufeff')).toBe(2)
})

test('a long run is cut, which adds a token or two for each 256 characters', () => {
  for (const text of [
    'a'.repeat(2_000),
    ' '.repeat(2_000),
    '我'.repeat(2_000),
    '='.repeat(2_000),
  ]) {
    const exact = countTokens(text)
    expect(tokenizer.count(text)).toBeGreaterThanOrEqual(exact)
    expect(tokenizer.count(text)).toBeLessThanOrEqual(exact + 16)
  }
})

describe('one request', () => {
  test('is counted up to a limit and estimated beyond it', () => {
    const text = PROSE.repeat(Math.ceil(COUNTED_CHARS_MAX / PROSE.length))
    const limited = withLimit(tokenizer)
    const counted = limited.count(text)
    expect(Math.abs(counted - tokenizer.count(text))).toBeLessThan(30)
    expect(limited.count(PROSE)).toBe(approximateTokens(Buffer.byteLength(PROSE)))
  })

  // The library alone takes hours for the first, and seconds for each of the others.
  test.each([
    ['one letter', 'a'.repeat(1 << 20)],
    ['blanks', ' '.repeat(1 << 20)],
    ['symbols', '=-+'.repeat(1 << 19)],
    ['Chinese without a break', '我们今天去公园'.repeat(1 << 17)],
    ['emoji', '😀'.repeat(1 << 19)],
  ])('takes at most a few seconds of processor time: %s', (_, text) => {
    const started = process.cpuUsage()
    const tokens = withLimit(tokenizer).count(text)
    const { user } = process.cpuUsage(started)
    expect(tokens).toBeGreaterThan(10_000)
    expect(user / 1e6).toBeLessThan(5)
  })
})
