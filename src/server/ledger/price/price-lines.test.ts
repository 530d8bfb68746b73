import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { QUOTA_MAX } from '../../../contract/quota.ts'
import type { Ratios } from '../../option/live-options.ts'
import { PLAIN_RATIOS } from '../../test/plain-ratios.ts'
import {
  costOf,
  findPrice,
  priceAt,
  reservationOf,
  type Price,
  type PricedName,
  type UsedTokens,
} from '../price.ts'
import { priceLines, type LineKind, type UsedExtras } from './price-lines.ts'

const mapOf = (entries: Record<string, string>): ReadonlyMap<string, string> =>
  new Map(Object.entries(entries))

function priceOf(over: Partial<Ratios>, name: Partial<PricedName> = {}): Price {
  const found = findPrice(
    { ...PLAIN_RATIOS, ...over },
    { requested: 'm', mapped: 'm', channelType: 1, group: 'default', ...name },
  )
  if (found === null) throw new Error('no price')
  return found
}

const OF_39 = { channelType: 39 }

type Cached = Pick<UsedTokens, 'cacheWriteTokens' | 'cacheWriteHourTokens'> & {
  cachedTokens?: number
}

const used = (
  promptTokens: number,
  completionTokens: number,
  extras?: UsedExtras,
  { cachedTokens = 0, ...written }: Cached = {},
): UsedTokens => ({
  promptTokens,
  cachedTokens,
  ...written,
  completionTokens,
  ...(extras === undefined ? {} : { extras }),
})

describe('a call is billed', () => {
  const model = mapOf({ m: '2' })

  test('per image, by size and quality', () => {
    const picture = mapOf({ 'm/1024x1024': '1', 'm/hd/1024x1024': '2', 'm/1792x1024': '2.5' })
    const price = priceOf({ model, picture })
    const cost = (size: string, quality: string, count = 1) =>
      costOf(price, used(0, 0, { pictures: { count, size, quality } }))
    expect(cost('1024x1024', '')).toBe(2000)
    expect(cost('1024x1024', 'standard')).toBe(2000)
    expect(cost('1024x1024', 'hd', 3)).toBe(12_000)
    expect(cost('1792x1024', '')).toBe(5000)
    // An unknown size or quality costs as much as the most expensive one.
    expect(cost('9x9', '')).toBe(5000)
    expect(cost('1024x1024', 'ultra')).toBe(5000)
    expect(cost('1024x1024', '', 0)).toBe(0)
    // Tokens reported beside images are not charged a second time.
    const both = used(500, 500, { pictures: { count: 1, size: '1024x1024', quality: '' } })
    expect(costOf(price, both)).toBe(2000)
    // A size in a channel type's own list applies there, and only the sizes in that list do.
    const own = priceOf({ model, picture: new Map([...picture, ['m(39)/1024x1024', '4']]) }, OF_39)
    expect(
      costOf(own, used(0, 0, { pictures: { count: 1, size: '1792x1024', quality: '' } })),
    ).toBe(8000)
    const alike = priceOf({ model })
    expect(costOf(alike, used(0, 0, { pictures: { count: 2, size: 'x', quality: 'y' } }))).toBe(
      4000,
    )
  })

  test('by image tokens if the vendor reports them', () => {
    const price = priceOf({ model, image: mapOf({ m: '2' }), imageCompletion: mapOf({ m: '8' }) })
    const extras = { imagePromptTokens: 10, imageCompletionTokens: 100 }
    const pictures = { count: 1, size: '', quality: '' }
    expect(costOf(price, used(15, 100, { ...extras, pictures }))).toBe(5 * 2 + 10 * 4 + 100 * 16)
    // Without a token count, by the image.
    expect(costOf(price, used(0, 0, { pictures }))).toBe(2000)
    // The prompt and the tokens of partial images are charged in addition.
    const read = { imagePromptTokens: 10, pictures: { ...pictures, partialTokens: 300 } }
    expect(costOf(price, used(15, 0, read))).toBe(5 * 2 + 10 * 4 + 2000 + 300 * 16)
    // For a model that is only billed per image, the image price includes everything.
    expect(costOf(priceOf({ model }), used(15, 0, read))).toBe(2000)
  })

  test('per second, with a minute as a thousand tokens', () => {
    const price = priceOf({ model: mapOf({ m: '3' }) })
    expect(costOf(price, used(0, 0, { seconds: 60 }))).toBe(3000)
    expect(costOf(price, used(0, 0, { seconds: 1 }))).toBe(50)
    expect(costOf(priceOf({ model: mapOf({ m: '1' }) }), used(0, 0, { seconds: 1 }))).toBe(17)
  })

  test('per call regardless of usage', () => {
    const price = priceOf(
      { perCall: mapOf({ m: '0.002' }), group: mapOf({ vip: '0.5' }) },
      { group: 'vip' },
    )
    expect(costOf(price, used(10_000, 10_000))).toBe(500)
    expect(costOf(price, used(10, 0, { calls: 3 }))).toBe(1500)
    expect(costOf(price, used(0, 0))).toBe(0)
    expect(price.ratioText).toBe('价格：$0.002 × 0.50')
    expect(priceLines(price, used(7, 0))).toEqual([
      { kind: 'call', count: 1, ratios: ['0.002', '500000'], per: 1 },
    ])
    // A call price of zero makes the call free, even if tokens have a price.
    expect(costOf(priceOf({ model, perCall: mapOf({ m: '0' }) }), used(10, 10))).toBe(0)
  })

  test('for the tools that the upstream ran, with the group ratio', () => {
    const price = priceOf({ model, tool: mapOf({ web_search: '10', file_search: '2.5' }) })
    const extras = { tools: { web_search: 2, file_search: 1, unknown_tool: 9 } }
    expect(costOf(price, used(1, 0, extras))).toBe(2 + 2 * 5000 + 1250)
    expect(costOf(price, used(0, 0, { tools: {} }))).toBe(0)
  })

  // In both cases the image is charged once.
  test.each<[how: string, drawing: Partial<Ratios>, cost: number]>([
    [
      'its pictures by the token',
      { model: mapOf({ m: '2', draws: '3' }), imageCompletion: mapOf({ draws: '8' }) },
      10 * 3 + 100 * 24,
    ],
    ['pictures by the piece', { model: mapOf({ m: '2', draws: '3' }) }, 20_000],
    ['a call', { imageCompletion: mapOf({ draws: '8' }), perCall: mapOf({ draws: '1' }) }, 20_000],
    ['nothing', { imageCompletion: mapOf({ draws: '8' }) }, 20_000],
  ])('for an image generated by a tool, if the model bills %s', (_how, drawing, cost) => {
    const price = priceOf({ model, tool: mapOf({ image_generation: '40' }), ...drawing })
    const drawn = used(10, 100, { imageCompletionTokens: 100 })
    const toolTokens = { tool: 'image_generation', model: 'draws', used: drawn }
    expect(costOf(price, used(1, 0, { tools: { image_generation: 1 }, toolTokens }))).toBe(2 + cost)
  })

  test('for tools and with the cache discount', () => {
    const price = priceOf({ model, cache: mapOf({ m: '0.1' }), tool: mapOf({ web_search: '10' }) })
    const search = { tools: { web_search: 1 } }
    const read = { cachedTokens: 900 }
    expect(costOf(price, used(1000, 0, search, read))).toBe(100 * 2 + 900 * 0.2 + 5000)
    const written = { cacheWriteTokens: 40, cacheWriteHourTokens: 20 }
    expect(costOf(price, used(1000, 0, search, { ...read, ...written }))).toBe(
      40 * 2 + 900 * 0.2 + 40 * 2.5 + 20 * 4 + 5000,
    )
  })

  test('for audio input and output', () => {
    const price = priceOf({
      model,
      completion: mapOf({ m: '4' }),
      audio: mapOf({ m: '16' }),
      audioCompletion: mapOf({ m: '2' }),
    })
    const extras = { audioPromptTokens: 10, audioCompletionTokens: 5 }
    expect(costOf(price, used(30, 8, extras))).toBe(20 * 2 + 10 * 32 + 3 * 8 + 5 * 64)
    // A model without an audio price bills audio as text.
    expect(costOf(priceOf({ model }), used(30, 8, extras))).toBe(76)
  })

  test('for audio read from the cache', () => {
    const price = priceOf({ model, audio: mapOf({ m: '16' }), cache: mapOf({ m: '0.25' }) })
    const cached = { promptTokens: 100, cachedTokens: 80, completionTokens: 0 }
    const extras = { audioPromptTokens: 10, audioCachedTokens: 60 }
    expect(costOf(price, { ...cached, extras })).toBe(10 * 2 + 10 * 32 + 20 * 0.5 + 60 * 8)
    // Never more cached audio than cached tokens.
    expect(costOf(price, { ...cached, extras: { audioCachedTokens: 500 } })).toBe(20 * 2 + 80 * 8)
  })

  test('one point at least, even if the used part is free', () => {
    const price = priceOf({ model, audio: mapOf({ m: '0' }) })
    expect(costOf(price, used(100, 0, { audioPromptTokens: 100 }))).toBe(1)
    expect(costOf(price, used(0, 0, { audioPromptTokens: 0 }))).toBe(0)
    const free = priceOf({ model: mapOf({ m: '0' }) })
    expect(costOf(free, used(100, 0, { audioPromptTokens: 100 }))).toBe(0)
  })

  test('parts that exceed the total are reduced to it', () => {
    const price = priceOf({ model, audio: mapOf({ m: '10' }) })
    const extras = { audioPromptTokens: 500, imagePromptTokens: 500, audioCompletionTokens: 500 }
    expect(costOf(price, used(3, 2, extras))).toBe(3 * 20 + 2 * 2)
  })
})

describe('long prompts', () => {
  const tiers = new Map([
    [
      'm',
      [
        { above: 100, prompt: '2', completion: '0.75', cache: '1' },
        { above: 1000, prompt: '3', completion: '1', cache: '0.5' },
      ],
    ],
  ])
  const model = mapOf({ m: '2' })
  const price = priceOf({ model, completion: mapOf({ m: '4' }), tiers })

  test.each([
    [100, 2, '4', null],
    [101, 4, '3', 100],
    [1000, 4, '3', 100],
    [1001, 6, '4', 1000],
  ])('of %i tokens', (tokens, modelRatio, completionRatio, tierAbove) => {
    const applied = priceAt(price, tokens)
    expect(applied).toMatchObject({ modelRatio: String(modelRatio), tierAbove })
    expect(Number(applied.completionRatio)).toBe(Number(completionRatio))
    const cost = tokens * modelRatio + 10 * modelRatio * Number(completionRatio)
    expect(costOf(price, used(tokens, 10))).toBe(cost)
  })

  test('cached tokens count towards the length', () => {
    const cached = { promptTokens: 101, cachedTokens: 101, completionTokens: 0 }
    expect(costOf(price, cached)).toBe(404)
  })

  test('have a separate price for cached tokens', () => {
    const cached = { promptTokens: 1001, cachedTokens: 1000, completionTokens: 0 }
    expect(costOf(price, cached)).toBe(6 + 1000 * 6 * 0.5)
  })

  test('have a price per channel type, which takes precedence', () => {
    const both = new Map([
      ['m', [{ above: 100, prompt: '2', completion: '1', cache: '1' }]],
      ['m(28)', [{ above: 100, prompt: '3', completion: '1', cache: '1' }]],
    ])
    const at = (channelType: number) => priceOf({ model, tiers: both }, { channelType })
    expect(costOf(at(28), used(200, 10))).toBe(1260)
    expect(costOf(at(1), used(200, 10))).toBe(840)
  })

  test('are reserved at their price', () => {
    const call = { promptTokens: 101, maxCompletionTokens: 10, preConsumedTokens: 0 }
    expect(reservationOf(price, call)).toBe(101 * 4 + 10 * 12)
  })
})

test('the requested name applies if it has any price, else the mapped name', () => {
  const ratios = { ...PLAIN_RATIOS, perCall: mapOf({ sold: '1' }), model: mapOf({ mapped: '3' }) }
  const find = (requested: string, mapped: string) =>
    findPrice(ratios, { requested, mapped, channelType: 1, group: 'default' })
  expect(find('sold', 'mapped')).toMatchObject({ pricedAs: 'sold', perCall: '1' })
  expect(find('other', 'sold')).toMatchObject({ pricedAs: 'sold', perCall: '1' })
  expect(find('other', 'mapped')).toMatchObject({ pricedAs: 'mapped', perCall: null })
  expect(find('other', 'neither')).toBeNull()
})

describe('for any usage', () => {
  const ratio = fc
    .tuple(fc.nat(99_999), fc.nat(9))
    .map(([n, d]) => `${Math.floor(n / 10)}.${n % 10}${d}`)
  const tokens = fc.nat(2_000_000)
  const extras = fc.record(
    {
      audioPromptTokens: tokens,
      audioCachedTokens: tokens,
      audioCompletionTokens: tokens,
      imagePromptTokens: tokens,
      imageCompletionTokens: tokens,
      seconds: fc.nat(86_400),
      tools: fc.record({ web_search: fc.nat(50) }),
    },
    { requiredKeys: [] },
  )
  const call = fc
    .record({
      fresh: tokens,
      cached: fc.record({
        cachedTokens: tokens,
        cacheWriteTokens: tokens,
        cacheWriteHourTokens: tokens,
      }),
      completion: tokens,
      more: extras,
    })
    .map(({ fresh, cached, completion, more }) => {
      const prompt = Object.values(cached).reduce((sum, count) => sum + count, fresh)
      return used(prompt, completion, more, cached)
    })
  const NAMES = [
    'model',
    'completion',
    'cache',
    'cacheWrite',
    'audio',
    'audioCompletion',
    'image',
    'imageCompletion',
  ] as const
  const price = fc
    .tuple(fc.array(ratio, { minLength: NAMES.length, maxLength: NAMES.length }), ratio, ratio)
    .map(([found, group, tool]) =>
      priceOf({
        ...Object.fromEntries(NAMES.map((name, index) => [name, mapOf({ m: found[index] ?? '' })])),
        group: mapOf({ default: group }),
        tool: mapOf({ web_search: tool }),
      }),
    )

  test('the lines add up to the exact cost, and a fraction of a point is rounded up', () => {
    fc.assert(
      fc.property(price, call, (sold, of) => {
        const lines = priceLines(sold, of)
        // Recomputed in thousandths, because no ratio has more decimals.
        let sum = 0n
        for (const { count, ratios: applied, per } of lines) {
          let term = BigInt(count) * BigInt(60_000 / per)
          for (const text of applied) term *= BigInt(Math.round(Number(text) * 1000))
          sum += term * 1000n ** BigInt(4 - applied.length)
        }
        const unit = 60_000n * 1000n ** 5n
        const exact = sum * BigInt(Math.round(Number(sold.groupRatio) * 1000))
        const points = (exact + unit - 1n) / unit
        const expected = points > BigInt(QUOTA_MAX) ? QUOTA_MAX : Number(points)
        const isFree =
          Number(sold.modelRatio) * Number(sold.groupRatio) === 0 ||
          of.promptTokens + of.completionTokens === 0
        expect(costOf(sold, of)).toBe(isFree ? expected : Math.max(1, expected))
      }),
    )
  })

  test('no token is counted twice or omitted', () => {
    fc.assert(
      fc.property(price, call, (sold, of) => {
        const counted = (...kinds: LineKind[]) =>
          priceLines(sold, of)
            .filter(({ kind }) => kinds.includes(kind))
            .reduce((sum, { count }) => sum + count, 0)
        const { cachedTokens, cacheWriteTokens = 0, cacheWriteHourTokens = 0 } = of
        const fresh = of.promptTokens - cachedTokens - cacheWriteTokens - cacheWriteHourTokens
        expect(counted('prompt', 'audio_prompt', 'image_prompt')).toBe(fresh)
        expect(counted('cached', 'audio_cached')).toBe(cachedTokens)
        expect(counted('cache_write')).toBe(cacheWriteTokens)
        expect(counted('cache_write_hour')).toBe(cacheWriteHourTokens)
        expect(counted('completion', 'audio_completion', 'image_completion')).toBe(
          of.completionTokens,
        )
      }),
    )
  })

  test('more usage never costs less', () => {
    fc.assert(
      fc.property(price, call, (sold, of) => {
        const { promptTokens, completionTokens, extras: rest = {} } = of
        const seconds = (rest.seconds ?? 0) + 1
        for (const one of [
          { promptTokens: promptTokens + 1 },
          { completionTokens: completionTokens + 1 },
          { extras: { ...rest, seconds } },
        ]) {
          expect(costOf(sold, { ...of, ...one })).toBeGreaterThanOrEqual(costOf(sold, of))
        }
      }),
    )
  })
})
