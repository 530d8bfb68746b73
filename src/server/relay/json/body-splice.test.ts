import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { scanBody } from './body-scan.ts'
import { splice } from './body-splice.ts'
import type { MemberEdit } from './body-splice.ts'

function spliced(text: string, ...edits: MemberEdit[]): string {
  const body = scanBody(Buffer.from(text))
  if (!body.ok) throw new Error(body.code)
  return splice(body, edits).toString()
}
const askUsage: MemberEdit = { set: 'include_usage', inside: 'stream_options', json: 'true' }

describe('setting a member', () => {
  test('replaces its value and leaves every other byte', () => {
    const text =
      '{ "temperature":2.50,  "model" :\t"gpt-4o", "x":1e-7,' +
      '"seed":12345678901234567890,"é":"\\u00e9" }\n'
    expect(spliced(text, { set: 'model', json: '"更长的名字"' })).toBe(
      text.replace('"gpt-4o"', '"更长的名字"'),
    )
  })

  test('appends a missing member', () => {
    expect(spliced('{"a":1 }', { set: 'b', json: '2' })).toBe('{"a":1,"b":2 }')
    expect(spliced(' { } ', { set: 'b', json: '2' })).toBe(' {"b":2 } ')
    expect(spliced('{}', { set: 'b', json: '2' }, { set: 'c', json: '3' })).toBe('{"b":2,"c":3}')
  })

  test('touches the top-level member only', () => {
    expect(spliced('{"messages":[{"model":"a"}],"model":"a"}', { set: 'model', json: '"b"' })).toBe(
      '{"messages":[{"model":"a"}],"model":"b"}',
    )
  })
})

describe('setting a member inside a member', () => {
  test.each([
    ['{"stream":true}', '{"stream":true,"stream_options":{"include_usage":true}}'],
    ['{"stream_options":null,"a":1}', '{"stream_options":{"include_usage":true},"a":1}'],
    ['{"stream_options":{ }}', '{"stream_options":{"include_usage":true }}'],
    ['{"stream_options":{"x": 1.0 }}', '{"stream_options":{"x": 1.0,"include_usage":true }}'],
    [
      '{"stream_options":{"include_usage": false,"x":1}}',
      '{"stream_options":{"include_usage": true,"x":1}}',
    ],
  ])('%s', (before, after) => {
    expect(spliced(before, askUsage)).toBe(after)
  })

  test('leaves a value that is not an object for the upstream to reject', () => {
    expect(spliced('{"stream_options":"yes"}', askUsage)).toBe('{"stream_options":"yes"}')
  })
})

describe('removing members', () => {
  const text = '{ "a":1 , "b":2 , "c":3 }'
  test.each([
    [['a'], '{ "b":2 , "c":3 }'],
    [['b'], '{ "a":1 , "c":3 }'],
    [['c'], '{ "a":1 , "b":2 }'],
    [['a', 'b'], '{ "c":3 }'],
    [['b', 'c'], '{ "a":1 }'],
    [['a', 'c'], '{ "b":2 }'],
    [['a', 'b', 'c'], '{  }'],
    [['d'], text],
  ])('%j', (names, after) => {
    expect(spliced(text, ...names.map((remove) => ({ remove })))).toBe(after)
  })

  test('together with appending and setting', () => {
    expect(spliced('{"a":1,"b":2}', { remove: 'b' }, { set: 'c', json: '3' })).toBe('{"a":1,"c":3}')
    expect(spliced('{"a":1}', { remove: 'a' }, { set: 'c', json: '3' })).toBe('{"c":3}')
    expect(
      spliced(
        '{"max_tokens":5,"model":"o3"}',
        { remove: 'max_tokens' },
        { set: 'model', json: '"o4"' },
      ),
    ).toBe('{"model":"o4"}')
  })
})

test('throws for two edits of one member', () => {
  expect(() => spliced('{"a":10}', { set: 'a', json: '2' }, { set: 'a', json: '3' })).toThrow(
    'two edits',
  )
})

test('gives the same result as edits of the parsed object', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
  const object = fc.dictionary(name, fc.jsonValue({ maxDepth: 2 }))
  const change = fc.record({
    name,
    isRemoval: fc.boolean(),
    value: fc.jsonValue({ maxDepth: 1 }),
  })
  const changes = fc.uniqueArray(change, { selector: (one) => one.name })
  fc.assert(
    fc.property(object, changes, fc.constantFrom(0, 1, 3), (value, edits, indent) => {
      const expected = new Map(Object.entries(value))
      for (const edit of edits) {
        if (edit.isRemoval) expected.delete(edit.name)
        else expected.set(edit.name, edit.value)
      }
      const result = spliced(
        JSON.stringify(value, null, indent),
        ...edits.map((edit) =>
          edit.isRemoval
            ? { remove: edit.name }
            : { set: edit.name, json: JSON.stringify(edit.value) },
        ),
      )
      expect(JSON.parse(result)).toEqual(JSON.parse(JSON.stringify(Object.fromEntries(expected))))
    }),
    { numRuns: 1_000 },
  )
})
