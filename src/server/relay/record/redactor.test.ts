import { expect, test } from 'vitest'
import { Redactor } from './redactor.ts'

const KEY = 'not-a-word-12345'
const redactor = new Redactor([KEY])
const masked = (text: string): string | undefined => redactor.body(Buffer.from(text))?.toString()

test.each([
  [`{"a":"${KEY}"}`, `{"a":"${'x'.repeat(16)}"}`],
  ['write to jörg@example.org now', `write to ${'x'.repeat(17)} now`],
  ['{"user":"u-1","organization":"o"}', '{"user":"xxx","organization":"x"}'],
  ['/v1/accounts/4711/ai/run', '/v1/accounts/xxxx/ai/run'],
  ['of project arn:aws:iam::123456789012:role/r', `of project ${'x'.repeat(32)}`],
])('%s is masked at the same length', (text, clean) => {
  expect(masked(text)).toBe(clean)
  expect(Buffer.byteLength(clean)).toBe(Buffer.byteLength(text))
})

test('leaves a text without secrets unchanged', () => {
  const text = 'data: {"choices": [{"delta": {"content": "\\u00e4 tokens: 12"}}]}\r\n\r\n'
  expect(masked(text)).toBe(text)
})

test('masks binary data and keeps its length', () => {
  const bytes = Buffer.concat([Buffer.from([0xff, 0, 0xfe]), Buffer.from(KEY), Buffer.from([0xff])])
  const clean = redactor.body(bytes)
  expect(clean?.length).toBe(bytes.length)
  expect(clean?.toString('latin1')).not.toContain(KEY)
})

test('withholds a body if a secret cannot be masked in place', () => {
  const escaped = [...KEY].map((one) => `\\u00${one.charCodeAt(0).toString(16)}`).join('')
  expect(masked(`{"${escaped}":1}`)).toBeUndefined()
  expect(masked(`{"a": "${escaped}`)).toBeUndefined()
})
