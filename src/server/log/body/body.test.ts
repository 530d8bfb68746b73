import { describe, expect, test } from 'vitest'
import { firstText, keptText, redacted, requestMetadata } from './body.ts'

describe('redacted', () => {
  test.each([
    'sk-proj-abcdefghijklmnopqrstuvwxyz012345',
    'sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA',
    'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
    'AKIAIOSFODNN7EXAMPLE',
    'AIzaSyA-1234567890abcdefghijklmnopqrstu',
    'xoxb-123456789012-abcdefghijkl',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N',
  ])('hides %s wherever it stands', (secret) => {
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
  ])('leaves %s alone', (text) => {
    expect(redacted(text)).toBe(text)
  })

  test('takes no longer for a text that nearly fits', () => {
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
    expect(performance.now() - began).toBeLessThan(5000)
  })
})

describe('keptText', () => {
  const cut = (text: string, bytesMax: number, isRedacted = false) =>
    keptText(firstText(Buffer.from(text), 10_000), { bytesMax, isRedacted })

  test('a text within the limit is kept whole', () => {
    expect(cut('你好', 6)).toBe('你好')
  })
  test('a longer one is cut between characters and says how long it was', () => {
    expect(cut('你好吗', 7)).toBe('你好… [9 bytes]')
  })
  test('a secret that the cut would go through is hidden whole', () => {
    const key = 'sk-abcdefghijklmnopqrstuvwxyz'
    expect(cut(`${'x'.repeat(20)} ${key}`, 30, true)).not.toContain('sk-a')
  })
})

describe('requestMetadata', () => {
  test('tells settings and sizes, and not a word', () => {
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
  test.each(['', 'no JSON', '[]', 'null', '"text"'])('of %j only the size', (text) => {
    expect(JSON.parse(requestMetadata(Buffer.from(text)))).toEqual({ bytes: text.length })
  })
})
