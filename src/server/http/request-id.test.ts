import { expect, test } from 'vitest'
import { newRequestId } from './request-id.ts'

const NOW_MS = Date.UTC(2026, 10, 21, 9, 8, 7, 654)

test('a request id is the second in UTC, nanoseconds and eight digits', () => {
  expect(newRequestId(NOW_MS)).toMatch(/^20261121090807\d{9}\d{8}$/)
})

test('ids of later seconds sort later, also across days and years', () => {
  const moments = [NOW_MS, NOW_MS + 1000, Date.UTC(2026, 11, 31, 23, 59, 59), Date.UTC(2027, 0, 1)]
  const ids = moments.map(newRequestId)
  expect(ids.toSorted()).toEqual(ids)
})

test('a clock that goes back repeats the earlier second', () => {
  newRequestId(NOW_MS + 60_000)
  expect(newRequestId(NOW_MS)).toMatch(/^20261121090807/)
})

test('many ids are unique', () => {
  const count = 200_000
  const ids = new Set(Array.from({ length: count }, () => newRequestId(NOW_MS)))
  expect(ids.size).toBe(count)
})
