import fc from 'fast-check'
import { expect, test } from 'vitest'
import { inputOf, StreamedInput } from './custom-tools.ts'

const streamed = (pieces: readonly string[]): string => {
  const input = new StreamedInput()
  return [...pieces.map((piece) => input.push(piece)), input.rest()].join('')
}

test('extracts the same text for any chunks of the arguments', () => {
  const ends = fc.array(fc.nat({ max: 400 }))
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), ends, fc.boolean(), (text, cuts, isAscii) => {
      const plain = JSON.stringify({ input: text })
      const json = isAscii ? plain.replace(/[^ -~]/g, escaped) : plain
      const places = [0, ...cuts.toSorted((a, b) => a - b), json.length]
      const pieces = places.slice(1).map((end, index) => json.slice(places[index], end))
      expect(streamed(pieces)).toBe(text)
      expect(inputOf(json)).toBe(text)
    }),
  )
})

const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`

test.each([
  ['*** Begin Patch\n*** End Patch', '*** Begin Patch\n*** End Patch'],
  ['{"patch":"x"}', 'x'],
  ['"x"', 'x'],
  ['{"input":"half a te', 'half a te'],
  ['{"input":"a\nb\\', 'a\nb'],
  ['{"input":7}', '{"input":7}'],
  ['{"input":"a\\u12","then":1}', 'au12'],
  ['{"input":"a\\ud83d","then":1}', 'a\ud83d'],
  ['', ''],
])('a text that comes otherwise is found: %s', (json, text) => {
  expect(streamed([json])).toBe(text)
})

test.each([
  ['blanks before it', `{${' '.repeat(300)}"input":"half"}`],
  ['blanks behind it', `{"input":"half"${' '.repeat(300)}}`],
])('a text with many %s is found, letter by letter', (_what, json) => {
  expect(streamed([...json])).toBe('half')
})

test('a character of two escapes is sent whole', () => {
  const input = new StreamedInput()
  const pieces = ['{"input":"a\\ud83d', '\\ud', 'e00b"}']
  expect(pieces.map((piece) => input.push(piece))).toEqual(['a', '', '😀b'])
})

test.each([
  ['lines', 'x\\n', 'x\n'],
  ['escapes', '\\u4e2d', '中'],
])('a text of millions of %s is read in one piece', (_what, json, text) => {
  const count = 4_000_000
  const input = new StreamedInput()
  const read = input.push(`{"input":"${json.repeat(count)}"`)
  // `toBe` would print both texts.
  expect(read === text.repeat(count)).toBe(true)
  expect(input.rest()).toBe('')
})
