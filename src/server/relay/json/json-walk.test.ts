import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { itemStarts, memberStart, valueEnd } from './json-walk.ts'

const LONG = 'x'.repeat(500)

describe('a value', () => {
  test.each([
    ['"a"'],
    ['"with \\" and \\\\"'],
    [`"${LONG}\\"${LONG}\\\\"`],
    [`"${LONG}\\\\\\"${LONG}"`],
    ['{"a":{"b":"}"},"c":[1,2]}'],
    ['[]'],
    ['-1.5e3'],
    ['null'],
  ])('ends where it ends: %s', (text) => {
    for (const after of ['', ',1', '}', ']']) {
      expect(valueEnd(Buffer.from(`${text}${after}`), 0)).toBe(text.length)
    }
  })

  test('that is truncated ends with the bytes', () => {
    for (const text of ['"abc', `"${LONG}`, '"abc\\', '{"a":"b', '[1,']) {
      expect(valueEnd(Buffer.from(text), 0)).toBe(text.length)
    }
  })
})

describe('members and elements', () => {
  const at = (text: string, start: number): unknown => {
    if (start < 0) return undefined
    const bytes = Buffer.from(text)
    return JSON.parse(bytes.toString('utf8', start, valueEnd(bytes, start)))
  }

  test.each([
    ['{"a":1,"b":"x"}', 'b', 'x'],
    [' { "c" : { "b" : 1 } , "b" : [ 2 ] } ', 'b', [2]],
    ['{"c":{"b":1}}', 'b', undefined],
    ['{}', 'b', undefined],
    ['["b"]', 'b', undefined],
  ])('%s has under %s: %j', (text, name, expected) => {
    expect(at(text, memberStart(Buffer.from(text), text.search(/\S/), name))).toEqual(expected)
  })

  test('are found in any JSON', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 3 })),
        fc.constantFrom(undefined, 2),
        (object, indent) => {
          const text = JSON.stringify(object, null, indent)
          for (const [name, value] of Object.entries(object)) {
            const found = at(text, memberStart(Buffer.from(text), 0, name))
            expect(JSON.stringify(found)).toBe(JSON.stringify(value))
          }
          const list = JSON.stringify(Object.values(object), null, indent)
          const items = [...itemStarts(Buffer.from(list), 0)].map((start) => at(list, start))
          expect(JSON.stringify(items, null, indent)).toBe(list)
        },
      ),
    )
  })
})
