import fc from 'fast-check'
import { countTokens as countCl100k } from 'gpt-tokenizer/encoding/cl100k_base'
import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, test } from 'vitest'
import { cutPlace, Tokenizer } from './tokenizer.ts'
import { buildVocabulary, encodingOf, openVocabulary } from './vocabulary.ts'
import type { EncodingName } from './vocabulary.ts'

const vocabularies = {
  o200k_base: buildVocabulary('o200k_base'),
  cl100k_base: buildVocabulary('cl100k_base'),
}
const tokenizers = {
  o200k_base: new Tokenizer(vocabularies.o200k_base),
  cl100k_base: new Tokenizer(vocabularies.cl100k_base),
}
/** Special tokens inside a text are text, as with us. */
const asText = { disallowedSpecial: new Set<string>() }
const oracles = {
  o200k_base: (text: string) => countO200k(text, asText),
  cl100k_base: (text: string) => countCl100k(text, asText),
}
const encodings: EncodingName[] = ['o200k_base', 'cl100k_base']

describe.each(encodings)('%s counts as gpt-tokenizer does', (encoding) => {
  const tokenizer = tokenizers[encoding]
  const oracle = oracles[encoding]

  test.each([
    [''],
    ['a'],
    ['What is the answer?'],
    ["it's WE'LL they've I'd 's 'S"],
    ['  two  spaces \t tabs\n\n\nlines\r\n\r\n  '],
    ['1234567890 3.14159 0x1F'],
    ['我们今天去公园玩得很开心，天气也很好。「你好」'],
    ['ひらがなカタカナ漢字 한국어 العربية हिन्दी'],
    ['😀👩‍👩‍👧‍👦🏳️‍🌈 e\u0301 \u200b'],
    ['const x = await foo(bar?.baz ?? `${qux}`) // => {...}'],
    ['<|endoftext|> <|im_start|>user<|im_end|>'],
    ['\ud800 alone \udc00 and \udc00\ud800 turned'],
    [' '.repeat(300) + 'x' + '='.repeat(300) + '\n'.repeat(50)],
    ['a'.repeat(1000) + 'B'.repeat(200) + 'é'.repeat(200)],
    ['\0\u0001\u007f\u0085\u00a0\u2028\ufffd'],
    ['http://example.com/a/b//c\n//\r\n/* x */'],
  ])('%j', (text) => {
    expect(tokenizer.count(text)).toBe(oracle(text))
  })

  test('for any text', () => {
    const part = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.string({ unit: 'grapheme', maxLength: 30 }),
      fc.lorem({ maxCount: 10 }),
      fc.constantFrom(' ', '\n', "'s", '你好', '123', 'ABC', '\ud83d', '\ude00', '...'),
    )
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        // The package drops the token of the byte order mark while it decodes its table.
        const text = parts.join('').replaceAll('\ufeff', '')
        expect(tokenizer.count(text)).toBe(oracle(text))
      }),
      { numRuns: 1_500 },
    )
  })

  test('for long texts, which are cut into slices', () => {
    const prose = 'The quick brown fox, and 42 others — jumped over the lazy dog’s back.\n'
    const chinese = '我们今天去公园玩得很开心，天气也很好。'
    for (const text of [prose.repeat(1_000), chinese.repeat(2_000)]) {
      expect(tokenizer.count(text)).toBe(oracle(text))
    }
  })

  test('for a table opened as another thread would', () => {
    const opened = openVocabulary(encoding, vocabularies[encoding].shared)
    expect(new Tokenizer(opened).count('What is the answer?')).toBe(5)
  })
})

/**
 * One word of a megabyte: a merge that looked through the whole word for each join would take
 * hours.
 */
test('a word of any length is counted', () => {
  const { o200k_base: tokenizer } = tokenizers
  expect(tokenizer.count('a'.repeat(1 << 20))).toBe((1 << 20) / 8)
  expect(tokenizer.count(' '.repeat(1 << 20))).toBeLessThan(20_000)
  expect(tokenizer.count('😀'.repeat(100_001))).toBe(100_001)
})

test('two places can be cut without changing the count, and found', () => {
  expect(cutPlace('one two three')).toBe('one two'.length)
  expect(cutPlace('你好，世界')).toBe('你好'.length)
  expect(cutPlace('foo.bar')).toBe('foo'.length)
  for (const text of ["it's", 'a1b', 'a  b', 'a\nb', '12 34', 'ab']) {
    expect(cutPlace(text)).toBe(text.length)
  }
  expect(cutPlace('12\ud83d')).toBe(2)
  const words = fc.array(fc.oneof(fc.lorem(), fc.string({ unit: 'grapheme' })), { minLength: 2 })
  fc.assert(
    fc.property(words, fc.constantFrom(...encodings), (parts, encoding) => {
      const text = parts.join(' ')
      const cut = cutPlace(text)
      const tokenizer = tokenizers[encoding]
      const sum = tokenizer.count(text.slice(0, cut)) + tokenizer.count(text.slice(cut))
      expect(sum).toBe(tokenizer.count(text))
    }),
    { numRuns: 2_000 },
  )
})

describe('encodingOf', () => {
  test.each([
    'gpt-4o',
    'gpt-4o-mini',
    'gpt-4.1-nano',
    'gpt-4.5-preview',
    'gpt-5',
    'gpt-5.6-sol',
    'gpt-6-luna',
    'gpt-10',
    'o1',
    'o3-mini',
    'o4-mini',
    'chatgpt-4o-latest',
    'gpt-oss-120b',
    'openai/gpt-4o',
    'ft:gpt-4o-mini:acme::x',
  ])('o200k: %s', (model) => {
    expect(encodingOf(model)).toBe('o200k_base')
  })
  test.each([
    'gpt-4',
    'gpt-4-turbo',
    'gpt-3.5-turbo',
    'text-embedding-3-large',
    'claude-opus-5',
    'deepseek-chat',
    'omni-moderation-latest',
    'olmo',
    '',
  ])('cl100k: %s', (model) => {
    expect(encodingOf(model)).toBe('cl100k_base')
  })
})
