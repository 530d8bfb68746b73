import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ArgumentsText } from './arguments-text.ts'

const isWholeAfter = (...pieces: string[]): boolean => {
  const args = new ArgumentsText()
  for (const piece of pieces) args.add(piece)
  return args.isWhole
}

test.each([
  [[], false],
  [[''], false],
  [['{}'], true],
  [['{', '}', '\n'], true],
  [[' {"a":"}', '"}'], true],
  [['{"a":"}'], false],
  [['{"a":"\\', '"}'], false],
  [['{"a":"\\', '"}"}'], true],
  [['{"a":{}'], false],
  [['null'], false],
  [['[{}]'], false],
  [['{}', '{'], false],
])('%j is a whole object: %s', (pieces, isWhole) => {
  expect(isWholeAfter(...pieces)).toBe(isWhole)
})

test('an object is whole after its last brace and not before, however it is cut', () => {
  const object = fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value))
  fc.assert(
    fc.property(object, fc.array(fc.nat(), { maxLength: 5 }), (json, cuts) => {
      const places = [0, ...cuts.map((cut) => cut % json.length), json.length]
      places.sort((a, b) => a - b)
      const pieces = places.slice(1).map((end, index) => json.slice(places[index], end))
      expect(isWholeAfter(...pieces)).toBe(true)
      expect(isWholeAfter(json.slice(0, -1))).toBe(false)
    }),
  )
})
