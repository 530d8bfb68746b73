import { describe, expect, test } from 'vitest'
import { defaultRatios } from '../option/default-ratios.ts'
import type { Ratios } from '../option/live-options.ts'
import { PLAIN_RATIOS } from '../test/plain-ratios.ts'
import { planDemo, type DemoPlan } from './demo-plan.ts'
import { busynessAt, planTimes } from './demo-times.ts'
import { createDice } from './dice.ts'
import { DEMO_SIZE } from './fill-demo.ts'

const NOW = 1_800_000_000
const DAY = 86_400

const ratios: Ratios = {
  ...PLAIN_RATIOS,
  model: defaultRatios().ModelRatio,
  completion: defaultRatios().CompletionRatio,
  group: new Map([['default', '1']]),
  cache: defaultRatios().CacheRatio,
  cacheWrite: defaultRatios().CreateCacheRatio,
  cacheWriteHour: defaultRatios().CreateCache1hRatio,
  otherwise: undefined,
  version: '9f86d081884c7d65',
}

const plan = (seed: number): DemoPlan =>
  planDemo({
    seed,
    size: { ...DEMO_SIZE, calls: 3000 },
    nowSeconds: NOW,
    upstreamUrl: 'http://127.0.0.1:9',
    ratios,
  })

describe('planDemo', () => {
  test('is the same for the same seed and differs for another', () => {
    const one = plan(1)
    expect(plan(1)).toEqual(one)
    expect(plan(2).tokens.map(({ key }) => key)).not.toEqual(one.tokens.map(({ key }) => key))
  })

  test.each([1, 2, 3, 4, 5])('never has a negative balance (seed %i)', (seed) => {
    const { people, events } = plan(seed)
    const balances = new Map(people.map((person) => [person, 1_000_000]))
    for (const event of events) {
      const person = event.kind === 'call' ? event.token.owner : event.person
      const moved = event.kind === 'call' ? -event.cost : event.amount
      const balance = (balances.get(person) ?? 0) + moved
      expect(balance).toBeGreaterThanOrEqual(0)
      balances.set(person, balance)
    }
  })

  test.each([1, 2, 3, 4, 5])('respects the restrictions at each time (seed %i)', (seed) => {
    for (const event of plan(seed).events) {
      if (event.kind !== 'call') continue
      const { token, channel, atSeconds } = event
      expect(atSeconds).toBeGreaterThanOrEqual(token.createdSeconds)
      expect(atSeconds).toBeLessThan(Math.min(token.endsSeconds, channel.endsSeconds))
      const groups = token.owner.group.split(',')
      expect(groups.some((group) => channel.groups.includes(group))).toBe(true)
    }
  })

  test('uses each code once that ends as used', () => {
    const { codes, events } = plan(1)
    const used = events.flatMap((event) => (event.kind === 'topUp' ? (event.code ?? []) : []))
    expect(new Set(used).size).toBe(used.length)
    expect(used.length).toBe(codes.filter(({ finalStatus }) => finalStatus === 3).length)
  })

  test('gives every call its own request id', () => {
    const ids = plan(1).events.flatMap((event) => (event.kind === 'call' ? event.requestId : []))
    expect(new Set(ids).size).toBe(3000)
  })
})

describe('planTimes', () => {
  const times = planTimes(
    { dice: createDice(1), count: 20_000 },
    { startSeconds: NOW - 28 * DAY, endSeconds: NOW },
  )

  test('are in order and within the range', () => {
    expect(times).toHaveLength(20_000)
    expect(times.toSorted((one, other) => one - other)).toEqual(times)
    expect(times[0]).toBeGreaterThanOrEqual(NOW - 28 * DAY)
    expect(times.at(-1)).toBeLessThan(NOW)
  })

  test('are mostly in Chinese working hours, and rarely at night or on weekends', () => {
    const localHour = (seconds: number) => Math.floor(((seconds + 8 * 3600) % DAY) / 3600)
    const at = (hour: number) => times.filter((seconds) => localHour(seconds) === hour).length
    expect(at(10)).toBeGreaterThan(at(4) * 10)
    // In China this is 2027-01-15, a Friday; 24 hours later it is Saturday.
    expect(busynessAt(NOW + DAY)).toBeLessThan(busynessAt(NOW) / 2)
  })
})
