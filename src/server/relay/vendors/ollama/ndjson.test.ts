import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ndjson } from './ndjson.ts'

const LINES = ['{"a":"四十二"}', '{"b":[1,\t2]}', '{"done":true}']
const bytes = Buffer.from(`${LINES[0]}\r\n\n${LINES[1]}\n  \n${LINES[2]}\n`)

function readAll(chunks: readonly Buffer[]) {
  const reader = ndjson.reader()
  const texts = chunks
    .flatMap((chunk) => reader.push(chunk))
    .map(({ data }) => data?.toString('utf8').trimEnd())
  return { texts, last: reader.end(), fault: reader.fault }
}

test('reads the same lines for any chunk boundaries, and skips blank lines', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(bytes.length)), (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length]
      const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end))
      expect(readAll(chunks)).toEqual({ texts: LINES, last: null, fault: null })
    }),
    { numRuns: 60 },
  )
})

test('marks a last line without a line end', () => {
  const { texts, last } = readAll([Buffer.from('{"a":1}\n{"b":2}')])
  expect(texts).toEqual(['{"a":1}'])
  expect({ text: last?.data?.toString(), isTerminated: last?.isTerminated }).toEqual({
    text: '{"b":2}',
    isTerminated: false,
  })
})

test('an excessively long line stops the reader permanently', () => {
  const reader = ndjson.reader()
  const piece = Buffer.alloc(1024 * 1024, 'x')
  for (let count = 0; count < 17; count++) expect(reader.push(piece)).toEqual([])
  expect(reader.fault).toBe('line-too-long')
  expect(reader.push(Buffer.from('\n{"a":1}\n'))).toEqual([])
  expect(reader.end()).toBeNull()
})
