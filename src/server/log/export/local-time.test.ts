import { expect, test } from 'vitest'
import { localTimeWriter } from './local-time.ts'

const seconds = (text: string): number => Date.parse(text) / 1000

test.each([
  ['Asia/Shanghai', '2027-01-15T08:00:00Z', '2027-01-15 16:00:00'],
  ['Asia/Kathmandu', '2027-01-15T08:00:00Z', '2027-01-15 13:45:00'],
  ['America/New_York', '2026-07-01T00:00:00Z', '2026-06-30 20:00:00'],
  ['UTC', '1970-01-01T00:00:00Z', '1970-01-01 00:00:00'],
])('in %s %s is %s', (zone, at, text) => {
  expect(localTimeWriter(zone)?.(seconds(at))).toBe(text)
})

test('summer time begins and ends at its second, for every order of rows', () => {
  const write = localTimeWriter('Europe/Berlin')
  const times = [
    ['2026-10-25T01:00:00Z', '2026-10-25 02:00:00'],
    ['2026-10-25T00:59:59Z', '2026-10-25 02:59:59'],
    ['2026-03-29T01:00:00Z', '2026-03-29 03:00:00'],
    ['2026-03-29T00:59:59Z', '2026-03-29 01:59:59'],
  ] as const
  for (const [at, text] of [...times, ...times.toReversed()]) {
    expect(write?.(seconds(at))).toBe(text)
  }
})

test('what is no time stays the number that it is', () => {
  const write = localTimeWriter('Asia/Shanghai')
  expect(write?.(1.7e15)).toBe('1700000000000000')
  expect(write?.(1_700_000_000_000)).toBe('+055840-11-09 06:13:20')
})

test.each(['Mars/Olympus', '../etc', "'; --"])('%s is no zone', (zone) => {
  expect(localTimeWriter(zone)).toBeNull()
})
