import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sourceOfSums, splitRange } from './log-statistics.ts'
import type { LogFilterValues } from './log-store.ts'

const HOUR = 3600
/** First second of an hour. */
const T = 1_800_000_000

describe('splitRange', () => {
  test.each([
    ['open on both sides', 0, 0, { hours: { from: null, until: null }, edges: [] }],
    ['from a full hour on', T, 0, { hours: { from: T, until: null }, edges: [] }],
    [
      'from within an hour on',
      T + 1,
      0,
      { hours: { from: T + HOUR, until: null }, edges: [{ from: T + 1, to: T + HOUR - 1 }] },
    ],
    ['up to the last second of an hour', 0, T - 1, { hours: { from: null, until: T }, edges: [] }],
    [
      'up to the first second of an hour',
      0,
      T,
      { hours: { from: null, until: T }, edges: [{ from: T, to: T }] },
    ],
    [
      'from within an hour to within a later one',
      T - 10,
      T + HOUR + 10,
      {
        hours: { from: T, until: T + HOUR },
        edges: [
          { from: T - 10, to: T - 1 },
          { from: T + HOUR, to: T + HOUR + 10 },
        ],
      },
    ],
    ['one whole hour', T, T + HOUR - 1, { hours: { from: T, until: T + HOUR }, edges: [] }],
    ['within one hour', T + 1, T + 5, { hours: null, edges: [{ from: T + 1, to: T + 5 }] }],
    [
      'across the end of an hour without a whole one',
      T - 5,
      T + 5,
      { hours: null, edges: [{ from: T - 5, to: T + 5 }] },
    ],
    ['one second', T, T, { hours: null, edges: [{ from: T, to: T }] }],
    ['backwards', T + 1, T, { hours: null, edges: [] }],
  ])('%s', (_what, start, end, expected) => {
    expect(splitRange(start, end)).toEqual(expected)
  })

  test('each second of a range is covered exactly once, and no other second', () => {
    const second = fc.integer({ min: 1, max: 5 * HOUR })
    fc.assert(
      fc.property(second, second, second, (start, end, probe) => {
        const { hours, edges } = splitRange(start, end)
        const inHours = Number(
          hours !== null && probe >= (hours.from ?? 0) && probe < (hours.until ?? Infinity),
        )
        const inEdges = edges.filter(({ from, to }) => probe >= from && probe <= to).length
        expect(inHours + inEdges).toBe(Number(probe >= start && probe <= end))
      }),
      { numRuns: 2000 },
    )
  })
})

describe('sourceOfSums', () => {
  const none: LogFilterValues = {
    type: 0,
    token_name: '',
    model_name: '',
    start_timestamp: 0,
    end_timestamp: 0,
    request_id: '',
  }

  test.each<[string, Partial<LogFilterValues>, string]>([
    ['no filter', {}, 'channel_usage_hourly'],
    ['a model', { model_name: 'm' }, 'channel_usage_hourly'],
    ['a channel and a model', { channel: 1, model_name: 'm' }, 'channel_usage_hourly'],
    ['a user', { userId: 1 }, 'usage_hourly'],
    ['a name and a token', { username: 'u', token_name: 't' }, 'usage_hourly'],
    ['a token and a model', { token_name: 't', model_name: 'm' }, 'usage_hourly'],
    ['a channel and a user', { channel: 1, username: 'u' }, 'rows'],
    ['a channel and a token', { channel: 1, token_name: 't' }, 'rows'],
    ['a request', { request_id: 'r' }, 'rows'],
    ['a type, which sums do not look at', { type: 3 }, 'channel_usage_hourly'],
  ])('%s', (_what, filter, expected) => {
    expect(sourceOfSums({ ...none, ...filter })).toBe(expected)
  })
})
