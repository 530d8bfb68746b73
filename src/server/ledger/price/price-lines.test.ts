import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { QUOTA_MAX } from '../../../contract/quota.ts'
import type { Ratios } from '../../option/live-options.ts'
import { PLAIN_RATIOS } from '../../test/plain-ratios.ts'
import { costOf, findPrice, priceAt, reservationOf, type Price, type PricedName } from '../price.ts'
import { pointsOfLines, priceLines, type UsedExtras } from './price-lines.ts'

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

const used = (promptTokens: number, completionTokens: number, extras?: UsedExtras) => ({
  promptTokens,
  cachedTokens: 0,
  completionTokens,
  ...(extras === undefined ? {} : { extras }),
})

describe('a call is sold', () => {
  const model = mapOf({ m: '2' })

  test('by the picture, by size and quality', () => {
    const picture = mapOf({ 'm/1024x1024': '1', 'm/hd/1024x1024': '2', 'm/1792x1024': '2.5' })
    const price = priceOf({ model, picture })
    const cost = (size: string, quality: string, count = 1) =>
      costOf(price, used(0, 0, { pictures: { count, size, quality } }))
    expect(cost('1024x1024', '')).toBe(2000)
    expect(cost('1024x1024', 'standard')).toBe(2000)
    expect(cost('1024x1024', 'hd', 3)).toBe(12_000)
    expect(cost('1792x1024', '')).toBe(5000)
    // What nobody here knows is as dear as the dearest.
    expect(cost('9x9', '')).toBe(5000)
    expect(cost('1024x1024', 'ultra')).toBe(5000)
    expect(cost('1024x1024', '', 0)).toBe(0)
    // Tokens beside pictures are no second charge.
    const both = used(500, 500, { pictures: { count: 1, size: '1024x1024', quality: '' } })
    expect(costOf(price, both)).toBe(2000)
    // A size of one channel type's own list counts there, and only what that list names.
    const own = priceOf({ model, picture: new Map([...picture, ['m(39)/1024x1024', '4']]) }, OF_39)
    expect(
      costOf(own, used(0, 0, { pictures: { count: 1, size: '1792x1024', quality: '' } })),
    ).toBe(8000)
    const alike = priceOf({ model })
    expect(costOf(alike, used(0, 0, { pictures: { count: 2, size: 'x', quality: 'y' } }))).toBe(
      4000,
    )
  })

  test('by the tokens of a picture, where the vendor counts them', () => {
    const price = priceOf({ model, image: mapOf({ m: '2' }), imageCompletion: mapOf({ m: '8' }) })
    const extras = { imagePromptTokens: 10, imageCompletionTokens: 100 }
    const pictures = { count: 1, size: '', quality: '' }
    expect(costOf(price, used(15, 100, { ...extras, pictures }))).toBe(5 * 2 + 10 * 4 + 100 * 16)
    // Nobody counted: by the piece.
    expect(costOf(price, used(0, 0, { pictures }))).toBe(2000)
  })

  test('by the second, a minute being a thousand tokens', () => {
    const price = priceOf({ model: mapOf({ m: '3' }) })
    expect(costOf(price, used(0, 0, { seconds: 60 }))).toBe(3000)
    expect(costOf(price, used(0, 0, { seconds: 1 }))).toBe(50)
    expect(costOf(priceOf({ model: mapOf({ m: '1' }) }), used(0, 0, { seconds: 1 }))).toBe(17)
  })

  test('by the call, whatever it uses', () => {
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
  })

  test('with the tools that the upstream ran, which the group’s ratio covers', () => {
    const price = priceOf({ model, tool: mapOf({ web_search: '10', file_search: '2.5' }) })
    const extras = { tools: { web_search: 2, file_search: 1, unknown_tool: 9 } }
    expect(costOf(price, used(1, 0, extras))).toBe(2 + 2 * 5000 + 1250)
    expect(costOf(price, used(0, 0, { tools: {} }))).toBe(0)
  })

  test('with speech in and out', () => {
    const price = priceOf({
      model,
      completion: mapOf({ m: '4' }),
      audio: mapOf({ m: '16' }),
      audioCompletion: mapOf({ m: '2' }),
    })
    const extras = { audioPromptTokens: 10, audioCompletionTokens: 5 }
    expect(costOf(price, used(30, 8, extras))).toBe(20 * 2 + 10 * 32 + 3 * 8 + 5 * 64)
    // A model whose speech has no price of its own is sold as text.
    expect(costOf(priceOf({ model }), used(30, 8, extras))).toBe(76)
  })

  test('parts that exceed the whole are cut down to it', () => {
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

  test('have a price of their own for what is cached', () => {
    const cached = { promptTokens: 1001, cachedTokens: 1000, completionTokens: 0 }
    expect(costOf(price, cached)).toBe(6 + 1000 * 6 * 0.5)
  })

  test('have a price for one type of channel, which beats the other', () => {
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

test('the requested name counts if it has any price, else the mapped one', () => {
  const ratios = { ...PLAIN_RATIOS, perCall: mapOf({ sold: '1' }), model: mapOf({ mapped: '3' }) }
  const find = (requested: string, mapped: string) =>
    findPrice(ratios, { requested, mapped, channelType: 1, group: 'default' })
  expect(find('sold', 'mapped')).toMatchObject({ pricedAs: 'sold', perCall: '1' })
  expect(find('other', 'sold')).toMatchObject({ pricedAs: 'sold', perCall: '1' })
  expect(find('other', 'mapped')).toMatchObject({ pricedAs: 'mapped', perCall: null })
  expect(find('other', 'neither')).toBeNull()
})

describe('whatever is used', () => {
  const ratio = fc
    .tuple(fc.nat(99_999), fc.nat(9))
    .map(([n, d]) => `${Math.floor(n / 10)}.${n % 10}${d}`)
  const tokens = fc.nat(2_000_000)
  const extras = fc.record(
    {
      audioPromptTokens: tokens,
      audioCompletionTokens: tokens,
      imagePromptTokens: tokens,
      imageCompletionTokens: tokens,
      seconds: fc.nat(86_400),
      tools: fc.record({ web_search: fc.nat(50) }),
    },
    { requiredKeys: [] },
  )
  const ratios = fc.record({
    model: ratio,
    completion: ratio,
    audio: ratio,
    image: ratio,
    group: ratio,
    tool: ratio,
  })
  const pricesOf = (
    r: Record<'model' | 'completion' | 'audio' | 'image' | 'group' | 'tool', string>,
  ) =>
    priceOf({
      model: mapOf({ m: r.model }),
      completion: mapOf({ m: r.completion }),
      audio: mapOf({ m: r.audio }),
      image: mapOf({ m: r.image }),
      group: mapOf({ default: r.group }),
      tool: mapOf({ web_search: r.tool }),
    })

  test('the lines are the cost, exactly, and what is less than a point is a whole one', () => {
    fc.assert(
      fc.property(ratios, tokens, tokens, extras, (r, prompt, completion, more) => {
        const price = pricesOf(r)
        const call = used(prompt, completion, more)
        const lines = priceLines(price, call)
        // Counted again in hundredths: every ratio has at most two decimals.
        let sum = 0n
        for (const { count, ratios: applied, per } of lines) {
          let term = BigInt(count) * BigInt(60_000 / per)
          for (const text of applied) term *= BigInt(Math.round(Number(text) * 100))
          sum += term * 100n ** BigInt(4 - applied.length)
        }
        const unit = 60_000n * 100n ** 5n
        const exact = sum * BigInt(Math.round(Number(r.group) * 100))
        const points = (exact + unit - 1n) / unit
        const expected = points > BigInt(QUOTA_MAX) ? QUOTA_MAX : Number(points)
        const isFree = Number(r.model) * Number(r.group) === 0 || prompt + completion === 0
        expect(costOf(price, call)).toBe(isFree ? expected : Math.max(1, expected))
        expect(pointsOfLines(lines, price.groupRatio, QUOTA_MAX)).toBe(expected)
      }),
    )
  })

  test('no token is counted twice or left out', () => {
    fc.assert(
      fc.property(ratios, tokens, tokens, extras, (r, prompt, completion, more) => {
        const counted = (kinds: string[]) =>
          priceLines(pricesOf(r), used(prompt, completion, more))
            .filter(({ kind }) => kinds.includes(kind))
            .reduce((sum, { count }) => sum + count, 0)
        expect(counted(['prompt', 'audio_prompt', 'image_prompt'])).toBe(prompt)
        expect(counted(['completion', 'audio_completion', 'image_completion'])).toBe(completion)
      }),
    )
  })

  test('more use never costs less', () => {
    fc.assert(
      fc.property(ratios, tokens, tokens, extras, (r, prompt, completion, more) => {
        const price = pricesOf(r)
        const cost = costOf(price, used(prompt, completion, more))
        expect(cost).toBeGreaterThanOrEqual(0)
        expect(costOf(price, used(prompt, completion + 1, more))).toBeGreaterThanOrEqual(
          more.audioCompletionTokens === undefined && more.imageCompletionTokens === undefined
            ? cost
            : 0,
        )
        expect(
          costOf(price, used(prompt, completion, { ...more, seconds: (more.seconds ?? 0) + 1 })),
        ).toBeGreaterThanOrEqual(cost)
      }),
    )
  })
})
