import { describe, expect, test } from 'vitest'
import { zoneClock, type ZoneClock } from '../time-zone.ts'
import {
  bucketOf,
  bucketStarts,
  hourRange,
  type HourRange,
  NAMES_MAX,
  rangeBefore,
  ranked,
} from './dashboard.ts'

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
  const clockOf = (zone: string): ZoneClock => {
    const clock = zoneClock(zone)
    if (clock === null) throw new Error(`no zone ${zone}`)
    return clock
  }
  const days = (zone: string, range: HourRange): number[] =>
    bucketStarts(range, { unit: 'day', clock: clockOf(zone) })
  const utc = (stamp: string): number => Date.parse(`${stamp}Z`) / 1000

  test('a day begins at the viewer’s midnight', () => {
    const range = { from: T - 8 * HOUR, until: T + 2 * DAY - 8 * HOUR }
    expect(days('Asia/Shanghai', range)).toEqual([T - 8 * HOUR, T + 16 * HOUR])
    expect(days('America/New_York', { from: T + 4 * HOUR, until: T + 6 * HOUR })).toEqual([
      T - 19 * HOUR,
      T + 5 * HOUR,
    ])
  })

  test.each([
    ['ahead', '2026-03-27T23:00', '2026-03-30T11:00', [23, 23, 22]],
    ['back', '2026-10-23T22:00', '2026-10-26T11:00', [22, 22, 23]],
  ])('days are the viewer’s around the night when clocks go %s', (_way, from, until, hours) => {
    const starts = days('Europe/Berlin', { from: utc(from), until: utc(until) })
    expect(starts[0]).toBe(utc(from))
    expect(starts.map((start) => new Date(start * 1000).getUTCHours())).toEqual(hours)
    const last = starts.at(-1) ?? 0
    expect(bucketOf(last, starts)).toBe(last)
    expect(bucketOf(last - HOUR, starts)).toBe(starts[1])
  })

  // There midnight is half an hour after an hour's beginning.
  test('of a zone that is not whole hours ahead, days from midnight on are as many', () => {
    const midnight = utc('2026-06-01T18:30')
    const range = hourRange(midnight, midnight + 2 * DAY - HOUR) ?? { from: 0, until: 0 }
    const starts = days('Asia/Kolkata', range)
    expect(starts).toEqual([midnight, midnight + DAY])
    expect(bucketOf(range.from, starts)).toBe(midnight)
  })

  test('hours are hours', () => {
    const range = { from: T, until: T + 3 * HOUR }
    const starts = bucketStarts(range, { unit: 'hour', clock: clockOf('Asia/Kolkata') })
    expect(starts).toEqual([T, T + HOUR, T + 2 * HOUR])
    expect(starts.map((hour) => bucketOf(hour, starts))).toEqual(starts)
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
