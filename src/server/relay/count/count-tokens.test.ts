import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { CompletionCounter } from './count-completion.ts'
import { createTokenCounter, INLINE_BYTES_MAX } from './count-tokens.ts'
import { approximateTokens } from './estimate.ts'
import { Tokenizer } from './tokenizer.ts'
import { buildVocabulary } from './vocabulary.ts'

const tokenizer = new Tokenizer(buildVocabulary('o200k_base'))
const prose = 'The quick brown fox, and then 42 others, jumped over the lazy dog. '
const chatBytes = (content: unknown) =>
  Buffer.from(JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content }] }))

describe('createTokenCounter', () => {
  const counter = createTokenCounter()
  afterAll(() => counter.close())

  test('answers with a promise until the vocabulary is there, then with a number', async () => {
    const first = counter.countText('gpt-4o-mini', 'The answer is forty-two.')
    expect(first).toBeInstanceOf(Promise)
    expect(await first).toBe(6)
    expect(counter.countText('gpt-4o-mini', 'The answer is forty-two.')).toBe(6)
    const bytes = chatBytes('What is the answer?')
    expect(counter.countRequest({ surface: 'chat', model: 'gpt-4o-mini', bytes })).toBe(12)
  })

  test('loads each encoding on its own, and ahead of time when asked', async () => {
    await counter.load('gpt-4')
    expect(counter.countText('gpt-4', 'The answer is forty-two.')).toBe(6)
  })

  test('gives large inputs to the thread, with the same result', async () => {
    const text = prose.repeat(Math.ceil(INLINE_BYTES_MAX / prose.length) + 1)
    const counted = counter.countText('gpt-4o', text)
    expect(counted).toBeInstanceOf(Promise)
    expect(await counted).toBe(tokenizer.count(text))
    const bytes = chatBytes(text)
    const request = counter.countRequest({ surface: 'chat', model: 'gpt-4o', bytes })
    expect(request).toBeInstanceOf(Promise)
    expect(await request).toBe(tokenizer.count(text) + 7)
    // The body goes upstream afterwards.
    expect(bytes.equals(chatBytes(text))).toBe(true)
  })

  test('answers each of many at once with its own figure', async () => {
    const texts = Array.from({ length: 20 }, (_, i) => `${i} `.repeat(INLINE_BYTES_MAX / 2 + i))
    const counts = await Promise.all(texts.map((text) => counter.countText('gpt-4o', text)))
    expect(counts).toEqual(texts.map((text) => tokenizer.count(text)))
  })

  test('counts a completion', async () => {
    const completion = counter.countCompletion('gpt-4o-mini')
    for (const text of ['The answer ', 'is forty-', 'two.']) completion.add({ lane: 0, text })
    expect(await completion.total()).toBe(6)
  })
})

describe('when the thread cannot count', () => {
  test('the answer is an estimate, and the reason is told', async () => {
    const faults: Error[] = []
    const counter = createTokenCounter((error) => faults.push(error))
    await counter.close()
    expect(await counter.countText('gpt-4o', prose)).toBe(approximateTokens(prose.length))
    const bytes = chatBytes(prose.repeat(2_000))
    const tokens = await counter.countRequest({ surface: 'chat', model: 'gpt-4o', bytes })
    expect(tokens).toBeGreaterThan(tokenizer.count(prose.repeat(2_000)))
    const completion = counter.countCompletion('gpt-4o')
    completion.add({ lane: 0, text: prose })
    expect(await completion.total()).toBe(approximateTokens(prose.length))
    await counter.load('gpt-4o')
    expect(faults.map((error) => error.message)).toEqual(
      Array.from({ length: 3 }, () => 'counting is closed'),
    )
  })

  test('closing answers those who wait', async () => {
    const counter = createTokenCounter()
    const text = prose.repeat(20_000)
    const counted = counter.countText('gpt-4o', text)
    await counter.close()
    expect(await counted).toBe(approximateTokens(text.length))
  })

  test('too much at once is estimated instead of kept', async () => {
    const faults: Error[] = []
    const counter = createTokenCounter((error) => faults.push(error))
    const bytes = chatBytes([{ type: 'file', file: { file_data: 'A'.repeat(30 << 20) } }])
    const request = { surface: 'chat', model: 'gpt-4o', bytes } as const
    const counts = await Promise.all([1, 2, 3].map(() => counter.countRequest(request)))
    await counter.close()
    expect(faults.map((error) => error.message)).toEqual(['too much is waiting to be counted'])
    expect(counts.slice(0, 2)).toEqual([262, 262])
    expect(counts[2]).toBeGreaterThan(1_000_000)
  })
})

describe('CompletionCounter', () => {
  const ready = () => new CompletionCounter(() => tokenizer)
  const addAll = (counter: CompletionCounter, text: string, sizes: readonly number[]) => {
    for (let at = 0, i = 0; at < text.length; i++) {
      const size = sizes[i % sizes.length] ?? 1
      counter.add({ lane: 0, text: text.slice(at, at + size) })
      at += size
    }
  }

  test('counts prose exactly, however it arrives', async () => {
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

  test('tells at once about how many there are so far, never less than were counted', () => {
    const counter = ready()
    expect(counter.soFar()).toBe(0)
    counter.add({ lane: 0, text: prose })
    expect(counter.soFar()).toBe(approximateTokens(prose.length))
    addAll(counter, prose.repeat(200), [5])
    const exact = tokenizer.count(prose.repeat(201))
    expect(counter.soFar()).toBeGreaterThan(exact * 0.98)
    expect(counter.soFar()).toBeLessThan(exact * 1.1)
  })

  test('total can be asked twice, and more be added between', async () => {
    const counter = ready()
    counter.add({ lane: 0, text: 'Hello' })
    const first = await counter.total()
    expect(await counter.total()).toBe(first)
    counter.add({ lane: 0, text: ' there' })
    expect(await counter.total()).toBe(first + 1)
  })

  test('does not ask for a vocabulary that a short answer may not need', () => {
    let loads = 0
    const counter = new CompletionCounter(() => {
      loads++
      return tokenizer
    })
    counter.add({ lane: 0, text: prose })
    counter.soFar()
    expect(loads).toBe(0)
  })

  test('waits for the vocabulary, asks once, and estimates what cannot wait', async () => {
    const { promise, resolve } = Promise.withResolvers<Tokenizer>()
    let loads = 0
    const counter = new CompletionCounter(() => {
      loads++
      return promise
    })
    const text = prose.repeat(400)
    addAll(counter, text, [50])
    const huge = 'x'.repeat(100_000)
    counter.add({ lane: 3, text: huge })
    const total = counter.total()
    resolve(tokenizer)
    expect(await total).toBe(tokenizer.count(text) + approximateTokens(huge.length))
    expect(loads).toBe(1)
  })
})
