import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PLAIN_RATIOS } from '../../test/plain-ratios.ts'
import { costOf, costOfLines, findPrice, priceAt, type Price } from '../price.ts'
import { type UsedTokens, bookedFactors, costOfFactors } from './price-lines.ts'

const digits = fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9)).map((drawn) => drawn.join(''))
/** From zero to more than any model costs, with few decimals as in real settings. */
const ratio = fc
  .tuple(fc.constantFrom('0', '0', '1', '12', '999999'), fc.constantFrom('', '0', '00000'), digits)
  .map(([whole, zeros, fraction]) => `${whole}.${zeros}${fraction}`)
  .chain((text) => fc.constantFrom('0', '1', text))
const MAPS = [
  'model',
  'completion',
  'cache',
  'cacheWrite',
  'cacheWriteHour',
  'audio',
  'audioCompletion',
  'image',
  'imageCompletion',
  'tool',
]
const aPrice = fc
  .record({
    ratios: fc.array(ratio, { minLength: MAPS.length, maxLength: MAPS.length }),
    group: ratio,
    perCall: fc.option(ratio, { freq: 5 }),
    tier: fc.option(ratio, { freq: 3 }),
  })
  .map(({ ratios, group, perCall, tier }): Price => {
    const one = (value: string) => new Map([['m', value]])
    const found = findPrice(
      {
        ...PLAIN_RATIOS,
        ...Object.fromEntries(MAPS.map((name, index) => [name, one(ratios[index] ?? '')])),
        group: new Map([['vip', group]]),
        ...(perCall === null ? {} : { perCall: one(perCall) }),
        ...(tier === null
          ? {}
          : {
              tiers: new Map([['m', [{ above: 50, prompt: tier, completion: '2', cache: '0.5' }]]]),
            }),
      },
      { requested: 'm', mapped: 'm', channelType: 1, group: 'vip' },
    )
    if (found === null) throw new Error('no price')
    return found
  })
const count = fc.oneof(fc.constant(0), fc.nat(3), fc.nat(100), fc.nat(3_000_000))
const aCall = fc
  .record({
    fresh: count,
    cached: fc.record({
      cachedTokens: count,
      cacheWriteTokens: count,
      cacheWriteHourTokens: count,
    }),
    completionTokens: count,
    extras: fc.option(
      fc.record(
        {
          audioPromptTokens: count,
          audioCachedTokens: count,
          audioCompletionTokens: count,
          imagePromptTokens: count,
          imageCompletionTokens: count,
          seconds: fc.nat(86_400),
          pictures: fc.record({
            count: fc.nat(10),
            size: fc.constant('x'),
            quality: fc.constant(''),
          }),
          tools: fc.record({ m: fc.nat(50) }),
        },
        { requiredKeys: [] },
      ),
    ),
  })
  .map(({ fresh, cached, completionTokens, extras }): UsedTokens => {
    const promptTokens = Object.values(cached).reduce((sum, part) => sum + part, fresh)
    return { promptTokens, completionTokens, ...cached, ...(extras === null ? {} : { extras }) }
  })

const ASKED = { requestedModel: 'm', source: 'upstream' } as const

test('precomputed factors give the same cost as the price lines', () => {
  fc.assert(
    fc.property(aPrice, aCall, (ordinary, used) => {
      const price = priceAt(ordinary, used.promptTokens)
      expect(costOf(ordinary, used)).toBe(costOfLines(price, used))
    }),
    { numRuns: 500 },
  )
})

test('reconcile computes the charged cost from the booked factors', () => {
  fc.assert(
    fc.property(aPrice, aCall, (price, used) => {
      const booked = bookedFactors(priceAt(price, used.promptTokens), used, ASKED)
      expect(costOfFactors(JSON.stringify(booked))).toBe(costOf(price, used))
    }),
    { numRuns: 1000 },
  )
})

test.each(['', '{', 'null', '[]', '{"proxy_call":7}', '{"price_version":"9f"}'])(
  'reconcile computes no cost from factors without a price: %s',
  (detail) => {
    expect(costOfFactors(detail)).toBeNull()
  },
)
