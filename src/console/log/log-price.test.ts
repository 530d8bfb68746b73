import { expect, test } from 'vitest'
import type { PriceFactors } from '../../contract/log-api.ts'
import { priceBreakdown } from './log-price.ts'

const aPrice = (over: Partial<PriceFactors> = {}): PriceFactors => ({
  priced_as: 'claude-sonnet-4',
  requested_model: 'claude-sonnet-4',
  group: 'vip',
  model_ratio: '1.5',
  completion_ratio: '5',
  group_ratio: '0.8',
  cache_ratio: '0.1',
  prompt_tokens: 22_410,
  cached_tokens: 18_000,
  completion_tokens: 1904,
  usage_source: 'upstream',
  debt: 0,
  ...over,
})

test('cached tokens are a separate line; the group ratio applies once to all lines', () => {
  expect(priceBreakdown(aPrice())).toEqual({
    lines: [
      { kind: 'prompt', count: 4410, ratios: ['1.5'], per: 1, points: '6,615' },
      { kind: 'cached', count: 18_000, ratios: ['1.5', '0.1'], per: 1, points: '2,700' },
      { kind: 'completion', count: 1904, ratios: ['1.5', '5'], per: 1, points: '14,280' },
    ],
    group: 'vip',
    groupRatio: '0.8',
    exact: '18,876',
    total: 18_876,
  })
})

test('decimals are exact and rounded up once', () => {
  const price = aPrice({
    model_ratio: '0.075',
    completion_ratio: '4',
    group_ratio: '1',
    prompt_tokens: 11,
    cached_tokens: 0,
    completion_tokens: 7,
  })
  expect(priceBreakdown(price)).toMatchObject({ exact: '2.925', total: 3 })
  expect(priceBreakdown(price)?.lines.map(({ points }) => points)).toEqual(['0.825', '2.1'])
})

test('three times 0.1 is exactly 0.3', () => {
  const price = aPrice({
    model_ratio: '0.1',
    completion_ratio: '1',
    group_ratio: '10',
    prompt_tokens: 3,
    cached_tokens: 0,
    completion_tokens: 0,
  })
  expect(priceBreakdown(price)).toMatchObject({ exact: '3', total: 3 })
})

test.each([
  ['a price below a point costs one', { model_ratio: '0.000000000000001' }, 1],
  ['a free model costs nothing', { model_ratio: '0' }, 0],
  ['a free group costs nothing', { group_ratio: '0.0' }, 0],
  ['nothing used costs nothing', { prompt_tokens: 0, cached_tokens: 0, completion_tokens: 0 }, 0],
])('%s', (_, over, total) => {
  expect(priceBreakdown(aPrice(over))?.total).toBe(total)
})

test('a prompt read from and written to a free cache costs one point', () => {
  const lines = [
    { kind: 'cached', count: 60, ratios: ['10', '0'], per: 1 },
    { kind: 'cache_write', count: 40, ratios: ['10', '0'], per: 1 },
  ]
  const used = { prompt_tokens: 100, cached_tokens: 60, completion_tokens: 0, lines }
  expect(priceBreakdown(aPrice(used))).toMatchObject({ exact: '0', total: 1 })
  // A per-call price of zero.
  const call = [{ kind: 'call', count: 1, ratios: ['0', '500000'], per: 1 }]
  expect(priceBreakdown(aPrice({ ...used, lines: call, model_price: '0' }))?.total).toBe(0)
})

test('invalid factors have no breakdown', () => {
  expect(priceBreakdown(aPrice({ group_ratio: '' }))).toBeNull()
  expect(priceBreakdown(aPrice({ cache_ratio: '1e-3' }))).toBeNull()
})

test('uses the terms that the server sends', () => {
  const price = aPrice({
    group_ratio: '0.5',
    lines: [
      { kind: 'second', count: 7, ratios: ['3', '1000'], per: 60 },
      { kind: 'picture', name: 'hd 1024x1792', count: 2, ratios: ['20', '1000', '3'], per: 1 },
      { kind: 'tool', name: 'web_search', count: 3, ratios: ['10', '500000'], per: 1000 },
      { kind: 'cached', count: 0, ratios: ['3', '0.1'], per: 1 },
    ],
  })
  expect(priceBreakdown(price)).toEqual({
    lines: [
      { kind: 'second', count: 7, ratios: ['3', '1000'], per: 60, points: '350' },
      {
        kind: 'picture',
        name: 'hd 1024x1792',
        count: 2,
        ratios: ['20', '1000', '3'],
        per: 1,
        points: '120,000',
      },
      {
        kind: 'tool',
        name: 'web_search',
        count: 3,
        ratios: ['10', '500000'],
        per: 1000,
        points: '15,000',
      },
    ],
    group: 'vip',
    groupRatio: '0.5',
    exact: '67,675',
    total: 67_675,
  })
})

test('thirds of a point are rounded up at the end, and displayed with a few decimals', () => {
  const price = aPrice({
    group_ratio: '1',
    lines: [{ kind: 'second', count: 1, ratios: ['1', '1000'], per: 60 }],
  })
  expect(priceBreakdown(price)).toMatchObject({ exact: '16.666666', total: 17 })
  expect(priceBreakdown(price)?.lines[0]?.points).toBe('16.666666')
})

test('an unknown divisor has no breakdown', () => {
  const price = aPrice({ lines: [{ kind: 'second', count: 1, ratios: ['1'], per: 7 }] })
  expect(priceBreakdown(price)).toBeNull()
})
