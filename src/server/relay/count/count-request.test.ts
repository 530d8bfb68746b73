import type { CountSurface } from '../protocols/dialect/surface.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { scanBody } from '../json/body-scan.ts'
import { countRequestTokens } from './count-request.ts'
import { approximateTokens, estimatePromptTokens, withoutImageData } from './estimate.ts'
import { encodingOf } from './encoding.ts'
import { loadTokenizer } from './tokenizer.ts'

const tokenizers = {
  o200k_base: await loadTokenizer('o200k_base'),
  cl100k_base: await loadTokenizer('cl100k_base'),
}
const textTokens = (text: string, model = 'gpt-4o') => tokenizers[encodingOf(model)].count(text)
function count(surface: CountSurface, body: unknown, model = 'gpt-4o'): number {
  const bytes = Buffer.from(JSON.stringify(body))
  return countRequestTokens({ surface, model, bytes }, tokenizers[encodingOf(model)])
}
const chat = (messages: unknown, over: object = {}, model = 'gpt-4o') =>
  count('chat', { messages, ...over }, model)

describe('chat', () => {
  test('agrees with One API’s record of its own counts', () => {
    const messages = [{ role: 'user', content: 'What is the answer?' }]
    expect(chat(messages, {}, 'gpt-4o-mini')).toBe(12)
    expect(chat(messages, {}, 'gpt-3.5-turbo')).toBe(12)
    expect(textTokens('The answer is forty-two.', 'gpt-4o-mini')).toBe(6)
  })

  test('adds three tokens a message, one for a name, three at the end', () => {
    const text = textTokens('Hello there')
    const role = textTokens('user')
    expect(chat([])).toBe(3)
    expect(chat([{ role: 'user', content: 'Hello there' }])).toBe(3 + 3 + role + text)
    expect(chat([{ role: 'user', content: 'Hello there', name: 'Bob' }])).toBe(
      3 + 3 + role + text + textTokens('Bob') + 1,
    )
    const message = { role: 'user', content: 'Hello there' }
    expect(chat([message, message])).toBe(3 + 2 * (3 + role + text))
  })

  test('counts the first turbo by its own rule', () => {
    const model = 'gpt-3.5-turbo-0301'
    const message = { role: 'user', content: 'Hi', name: 'Bob' }
    const texts = ['user', 'Hi', 'Bob'].reduce((sum, text) => sum + textTokens(text, model), 0)
    expect(chat([message], {}, model)).toBe(3 + 4 + texts - 1)
  })

  test('counts parts: texts, images by rule, audio by length, files flat', () => {
    const base = chat([{ role: 'user', content: [] }])
    const withPart = (part: unknown) => chat([{ role: 'user', content: [part] }]) - base
    expect(withPart({ type: 'text', text: 'Hello there' })).toBe(textTokens('Hello there'))
    expect(
      withPart({ type: 'image_url', image_url: { url: 'https://x/y.png', detail: 'low' } }),
    ).toBe(85)
    expect(withPart({ type: 'image_url', image_url: 'https://x/y.png' })).toBe(765)
    const data = Buffer.alloc(160_000).toString('base64')
    expect(withPart({ type: 'input_audio', input_audio: { data, format: 'mp3' } })).toBe(101)
    expect(withPart({ type: 'file', file: { file_data: data } })).toBe(255)
    expect(withPart({ type: 'refusal', refusal: 'No' })).toBe(textTokens('No'))
  })

  test('counts tools, tool calls and the output format by their JSON', () => {
    const message = { role: 'assistant', content: null }
    const tools = [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }]
    const calls = [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }]
    const format = { type: 'json_object' }
    const plain = chat([message])
    expect(chat([message], { tools }) - plain).toBe(textTokens(JSON.stringify(tools)))
    expect(chat([message], { response_format: format }) - plain).toBe(
      textTokens(JSON.stringify(format)),
    )
    expect(chat([{ ...message, tool_calls: calls }]) - plain).toBe(
      textTokens(JSON.stringify(calls)),
    )
    expect(chat([{ ...message, reasoning_content: 'Hm' }]) - plain).toBe(textTokens('Hm'))
  })

  /** An upstream may still read a misspelled member. */
  test('counts unknown values by their JSON, so that nothing is free', () => {
    const long = 'a long prompt '.repeat(100)
    const odd: unknown[] = [
      [{ role: 'user', content: { text: long } }],
      [{ role: 'user', content: [{ type: 'other', thing: long }] }],
      [{ role: 'user', content: [long] }],
      [long],
    ]
    for (const messages of odd) expect(chat(messages)).toBeGreaterThan(300)
  })

  // Gemini accepts an object in place of a list of one.
  test('counts a single value in place of a list in the native dialects', () => {
    const text = 'a long prompt '.repeat(100)
    const contents = [{ parts: { text } }, [{ parts: [text] }], text, [text]]
    for (const odd of contents) expect(count('contents', { contents: odd })).toBeGreaterThan(300)
    for (const content of [{ type: 'text', text }, [text]]) {
      expect(count('messages', { messages: [{ role: 'user', content }] })).toBeGreaterThan(300)
    }
  })
})

describe('an embedding request of Gemini', () => {
  const content = { parts: [{ text: 'a' }] }
  test.each([
    ['a text', { content }, 1],
    ['texts', { requests: [{ content }, { content: { parts: [{ text: 'b' }] } }] }, 2],
  ])('counts %s without the delimiters of turns', (_, body, tokens) => {
    expect(count('contents', body)).toBe(tokens)
  })

  test('never replaces the prompt of a chat', () => {
    const contents = [{ parts: [{ text: 'a long prompt '.repeat(100) }] }]
    expect(count('contents', { contents, content, requests: [] })).toBeGreaterThan(300)
  })
})

describe('input', () => {
  test.each([
    ['a text', { prompt: 'The answer is' }, 3],
    ['texts', { input: ['a', 'b'] }, 2],
    ['token numbers', { prompt: [1, 2, 3, 4] }, 4],
    ['lists of token numbers', { input: [[1, 2, 3], [4]] }, 4],
    ['a moderation in parts', { input: [{ type: 'text', text: 'a' }] }, 1],
    ['nothing', {}, 0],
    ['null', { prompt: null }, 0],
  ])('%s', (_, body, tokens) => {
    expect(count('input', body, 'gpt-3.5-turbo')).toBe(tokens)
  })

  test('images of a moderation count by rule', () => {
    const input = [{ type: 'image_url', image_url: { url: 'https://x/y.png' } }]
    expect(count('input', { input }, 'omni-moderation-latest')).toBe(765)
  })
})

describe('responses', () => {
  test('counts text, items, instructions and tools', () => {
    const hello = textTokens('Hello there')
    expect(count('responses', { input: 'Hello there' })).toBe(6 + hello)
    expect(
      count('responses', {
        instructions: 'Hello there',
        input: [
          { role: 'user', content: [{ type: 'input_text', text: 'Hello there' }] },
          {
            role: 'user',
            content: [{ type: 'input_image', image_url: 'https://x/y', detail: 'low' }],
          },
        ],
      }),
    ).toBe(3 + hello + 2 * (3 + textTokens('user')) + hello + 85)
    const call = { type: 'function_call', name: 'f', arguments: '{}' }
    expect(count('responses', { input: [call] })).toBe(3 + textTokens(JSON.stringify(call)))
  })
})

test('no accepted body makes it throw', () => {
  const name = fc.constantFrom(
    'messages',
    'content',
    'role',
    'name',
    'type',
    'text',
    'image_url',
    'url',
    'input_audio',
    'data',
    'tools',
    'tool_calls',
    'input',
    'prompt',
    'instructions',
  )
  const kind = fc.constantFrom('text', 'image_url', 'input_audio', 'file', 'input_image')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      fc.jsonValue({ maxDepth: 0 }),
      kind,
      tie('array'),
      tie('object'),
    ),
    array: fc.array(tie('value'), { maxLength: 3 }),
    object: fc.dictionary(name, tie('value'), { maxKeys: 5 }),
  }))
  fc.assert(
    fc.property(value, fc.constantFrom('chat', 'input', 'responses'), (body, surface) => {
      const tokens = count(surface, body)
      expect(Number.isInteger(tokens) && tokens >= 0).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})

describe('estimatePromptTokens', () => {
  function estimate(body: unknown, model = 'gpt-4o'): number {
    const scanned = scanBody(Buffer.from(JSON.stringify(body)))
    if (!scanned.ok) throw new Error(scanned.code)
    return estimatePromptTokens(scanned, model)
  }
  const samples: [string, string][] = [
    ['English', 'The quick brown fox jumps over the lazy dog, and then it sleeps for 42 hours. '],
    ['Chinese', '我们今天去公园玩得很开心，天气也很好，晚上大家一起吃了火锅。'],
    ['German', 'Die Donaudampfschifffahrtsgesellschaft übernahm die Verantwortung für alles. '],
    [
      'code',
      'function foo(bar) {\n  const x = await this.get(bar.baz, "qux")\n  return x ?? 1\n}\n',
    ],
    ['JSON', '{"id": 17, "name": "Widget", "tags": ["a", "b"], "price": 12.5}\n'],
  ]
  test.each(samples)('covers %s', (_, text) => {
    for (const model of ['gpt-4o', 'gpt-4']) {
      for (const repeats of [1, 30]) {
        const messages = [{ role: 'user', content: text.repeat(repeats) }]
        const exact = chat(messages, {}, model)
        // Chinese with the older vocabulary comes closest to the limit.
        expect(estimate({ model, messages }, model)).toBeGreaterThan(exact * 0.9)
        expect(estimate({ model, messages }, model)).toBeLessThan(exact * 3 + 20)
      }
    }
  })

  test('counts prompts, tools and formats, but no other member', () => {
    const alone = estimate({ prompt: 'x'.repeat(100) })
    expect(alone).toBe(approximateTokens(102))
    expect(
      estimate({ prompt: 'x'.repeat(100), model: 'gpt-4o', metadata: { a: 'y'.repeat(99) } }),
    ).toBe(alone)
    expect(estimate({ messages: [], tools: ['x'.repeat(100)] })).toBeGreaterThan(alone - 2)
    expect(estimate({})).toBe(0)
  })

  test('counts an image by its rule and not by its bytes', () => {
    const data = `data:image/png;base64,${'iVBORw0K/+'.repeat(10_000)}==`
    const part = { type: 'image_url', image_url: { url: data } }
    const tokens = estimate({ messages: [{ role: 'user', content: [part, part] }] })
    expect(tokens).toBeGreaterThan(2 * 765)
    expect(tokens).toBeLessThan(2 * 765 + 100)
    const escaped = Buffer.from(
      `{"messages":[{"content":[{"image_url" : {"url":"${data.replaceAll('/', '\\/')}"}}]}]}`,
    )
    const scanned = scanBody(escaped)
    expect(scanned.ok && estimatePromptTokens(scanned, 'gpt-4o')).toBeLessThan(765 + 60)
  })

  test('counts an image URL, but not a text that mentions one', () => {
    const part = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } }
    expect(estimate({ messages: [{ content: [part] }] })).toBeGreaterThan(765)
    expect(estimate({ messages: [{ content: 'say "image_url": x' }] })).toBeLessThan(60)
  })
})

describe('withoutImageData', () => {
  const head = 'data:image/png;base64,'
  const long = 'iVBORw0K/+'.repeat(30_000)
  const shortened = (json: string): string => withoutImageData(Buffer.from(json)).toString()

  test('keeps the bytes with the size of each image, and all other members', () => {
    const sent = { images: [`${head}${long}==`, { url: `${head}AAAA` }, `${head}${long}`], n: 1 }
    const json = shortened(JSON.stringify(sent))
    expect(json.length).toBeLessThan(2 * 180_000)
    const kept = long.slice(0, Math.ceil((128 * 1024) / 3) * 4)
    expect(JSON.parse(json)).toEqual({
      images: [`${head}${kept}`, { url: `${head}AAAA` }, `${head}${kept}`],
      n: 1,
    })
    expect(shortened('{"n":1}')).toBe('{"n":1}')
  })

  test('stays valid JSON with any escapes', () => {
    const piece = fc.constantFrom('\\/', '\\\\', 'A'.repeat(999), 'BC')
    const data = fc.array(piece, { minLength: 150, maxLength: 400 }).map((parts) => parts.join(''))
    const end = fc.constantFrom('', '\\"', '\\\\', '\\n')
    fc.assert(
      fc.property(data, end, (run, tail) => {
        const json = `["${head}${run}${tail}","last"]`
        expect(JSON.parse(shortened(json))).toMatchObject({ 1: 'last', length: 2 })
      }),
      { numRuns: 200 },
    )
  })
})
