import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ChannelStatus } from '../../../contract/channel.ts'
import { sha256 } from '../../secrets.ts'
import { chooseChannel, tiersOf, type RoutableChannel } from './choose-channel.ts'

function channel(id: number, over: Partial<RoutableChannel> = {}): RoutableChannel {
  return {
    id,
    type: 1,
    key: 'sk-key',
    keyId: '',
    account: '',
    keyed: [],
    pause: null,
    name: `channel ${id}`,
    baseUrl: 'http://127.0.0.1:9',
    priority: 0,
    weight: 0,
    isEnabled: true,
    modelMapping: new Map(),
    systemPrompt: '',
    apiVersion: '',
    config: {},
    overrides: { proxy: undefined, headers: {}, params: {} },
    models: [],
    row: {
      id,
      type: 1,
      key: 'sk-key',
      status: ChannelStatus.enabled,
      name: '',
      weight: 0,
      created_time: 0,
      test_time: 0,
      response_time: 0,
      base_url: '',
      other: '',
      balance: 0,
      balance_updated_time: 0,
      models: '',
      group: 'default',
      used_quota: 0,
      model_mapping: '',
      priority: 0,
      config: '',
      system_prompt: '',
      test_model: '',
    },
    ...over,
  }
}

/** Numbers from 0 to below 1, the same in every run. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const ids = (tiers: readonly (readonly RoutableChannel[])[]): number[][] =>
  tiers.map((tier) => tier.map(({ id }) => id))

describe('tiers', () => {
  test('go by priority, the highest first; negative and zero are like any other', () => {
    const channels = [5, -3, 0, 5, -3].map((priority, id) => channel(id, { priority }))
    expect(ids(tiersOf(channels))).toEqual([[0, 3], [2], [1, 4]])
    expect(tiersOf([])).toEqual([])
  })
})

describe('the choice', () => {
  const noneTried: ReadonlySet<number> = new Set()
  const DRAWS = 20_000

  function shares(channels: RoutableChannel[], tried = noneTried): Record<number, number> {
    const random = seeded(42)
    const tiers = tiersOf(channels)
    const counts: Record<number, number> = {}
    for (let draw = 0; draw < DRAWS; draw += 1) {
      const id = chooseChannel(tiers, tried, random)?.id ?? -1
      counts[id] = (counts[id] ?? 0) + 1
    }
    return counts
  }

  test('takes only the highest tier that has an untried channel', () => {
    const tiers = tiersOf([
      channel(1, { priority: 2 }),
      channel(2, { priority: 2 }),
      channel(3, { priority: 1 }),
    ])
    const random = seeded(7)
    const order: number[] = []
    const tried = new Set<number>()
    for (;;) {
      const chosen = chooseChannel(tiers, tried, random)
      if (chosen === null) break
      order.push(chosen.id)
      tried.add(chosen.id)
    }
    expect(order.toSorted()).toEqual([1, 2, 3])
    expect(order[2]).toBe(3)
  })

  test('follows the weights as shares', () => {
    const counts = shares([channel(1, { weight: 30 }), channel(2, { weight: 10 })])
    expect((counts[1] ?? 0) / DRAWS).toBeCloseTo(0.75, 1)
    expect((counts[2] ?? 0) / DRAWS).toBeCloseTo(0.25, 1)
  })

  test('is even where all weights are 0', () => {
    const counts = shares([channel(1), channel(2), channel(3), channel(4)])
    for (const id of [1, 2, 3, 4]) expect((counts[id] ?? 0) / DRAWS).toBeCloseTo(0.25, 1)
  })

  test('gives a weight of 0 beside others nothing, until the others have been tried', () => {
    const channels = [channel(1, { weight: 5 }), channel(2)]
    expect(shares(channels)).toEqual({ 1: DRAWS })
    expect(shares(channels, new Set([1]))).toEqual({ 2: DRAWS })
    const idleFirst = tiersOf([channel(2), channel(1, { weight: 5 })])
    expect(chooseChannel(idleFirst, noneTried, () => 0)?.id).toBe(1)
  })

  test('is the preferred channel if it is a candidate', () => {
    const [first, light, idle, low] = [
      channel(1, { weight: 99 }),
      channel(2, { weight: 1 }),
      channel(3),
      channel(4, { priority: -1 }),
    ]
    const tiers = tiersOf([first, light, idle, low])
    const chosen = (preferred: number, over: { tried?: number[]; admits?: () => boolean } = {}) => {
      const { tried = [], ...wish } = over
      return chooseChannel(tiers, new Set(tried), () => 0, { preferred, ...wish })
    }
    expect(chosen(2)).toBe(light)
    // A preferred channel with a weight of 0 among others, or a lower priority, is not a candidate.
    expect(chosen(3)).toBe(first)
    expect(chosen(3, { tried: [1, 2] })).toBe(idle)
    expect(chosen(4)).toBe(first)
    expect(chosen(2, { tried: [2] })).toBe(first)
    expect(chosen(2, { admits: () => false })).toBeNull()
  })

  test('of a conversation depends on its name and the weights, not on the random generator', () => {
    const channels = [
      channel(1, { weight: 30 }),
      channel(2, { weight: 10 }),
      channel(3),
      channel(4, { weight: 99, priority: -1 }),
    ]
    const NAMES = Array.from({ length: 4000 }, (_, index) => sha256(String(index)))
    const chosen = (conversation: string, wish = {}) =>
      chooseChannel(tiersOf(channels), noneTried, seeded(1), { conversation, ...wish })?.id
    const drawn = NAMES.map((name) => chosen(name))
    expect(NAMES.map((name) => chosen(name))).toEqual(drawn)
    const share = (id: number) => drawn.filter((one) => one === id).length / NAMES.length
    expect([share(3), share(4)]).toEqual([0, 0])
    expect(share(1)).toBeGreaterThan(0.72)
    expect(share(1)).toBeLessThan(0.78)
    // The last channel comes first; a channel that may not be asked is never assigned.
    for (const name of NAMES.slice(0, 20)) {
      expect([chosen(name, { preferred: 1 }), chosen(name, { preferred: 2 })]).toEqual([1, 2])
      expect(chosen(name, { admits: ({ id }: RoutableChannel) => id !== 1 })).toBe(2)
    }
  })

  test('is null if every channel has been tried, or the group has no channel', () => {
    expect(chooseChannel(tiersOf([channel(1)]), new Set([1]), () => 0)).toBeNull()
    expect(chooseChannel([], noneTried, () => 0)).toBeNull()
  })

  test('is always an untried channel of the best tier left, for any weights and randomness', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            priority: fc.integer({ min: -2, max: 2 }),
            weight: fc.nat({ max: 1_000_000 }),
            isTried: fc.boolean(),
          }),
          { maxLength: 12 },
        ),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (specs, value) => {
          const channels = specs.map(({ priority, weight }, id) =>
            channel(id, { priority, weight }),
          )
          const tried = new Set(specs.flatMap(({ isTried }, id) => (isTried ? [id] : [])))
          const left = channels.filter(({ id }) => !tried.has(id))
          const chosen = chooseChannel(tiersOf(channels), tried, () => value)
          if (left.length === 0) {
            expect(chosen).toBeNull()
            return
          }
          const best = Math.max(...left.map(({ priority }) => priority))
          expect(left.find(({ id }) => id === chosen?.id)?.priority).toBe(best)
          const weights = left.filter(({ priority }) => priority === best)
          const someWeight = weights.some(({ weight }) => weight > 0)
          if (someWeight) expect(chosen?.weight).toBeGreaterThan(0)
        },
      ),
    )
  })
})
