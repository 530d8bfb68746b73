import { describe, expect, test } from 'vitest'
import { zoneClock, type ZoneClock } from '../time-zone.ts'
import {
  adjoiningRange,
  bucketOf,
  bucketStarts,
  daysAndHours,
  hourRange,
  type HourRange,
  NAMES_MAX,
  rangeBefore,
  ranked,
} from './dashboard.ts'

const HOUR = 3600
const DAY = 86_400
/** A midnight in UTC. */
const T = 1_800_057_600

describe('hourRange', () => {
  test('covers whole hours', () => {
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
  test('the previous range has the same length', () => {
    expect(rangeBefore({ from: T, until: T + DAY })).toEqual({ from: T - DAY, until: T })
  })
})

describe('adjoiningRange', () => {
  test('an hour across a border belongs to the range that begins there', () => {
    const border = T + DAY + 1800
    expect(adjoiningRange(T, border)).toEqual({ from: T, until: T + DAY })
    expect(adjoiningRange(border, T + 2 * DAY)).toEqual({ from: T + DAY, until: T + 2 * DAY })
  })
  test('is at most a year, plus an hour for clock changes', () => {
    const until = T + 366 * DAY + HOUR
    expect(adjoiningRange(T, until)).toEqual({ from: T, until })
  })
  test.each([
    [T, T],
    [T + DAY, T],
    [T, T + 367 * DAY],
    [0, T],
  ])('%i to %i is no range', (start, end) => {
    expect(adjoiningRange(start, end)).toBeNull()
  })
})

describe('daysAndHours', () => {
  /** Days and hours after T. */
  const at = (days: number, hours = 0): number => T + days * DAY + hours * HOUR
  const none: HourRange[] = []

  test.each<[string, number, number, number[] | null, HourRange[]]>([
    ['whole days', at(0), at(3), [at(0), at(3)], none],
    [
      'days with hours around them',
      at(0, 16),
      at(3, 16),
      [at(1), at(3)],
      [
        { from: at(0, 16), until: at(1) },
        { from: at(3), until: at(3, 16) },
      ],
    ],
    ['hours of a day', at(0, 5), at(0, 7), null, [{ from: at(0, 5), until: at(0, 7) }]],
    ['the first hours of a day', at(0), at(0, 7), null, [{ from: at(0), until: at(0, 7) }]],
    [
      'hours of two days',
      at(0, 20),
      at(1, 4),
      null,
      [
        { from: at(0, 20), until: at(1) },
        { from: at(1), until: at(1, 4) },
      ],
    ],
  ])('%s', (_what, ...[from, until, days, hours]) => {
    const parts = daysAndHours({ from, until }, 0)
    if (days === null) expect(parts.days.from).toBe(parts.days.until)
    else expect(Object.values(parts.days)).toEqual(days)
    expect(parts.hours).toEqual(hours)
  })

  // Midnight in Shanghai, and in New York.
  test.each([-8, 5])('without hours, a day belongs to the range with its noon (%i h)', (hours) => {
    expect(daysAndHours({ from: at(0, hours), until: at(3, hours) }, at(9))).toEqual({
      days: { from: at(0), until: at(3) },
      hours: [],
    })
  })

  test('available hours cut the last day', () => {
    expect(daysAndHours({ from: at(0, 5), until: at(3, 5) }, at(3))).toEqual({
      days: { from: at(0), until: at(3) },
      hours: [{ from: at(3), until: at(3, 5) }],
    })
  })

  // After any deletion, each call is in exactly one month's file.
  test.each([-8, 5, 12, 13])('adjoining ranges divide all days among them (%i h)', (hours) => {
    for (const hoursFrom of [0, at(1), at(2), at(3), at(9)]) {
      const borders = [at(0), at(1, hours), at(2, hours), at(2, hours + 2), at(4)]
      const parts = borders.slice(1).map((until, index) => {
        const { days, hours: around } = daysAndHours(
          { from: borders[index] ?? 0, until },
          hoursFrom,
        )
        return [days, ...around].filter((part) => part.from < part.until)
      })
      const inOrder = parts.flat().toSorted((one, other) => one.from - other.from)
      expect(inOrder.map(({ from }) => from)).toEqual([
        at(0),
        ...inOrder.slice(0, -1).map(({ until }) => until),
      ])
      expect(inOrder.at(-1)?.until).toBe(at(4))
    }
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
  ])('days are the viewer’s when clocks go %s', (_way, from, until, hours) => {
    const starts = days('Europe/Berlin', { from: utc(from), until: utc(until) })
    expect(starts[0]).toBe(utc(from))
    expect(starts.map((start) => new Date(start * 1000).getUTCHours())).toEqual(hours)
    const last = starts.at(-1) ?? 0
    expect(bucketOf(last, starts)).toBe(last)
    expect(bucketOf(last - HOUR, starts)).toBe(starts[1])
  })

  // There midnight is half an hour after the full hour.
  test('a zone with an offset in half hours has the same number of days', () => {
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

test('names are ranked by quota, then requests, then name, and limited', () => {
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
