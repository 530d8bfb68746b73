import { describe, expect, test } from 'vitest'
import { keptText, redacted, requestMetadata, seenBytes, seenText } from './body.ts'
import { StreamedText } from './streamed-text.ts'

describe('redacted', () => {
  test.each([
    'sk-proj-abcdefghijklmnopqrstuvwxyz012345',
    'sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA',
    'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
    'AKIAIOSFODNN7EXAMPLE',
    'AIzaSyA-1234567890abcdefghijklmnopqrstu',
    'xoxb-123456789012-abcdefghijkl',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N',
  ])('hides %s anywhere in a text', (secret) => {
    for (const text of [`key ${secret}, please`, `{"content":"use ${secret}"}`, secret]) {
      expect(redacted(text)).not.toContain(secret.slice(8, 24))
    }
  })

  test.each([
    ['{"password":"hunter2!"}', '{"password":"[redacted]"}'],
    ['{"client_secret": "abc def"}', '{"client_secret": "[redacted]"}'],
    // A JSON text inside a JSON text.
    [String.raw`{"a":"{\"api_key\":\"12345\"}"}`, String.raw`{"a":"{\"api_key\":\"[redacted]\"}"}`],
    ['Authorization: Bearer abcdefghijklmnop1234', 'Authorization: [redacted] [redacted]'],
    ['DB_PASSWORD=hunter2hunter2', 'DB_PASSWORD=[redacted]'],
    ['--my-api-key: abcdef', '--my-api-key: [redacted]'],
    ['token-eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSM', 'token-[redacted]'],
    ['postgres://me:hunter2@host/db', 'postgres://me:[redacted]@host/db'],
    ['a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b', 'a [redacted] b'],
    ['a -----BEGIN PRIVATE KEY-----\\nMIIE and it is cut off', 'a [redacted]'],
    [`data:image/png;base64,${'A'.repeat(100)}"`, 'data:image/png;base64,[redacted]"'],
  ])('%s', (text, shown) => {
    expect(redacted(text)).toBe(shown)
  })

  test.each([
    '{"max_tokens":100,"prompt_tokens":5}',
    'The password is long, and sk- is how keys begin.',
    'risk-assessment of a task-force',
    'https://example.com/a:b@c',
  ])('leaves %s unchanged', (text) => {
    expect(redacted(text)).toBe(text)
  })

  test('takes linear time for a near match', () => {
    const began = performance.now()
    for (const piece of [
      'a-',
      'api-key-',
      'eyJ-',
      '-----BEGIN ',
      'eyJ',
      'data:a/b;base64,',
      '"password":"',
      '://a:',
      'sk-a',
    ]) {
      redacted(piece.repeat(20_000))
    }
    expect(performance.now() - began).toBeLessThan(20_000)
  })
})

describe('keptText', () => {
  const cut = (text: string, bytesMax: number, isRedacted = false) =>
    keptText(seenText(seenBytes(Buffer.from(text), bytesMax)), { bytesMax, isRedacted })
  const LONG = 'x'.repeat(20_000)

  test('a text within the limit is kept completely', () => {
    expect(cut('你好', 6)).toBe('你好')
  })
  test('of a longer text the beginning and end are kept, cut between characters', () => {
    expect(cut('你好吗？好的', 12)).toBe('你好吗… [6 bytes left out] …的')
    expect(cut(`你好${LONG}你好吗`, 12)).toBe('你好xxx… [20003 bytes left out] …吗')
  })
  test('a secret across the cut is hidden completely', () => {
    const key = 'sk-abcdefghijklmnopqrstuvwxyz'
    expect(cut(`${'x'.repeat(20)} ${key}`, 30, true)).not.toContain('sk-a')
    const long = `sk-${'abcdefghij'.repeat(6)}xyz`
    const kept = cut(`${LONG} ${LONG} ${long} the end`, 80, true)
    expect(kept).toMatch(/^x{60}… \[.* left out\] …/)
    expect(kept).toContain('the end')
    expect(kept).not.toContain('xyz')
  })
  test.each([
    ['a run of characters', 'QUFB'.repeat(10_000)],
    [
      'a file’s key',
      `-----BEGIN PRIVATE KEY-----\n${'QUFB\n'.repeat(10_000)}-----END PRIVATE KEY-----`,
    ],
  ])('of %s that starts before the cut, the end keeps nothing', (_, secret) => {
    const kept = cut(`${LONG} ${secret} the end`, 8000, true)
    expect(kept).toMatch(/left out\] ….*the end$/)
    expect(kept).not.toContain('QUFB')
  })
})

describe('StreamedText', () => {
  const read = (pieces: [lane: number, text: string, tool?: string][], bytesMax = 1000) => {
    const streamed = new StreamedText(bytesMax)
    for (const [lane, text, tool] of pieces) {
      streamed.add({ lane, text, ...(tool === undefined ? {} : { tool }) })
    }
    const bytes = pieces.reduce((sum, [, text]) => sum + text.length, 0)
    return keptText({ ...streamed.seen(), bytes }, { bytesMax, isRedacted: false })
  }

  test('lists lanes one after the other, and each tool call on its own line', () => {
    const answer = read([
      [1, 'Thin'],
      [0, 'Let me '],
      [1, 'king'],
      [0, 'look.'],
      [2, 'weather', 'weather'],
      [2, '{"city":'],
      [2, '"here"}'],
      [2, 'time{}', 'time'],
    ])
    expect(answer).toBe(
      'Thinking\n\nLet me look.\n\n[tool: weather] {"city":"here"}\n[tool: time] {}',
    )
  })

  test('of a long text it keeps the beginning and the newest part', () => {
    const thought = Array.from({ length: 50_000 }, (): [number, string] => [1, 'x'])
    const answer = read([
      [1, 'First'],
      ...thought,
      [0, 'the answer'],
      [2, 'look', 'look'],
      [2, '{}'],
    ])
    expect(answer).toMatch(
      /^Firstx+… \[49021 bytes left out\] …x+\n\nthe answer\n\n\[tool: look\] \{\}$/,
    )
    expect(answer.length).toBeLessThan(1100)
    expect(
      read([
        [0, 'a'.repeat(1500)],
        [0, 'b'.repeat(1500)],
      ]),
    ).toMatch(/^a+… .* …b+$/)
  })
})

describe('requestMetadata', () => {
  test('contains settings and sizes, but no content', () => {
    const body = {
      model: 'gpt-4o',
      stream: true,
      temperature: 0.5,
      messages: [{ role: 'user', content: 'secret words' }, {}],
      user: 'alice@example.com',
      metadata: { a: 'secret', b: 1 },
      system: 'secret words',
    }
    const bytes = Buffer.from(JSON.stringify(body))
    expect(JSON.parse(requestMetadata(bytes))).toEqual({
      bytes: bytes.length,
      model: 'gpt-4o',
      stream: true,
      temperature: 0.5,
      messages: { items: 2 },
      user: { characters: 17 },
      metadata: { members: 2 },
      system: { characters: 12 },
    })
  })
  test.each(['', 'no JSON', '[]', 'null', '"text"'])('for %j only the size', (text) => {
    expect(JSON.parse(requestMetadata(Buffer.from(text)))).toEqual({ bytes: text.length })
  })
})
