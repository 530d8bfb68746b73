import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { CompletionCounter, cutPlace, createTokenCounter } from './count-tokens.ts'
import { approximateTokens } from './estimate.ts'
import { loadTokenizer } from './tokenizer.ts'

const tokenizer = await loadTokenizer('o200k_base')
const prose = 'The quick brown fox, and then 42 others, jumped over the lazy dog. '
const chatBytes = (content: unknown) =>
  Buffer.from(JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }] }))

describe('createTokenCounter', () => {
  const counter = createTokenCounter()
  afterAll(() => counter.close())

  test('counts a request by the vocabulary of its model', async () => {
    const bytes = chatBytes('我们今天去公园玩得很开心，天气也很好。')
    const tokens = (model: string) => counter.countRequest({ surface: 'chat', model, bytes })
    expect(await tokens('gpt-4o-mini')).toBe(14 + 7)
    expect(await tokens('gpt-4')).toBe(23 + 7)
  })

  test('leaves the body as it was', async () => {
    const bytes = chatBytes(prose.repeat(1_000))
    const tokens = await counter.countRequest({ surface: 'chat', model: 'gpt-4o', bytes })
    expect(tokens).toBe(tokenizer.count(prose.repeat(1_000)) + 7)
    // The body is sent upstream afterwards.
    expect(bytes.equals(chatBytes(prose.repeat(1_000)))).toBe(true)
  })

  test('returns the right count to each of many concurrent requests', async () => {
    const texts = Array.from({ length: 20 }, (_, i) => prose.repeat(100 + i))
    const counts = await Promise.all(
      texts.map((text) =>
        counter.countRequest({ surface: 'chat', model: 'gpt-4o', bytes: chatBytes(text) }),
      ),
    )
    expect(counts).toEqual(texts.map((text) => tokenizer.count(text) + 7))
  })

  test('counts a completion', async () => {
    const completion = counter.countCompletion('gpt-4o-mini')
    for (const text of ['The answer ', 'is forty-', 'two.']) completion.add({ lane: 0, text })
    expect(await completion.total()).toBe(6)
  })
})

describe('when the thread cannot count', () => {
  test('the result is an estimate, and the error is reported', async () => {
    const faults: Error[] = []
    const counter = createTokenCounter((error) => faults.push(error))
    await counter.close()
    const bytes = chatBytes(prose.repeat(2_000))
    const tokens = await counter.countRequest({ surface: 'chat', model: 'gpt-4o', bytes })
    expect(tokens).toBeGreaterThan(tokenizer.count(prose.repeat(2_000)))
    const completion = counter.countCompletion('gpt-4o')
    completion.add({ lane: 0, text: prose })
    expect(await completion.total()).toBe(approximateTokens(prose.length))
    expect(faults.map((error) => error.message)).toEqual(
      Array.from({ length: 2 }, () => 'counting is closed'),
    )
  })

  test('closing resolves pending requests', async () => {
    const counter = createTokenCounter()
    const bytes = chatBytes(prose)
    const counted = counter.countRequest({ surface: 'chat', model: 'gpt-4o', bytes })
    await counter.close()
    expect(await counted).toBeGreaterThan(tokenizer.count(prose))
  })

  test('requests beyond the limit are estimated', async () => {
    const faults: Error[] = []
    const counter = createTokenCounter((error) => faults.push(error))
    const bytes = chatBytes([{ type: 'file', file: { file_data: 'A'.repeat(14 << 20) } }])
    const request = { surface: 'chat', model: 'gpt-4o', bytes } as const
    const counts = await Promise.all([1, 2, 3].map(() => counter.countRequest(request)))
    await counter.close()
    expect(faults.map((error) => error.message)).toEqual(['too much is waiting to be counted'])
    expect(counts.slice(0, 2)).toEqual([262, 262])
    expect(counts[2]).toBeGreaterThan(1_000_000)
  })
})

describe('CompletionCounter', () => {
  const ready = () => new CompletionCounter(async (text) => tokenizer.count(text))
  const addAll = (counter: CompletionCounter, text: string, sizes: readonly number[]) => {
    for (let at = 0, i = 0; at < text.length; i++) {
      const size = sizes[i % sizes.length] ?? 1
      counter.add({ lane: 0, text: text.slice(at, at + size) })
      at += size
    }
  }

  test('counts prose exactly for any deltas', async () => {
    const words = fc.array(fc.lorem({ maxCount: 40 }), { minLength: 1, maxLength: 60 })
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(words, sizes, async (parts, deltas) => {
        const text = parts.join('. ')
        const counter = ready()
        addAll(counter, text, deltas)
        expect(await counter.total()).toBe(tokenizer.count(text))
      }),
    )
  })

  test.each([
    ['Chinese', '我们今天去公园玩得很开心，天气也很好。'.repeat(500)],
    ['code', 'if (a.b) {\n  c = d[1] ?? "e"\n}\n'.repeat(500)],
  ])('counts %s exactly', async (_, text) => {
    const counter = ready()
    addAll(counter, text, [3, 1, 7])
    expect(await counter.total()).toBe(tokenizer.count(text))
  })

  test('is at most two tokens off for each 2 KiB without a break', async () => {
    for (const text of ['0123456789'.repeat(2_000), 'x'.repeat(20_000), '😀'.repeat(3_000)]) {
      const counter = ready()
      addAll(counter, text, [6])
      const off = (await counter.total()) - tokenizer.count(text)
      expect(Math.abs(off)).toBeLessThanOrEqual((2 * Buffer.byteLength(text)) / 2_048)
    }
  })

  test('keeps lanes apart', async () => {
    const counter = ready()
    const [left, right] = ['Die Antwort lautet zweiundvierzig', 'The answer is forty-two, they say']
    for (let i = 0; i < left.length; i++) {
      counter.add({ lane: 0, text: left[i] ?? '' })
      counter.add({ lane: 3, text: right[i] ?? '' })
    }
    expect(await counter.total()).toBe(tokenizer.count(left) + tokenizer.count(right))
  })

  test('estimates the tokens so far immediately, never below those counted', async () => {
    const counter = ready()
    expect(counter.soFar()).toBe(0)
    counter.add({ lane: 0, text: prose })
    expect(counter.soFar()).toBe(approximateTokens(prose.length))
    addAll(counter, prose.repeat(2_000), [5])
    await setImmediate()
    const exact = tokenizer.count(prose.repeat(2_001))
    expect(counter.soFar()).toBeGreaterThan(exact * 0.98)
    expect(counter.soFar()).toBeLessThan(exact * 1.1)
  })

  test('returns the total twice, with more text added between', async () => {
    const counter = ready()
    counter.add({ lane: 0, text: 'Hello' })
    const first = await counter.total()
    expect(await counter.total()).toBe(first)
    counter.add({ lane: 0, text: ' there' })
    expect(await counter.total()).toBe(first + 1)
  })

  test('does not count a short completion before its total is needed', async () => {
    const counted: string[] = []
    const counter = new CompletionCounter(async (text) => counted.push(text))
    counter.add({ lane: 0, text: prose })
    counter.soFar()
    expect(counted).toEqual([])
    expect(await counter.total()).toBe(1)
    expect(counted).toEqual([prose])
  })

  test('counts a huge delta as a whole', async () => {
    const counted: number[] = []
    const counter = new CompletionCounter(async (text) => counted.push(text.length))
    counter.add({ lane: 0, text: prose.repeat(2_000) })
    await counter.total()
    expect(counted).toEqual([prose.length * 2_000])
  })
})

test('finds two places where a cut does not change the count', () => {
  expect(cutPlace('one two three')).toBe('one two'.length)
  expect(cutPlace('你好，世界')).toBe('你好'.length)
  expect(cutPlace('foo.bar')).toBe('foo'.length)
  for (const text of ["it's", 'a1b', 'a  b', 'a\nb', '12 34', 'ab']) {
    expect(cutPlace(text)).toBe(text.length)
  }
  expect(cutPlace('12\ud83d')).toBe(2)
  const words = fc.array(fc.oneof(fc.lorem(), fc.string({ unit: 'grapheme' })), { minLength: 2 })
  fc.assert(
    fc.property(words, (parts) => {
      const text = parts.join(' ')
      const cut = cutPlace(text)
      const sum = tokenizer.count(text.slice(0, cut)) + tokenizer.count(text.slice(cut))
      expect(sum).toBe(tokenizer.count(text))
    }),
    { numRuns: 1_000 },
  )
})
