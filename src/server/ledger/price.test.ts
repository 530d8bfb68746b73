import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { defaultRatios } from '../option/default-ratios.ts'
import type { Ratios } from '../option/live-options.ts'
import { PLAIN_RATIOS } from '../test/plain-ratios.ts'
import { priceLines } from './price/price-lines.ts'
import { costOf, findPrice, reservationOf, type Price, type PricedName } from './price.ts'

const none: ReadonlyMap<string, string> = new Map()

function ratios(over: {
  model?: Record<string, string>
  completion?: Record<string, string>
  group?: Record<string, string>
  cache?: Record<string, string>
  cacheWrite?: Record<string, string>
  cacheWriteHour?: Record<string, string>
  otherwise?: string
}): Ratios {
  const mapOf = (entries: Record<string, string> = {}) => new Map(Object.entries(entries))
  return {
    ...PLAIN_RATIOS,
    model: mapOf(over.model),
    completion: mapOf(over.completion),
    group: mapOf(over.group),
    cache: mapOf(over.cache),
    cacheWrite: mapOf(over.cacheWrite),
    cacheWriteHour: mapOf(over.cacheWriteHour),
    otherwise: over.otherwise,
    version: '9f86d081884c7d65',
  }
}

const named = (requested: string, over: Partial<PricedName> = {}): PricedName => ({
  requested,
  mapped: requested,
  channelType: 1,
  group: 'default',
  ...over,
})

function price(from: Ratios, name: PricedName): Price {
  const found = findPrice(from, name)
  if (found === null) throw new Error(`no price for ${name.requested}`)
  return found
}

const used = (promptTokens: number, completionTokens: number, cachedTokens = 0) => ({
  promptTokens,
  completionTokens,
  cachedTokens,
})

/** Returns a price with these ratios. */
const of = (model: string, completion = '1', group = '1', cache = '1'): Price =>
  price(
    ratios({
      model: { m: model },
      completion: { m: completion },
      group: { default: group },
      cache: { m: cache },
    }),
    named('m'),
  )

describe('the cost of a call', () => {
  test.each([
    // Charges of a real One API server for the same figures.
    ['gpt-4o-mini', of('0.075', '4'), used(11, 7), 3],
    ['gpt-3.5-turbo', of('0.25', '3'), used(11, 7), 8],
    ['gpt-3.5-turbo, older form', of('0.25', '3'), used(5, 3), 4],
    ['embeddings', of('0.075', '4'), used(6, 0), 1],
    ['moderations', of('0.075', '4'), used(1, 0), 1],
    ['ratio 1', of('1', '4'), used(11, 7), 39],
    // Rounded up, once.
    ['just above a point', of('0.1'), used(11, 0), 2],
    ['a whole number of points', of('0.1'), used(20, 0), 2],
    ['three tenths, which floating point gets wrong', of('0.1', '3'), used(0, 10), 3],
    ['0.1 + 0.2', of('0.1', '2'), used(10, 10), 3],
    // At least one point if there is a price and any usage.
    ['next to nothing', of('0.000001'), used(1, 0), 1],
    ['nothing used', of('30'), used(0, 0), 0],
    ['free model', of('0', '4'), used(1000, 1000), 0],
    ['free group', of('15', '4', '0'), used(1000, 1000), 0],
    ['free completion', of('1', '0'), used(0, 1000), 1],
    // Groups and caches.
    ['a dearer group', of('1', '1', '2.5'), used(10, 10), 50],
    ['a cheaper group', of('1', '1', '0.5'), used(10, 10), 10],
    ['cached prompt', of('1', '2', '1', '0.5'), used(100, 10, 80), 20 + 40 + 20],
    ['all of it cached, for free', of('1', '1', '1', '0'), used(100, 0, 100), 1],
  ])('%s', (_what, priced, tokens, points) => {
    expect(costOf(priced, tokens)).toBe(points)
  })

  describe('cache writes', () => {
    const writing = { promptTokens: 100, cachedTokens: 20, completionTokens: 10 }
    const parts = { ...writing, cacheWriteTokens: 40, cacheWriteHourTokens: 8 }
    const at = (over: Parameters<typeof ratios>[0]): Price =>
      price(
        ratios({ model: { m: '1' }, completion: { m: '2' }, cache: { m: '0.1' }, ...over }),
        named('m'),
      )

    test('cost 1.25 times the prompt price, and twice it for an hour, by default', () => {
      expect(costOf(at({}), parts)).toBe(32 + 2 + 50 + 16 + 20)
      expect(at({})).toMatchObject({ cacheWriteRatio: '1.25', cacheWriteHourRatio: '2' })
    })

    test('cost the configured ratio; the hourly ratio follows from it', () => {
      const set = at({ cacheWrite: { m: '1.5' } })
      expect(set.cacheWriteHourRatio).toBe('2.4')
      expect(costOf(set, parts)).toBe(Math.ceil(32 + 2 + 60 + 8 * 2.4 + 20))
      const both = at({ cacheWrite: { m: '0' }, cacheWriteHour: { m: '0.5' } })
      expect(costOf(both, parts)).toBe(32 + 2 + 0 + 4 + 20)
    })

    test('are rounded up once, together with the rest', () => {
      const cheap = at({ model: { m: '0.001' }, cacheWrite: { m: '0.333333333333333' } })
      expect(costOf(cheap, { ...parts, cacheWriteHourTokens: 0 })).toBe(1)
    })

    test('of tokens that are also read from the cache cost both, and not as fresh prompt', () => {
      const both = { ...writing, promptTokens: 27, cacheWriteTokens: 20, cacheOverlapTokens: 20 }
      expect(costOf(at({}), both)).toBe(7 + 2 + 25 + 20)
      expect(priceLines(at({}), both).map(({ kind, count }) => [kind, count])).toEqual([
        ['prompt', 7],
        ['cached', 20],
        ['cache_write', 20],
        ['completion', 10],
      ])
    })

    test('do not change the cost of calls that write nothing', () => {
      expect(costOf(at({}), writing)).toBe(80 + 2 + 20)
    })
  })

  test('never exceeds the maximum of the ledger', () => {
    const dear = of('1000000', '1000000', '1000000')
    expect(costOf(dear, used(20_000_000, 20_000_000))).toBe(QUOTA_MAX)
    const estimate = { promptTokens: 1, maxCompletionTokens: 100_000_000, preConsumedTokens: 0 }
    expect(reservationOf(dear, estimate)).toBe(QUOTA_MAX)
  })

  /** A decimal with up to 15 significant digits, as an operator may enter it. */
  const ratio = fc
    .tuple(fc.bigInt({ min: 0n, max: 10n ** 15n - 1n }), fc.integer({ min: 0, max: 15 }))
    .map(([digits, decimals]) => {
      const text = digits.toString().padStart(decimals + 1, '0')
      const whole = text.slice(0, text.length - decimals)
      return {
        text: decimals === 0 ? whole : `${whole}.${text.slice(-decimals)}`,
        digits,
        decimals,
      }
    })
    .filter(({ text }) => Number(text) <= 1_000_000)

  test('is exact for ratios of any precision', () => {
    const tokens = fc.integer({ min: 0, max: 20_000_000 })
    fc.assert(
      fc.property(
        fc.tuple(ratio, ratio, ratio, ratio),
        fc.tuple(tokens, tokens, tokens),
        ([model, completion, group, cache], [prompt, produced, cachedWish]) => {
          const cached = Math.min(cachedWish, prompt)
          const priced = of(model.text, completion.text, group.text, cache.text)
          // All terms over one denominator, rounded up once.
          const scale = (one: { digits: bigint; decimals: number }, decimals: number): bigint =>
            one.digits * 10n ** BigInt(decimals - one.decimals)
          const parts =
            BigInt(prompt - cached) * scale({ digits: 1n, decimals: 0 }, 15) +
            BigInt(cached) * scale(cache, 15) +
            BigInt(produced) * scale(completion, 15)
          const exact = parts * scale(model, 15) * scale(group, 15)
          const unit = 10n ** 45n
          const ceiling = exact / unit + (exact % unit === 0n ? 0n : 1n)
          const isFree = model.digits * group.digits === 0n || prompt + produced === 0
          const least = isFree ? 0n : ceiling === 0n ? 1n : ceiling
          const bounded = least > BigInt(QUOTA_MAX) ? BigInt(QUOTA_MAX) : least
          expect(BigInt(costOf(priced, used(prompt, produced, cached)))).toBe(bounded)
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('increases with every figure, and is always a whole number of points in range', () => {
    const tokens = fc.integer({ min: 0, max: 20_000_000 })
    fc.assert(
      fc.property(
        fc.tuple(ratio, ratio, ratio),
        fc.tuple(tokens, tokens, fc.integer({ min: 0, max: 1000 })),
        ([model, completion, group], [prompt, produced, more]) => {
          const priced = of(model.text, completion.text, group.text)
          const cost = costOf(priced, used(prompt, produced))
          expect(Number.isSafeInteger(cost) && cost >= 0).toBe(true)
          expect(costOf(priced, used(prompt + more, produced))).toBeGreaterThanOrEqual(cost)
          expect(costOf(priced, used(prompt, produced + more))).toBeGreaterThanOrEqual(cost)
        },
      ),
    )
  })
})

describe('the reservation for a call', () => {
  const dear = of('2', '3')
  const hold = (maxCompletionTokens: number | null, preConsumedTokens = 500) =>
    reservationOf(dear, { promptTokens: 10, maxCompletionTokens, preConsumedTokens })

  test('covers the prompt and the completion tokens that the client allows', () => {
    expect(hold(100)).toBe((10 + 100 * 3) * 2)
    expect(hold(1)).toBe((10 + 3) * 2)
  })

  test('uses the operator’s default at the prompt price if the client sets no limit', () => {
    expect(hold(null)).toBe((10 + 500) * 2)
    expect(hold(null, 0)).toBe(20)
  })

  test('is bounded if the client allows a huge number of tokens', () => {
    expect(hold(100_000_000)).toBe((10 + 10_000_000 * 3) * 2)
  })

  test('is zero for a free model', () => {
    const estimate = { promptTokens: 10, maxCompletionTokens: 100, preConsumedTokens: 500 }
    expect(reservationOf(of('0'), estimate)).toBe(0)
  })
})

describe('the price of a model name', () => {
  const model = { asked: '1', sent: '2', 'typed(14)': '3', typed: '4' }

  test('is that of the requested name if it has an entry, else that of the mapped name', () => {
    const from = ratios({ model })
    const mapped = named('asked', { mapped: 'sent' })
    expect(price(from, mapped)).toMatchObject({ pricedAs: 'asked', modelRatio: '1' })
    const alias = named('alias', { mapped: 'sent' })
    expect(price(from, alias)).toMatchObject({ pricedAs: 'sent', modelRatio: '2' })
  })

  test('is that of the channel type if it has an entry', () => {
    const from = ratios({ model })
    expect(price(from, named('typed', { channelType: 14 })).modelRatio).toBe('3')
    expect(price(from, named('typed')).modelRatio).toBe('4')
    expect(findPrice(ratios({ model: { 'x(14)': '1' } }), named('x'))).toBeNull()
  })

  test('is the operator’s default for names without an entry, or missing', () => {
    expect(findPrice(ratios({ model }), named('unknown'))).toBeNull()
    const from = ratios({ model, otherwise: '30' })
    expect(price(from, named('unknown', { mapped: 'x' }))).toMatchObject({
      pricedAs: 'unknown',
      modelRatio: '30',
    })
    // The default applies last: an entry for the mapped name takes precedence.
    expect(price(from, named('alias', { mapped: 'sent' })).modelRatio).toBe('2')
  })

  test('takes the completion ratio from the same name: its entry, or the default for the name', () => {
    const from = ratios({ model: { 'gpt-4o': '1', 'gpt-3.5-turbo': '1' }, otherwise: '1' })
    expect(price(from, named('gpt-4o')).completionRatio).toBe('4')
    expect(price(from, named('x', { mapped: 'gpt-3.5-turbo' })).completionRatio).toBe('3')
    expect(price(from, named('anything')).completionRatio).toBe('1')
    const own = ratios({ model: { 'gpt-4o': '1' }, completion: { 'gpt-4o': '7.5' } })
    expect(price(own, named('gpt-4o')).completionRatio).toBe('7.5')
  })

  test('has a group ratio of 1 for a group without a ratio', () => {
    const from = ratios({ model, group: { vip: '0.8' } })
    expect(price(from, named('asked', { group: 'vip' })).groupRatio).toBe('0.8')
    expect(price(from, named('asked', { group: 'toString' })).groupRatio).toBe('1')
  })

  test('is the same for the `-internet` variant of a model', () => {
    const from = ratios({ model: { 'qwen-max': '1.5' } })
    expect(price(from, named('qwen-max-internet')).modelRatio).toBe('1.5')
  })

  test('exists and can be computed for every built-in model', () => {
    const built = defaultRatios()
    const from: Ratios = {
      ...PLAIN_RATIOS,
      model: built.ModelRatio,
      completion: built.CompletionRatio,
      group: none,
      cache: built.CacheRatio,
      cacheWrite: built.CreateCacheRatio,
      cacheWriteHour: built.CreateCache1hRatio,
      otherwise: undefined,
      version: '9f86d081884c7d65',
    }
    for (const name of built.ModelRatio.keys()) {
      const priced = price(from, named(name))
      expect(Number.isSafeInteger(costOf(priced, used(1000, 1000, 500)))).toBe(true)
    }
  })

  test('is cached for a bounded number of names', () => {
    const known = ratios({ otherwise: '1' })
    const isRemembered = (name: string) =>
      findPrice(known, named(name)) === findPrice(known, named(name))
    for (let made = 0; made < 10_000; made += 1) findPrice(known, named(`made-up-${made}`))
    expect(isRemembered('made-up-9999')).toBe(true)
    expect(isRemembered('one-more')).toBe(false)
    expect(findPrice(known, named('one-more'))).toMatchObject({ modelRatio: '1' })
  })

  test('throws for a ratio that is not a decimal', () => {
    for (const text of ['1e3', '-1', '', ' 1', '1.', '.5']) {
      expect(() => of(text)).toThrow('not a decimal')
    }
  })
})

test('the log text shows ratios as booked, with at least two decimals', () => {
  expect(of('0.075', '4').ratioText).toBe('倍率：0.075 × 1.00 × 4.00')
  expect(of('15', '1.33333333333333', '0.5').ratioText).toBe(
    '倍率：15.00 × 0.50 × 1.33333333333333',
  )
})
