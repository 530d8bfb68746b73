import { describe, expect, test } from 'vitest'
import { failureShare, growth, overviewOfWeek, rangeQuery, seriesOf } from './overview.ts'

const HOUR = 3600
const NOW = 1_800_001_234

test('a day by the hour ends with the current hour', () => {
  const { start_timestamp, end_timestamp, unit } = rangeQuery('24h', NOW)
  expect(unit).toBe('hour')
  expect(end_timestamp).toBeGreaterThan(NOW)
  expect(end_timestamp % HOUR).toBe(0)
  expect(end_timestamp - start_timestamp).toBe(24 * HOUR)
})

test('days begin at the reader’s midnight, today included', () => {
  const { start_timestamp, end_timestamp } = rangeQuery('7d', NOW)
  const begins = new Date(start_timestamp * 1000)
  expect([begins.getHours(), begins.getMinutes()]).toEqual([0, 0])
  expect(Math.ceil((end_timestamp - start_timestamp) / (24 * HOUR))).toBeLessThanOrEqual(7)
})

const figures = (quota: number) => ({
  quota,
  requests: 1,
  prompt_tokens: 0,
  completion_tokens: 0,
})

describe('seriesOf', () => {
  const overview = {
    buckets: [10, 20].map((quota, start) => ({ start, ...figures(quota), failures: 0 })),
    totals: { ...figures(30), failures: 0 },
    previous: { ...figures(0), failures: 0 },
    names: [
      { name: 'a', ...figures(9), series: [figures(4), figures(5)] },
      { name: 'b', ...figures(15), series: [figures(5), figures(10)] },
      { name: 'c', ...figures(6), series: [] },
    ],
  }
  test('sorts by size, with the rest as one series', () => {
    expect(seriesOf(overview, 'quota')).toEqual([
      { name: 'b', count: 1, total: 15, values: [5, 10] },
      { name: 'a', count: 1, total: 9, values: [4, 5] },
      { name: null, count: 1, total: 6, values: [1, 5] },
    ])
  })
  test('omits an empty series', () => {
    expect(seriesOf(overview, 'prompt_tokens')).toEqual([])
  })
})

test('growth is in percent, and null without a previous value', () => {
  expect(growth(112, 100)).toBe(12)
  expect(growth(50, 100)).toBe(-50)
  expect(growth(5, 0)).toBeNull()
})

test('the share of failed calls is of all calls', () => {
  expect(failureShare({ requests: 996, failures: 4 })).toBe('0.4')
  expect(failureShare({ requests: 0, failures: 0 })).toBeNull()
})

test('converts a week of a One API server to the same figures', () => {
  const day = (Day: string, ModelName: string, Quota: number) => ({
    Day,
    ModelName,
    RequestCount: 1,
    Quota,
    PromptTokens: 2,
    CompletionTokens: 3,
  })
  const now = Date.parse('2027-01-15T08:00:00Z') / 1000
  const overview = overviewOfWeek(
    [
      day('2027-01-09', 'a', 1),
      day('2027-01-15', 'a', 2),
      day('2027-01-15', 'b', 9),
      // Outside the week, as a server in another time zone may send.
      day('2027-01-01', 'a', 100),
    ],
    now,
  )
  expect(overview.totals).toEqual({
    quota: 12,
    requests: 3,
    prompt_tokens: 6,
    completion_tokens: 9,
    failures: 0,
  })
  expect(overview.buckets.map(({ quota }) => quota)).toEqual([1, 0, 0, 0, 0, 0, 11])
  expect(overview.names.map(({ name, quota }) => [name, quota])).toEqual([
    ['b', 9],
    ['a', 3],
  ])
  expect(overview.names[1]?.series.map(({ quota }) => quota)).toEqual([1, 0, 0, 0, 0, 0, 2])
})
