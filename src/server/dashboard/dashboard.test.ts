import { describe, expect, test } from 'vitest'
import { bucketOf, bucketStarts, hourRange, NAMES_MAX, rangeBefore, ranked } from './dashboard.ts'

const HOUR = 3600
const DAY = 86_400
/** A midnight, UTC. */
const T = 1_800_057_600

describe('hourRange', () => {
  test('takes whole hours', () => {
    expect(hourRange(T, T + DAY)).toEqual({ from: T, until: T + DAY })
    expect(hourRange(T + 10, T + DAY + 1)).toEqual({ from: T, until: T + DAY + HOUR })
  })
  test.each([
    [T, T],
    [T + DAY, T],
    [T, T + 94 * DAY],
    [0, T],
  ])('%i to %i is no range', (start, end) => {
    expect(hourRange(start, end)).toBeNull()
  })
  test('the range before is as long', () => {
    expect(rangeBefore({ from: T, until: T + DAY })).toEqual({ from: T - DAY, until: T })
  })
})

describe('buckets', () => {
  const shanghai = { unit: 'day', offsetSeconds: 8 * HOUR } as const
  test('a day begins at the viewer’s midnight', () => {
    expect(bucketOf(T + 15 * HOUR, shanghai)).toBe(T - 8 * HOUR)
    expect(bucketOf(T + 16 * HOUR, shanghai)).toBe(T + 16 * HOUR)
    const newYork = { unit: 'day', offsetSeconds: -5 * HOUR } as const
    expect(bucketOf(T + 4 * HOUR, newYork)).toBe(T - 19 * HOUR)
    expect(bucketOf(T + 5 * HOUR, newYork)).toBe(T + 5 * HOUR)
  })
  test('all of a range, also empty ones', () => {
    const range = { from: T - 8 * HOUR, until: T + 2 * DAY - 8 * HOUR }
    expect(bucketStarts(range, shanghai)).toEqual([T - 8 * HOUR, T + 16 * HOUR])
    expect(bucketStarts({ from: T, until: T + 3 * HOUR }, { ...shanghai, unit: 'hour' })).toEqual([
      T,
      T + HOUR,
      T + 2 * HOUR,
    ])
  })
})

test('names are ranked by quota, then requests, then name, and bounded', () => {
  const figures = (quota: number, requests: number) => ({
    quota,
    requests,
    prompt_tokens: 0,
    completion_tokens: 0,
  })
  const sums = new Map([
    ['c', figures(1, 1)],
    ['a', figures(1, 1)],
    ['b', figures(1, 5)],
    ['most', figures(9, 1)],
  ])
  expect(ranked(sums).map(({ name }) => name)).toEqual(['most', 'b', 'a', 'c'])
  const many = new Map(Array.from({ length: 80 }, (_, index) => [`${index}`, figures(index, 1)]))
  expect(ranked(many)).toHaveLength(NAMES_MAX)
})
