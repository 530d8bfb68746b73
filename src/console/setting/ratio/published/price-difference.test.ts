import { expect, test } from 'vitest'
import type { ListedRatios } from '../../../../contract/price-api.ts'
import { isFarApart, isSuspicious, shownPrice, shownRows } from './price-difference.ts'

const ratios = (model: string, completion: string | null, cached: string | null): ListedRatios => ({
  model_ratio: model,
  completion_ratio: completion,
  cache_ratio: cached,
  create_cache_ratio: null,
})

test.each([
  [ratios('1.25', '4', '0.5'), { prompt: '$2.50', completion: '$10.00', cached: '$1.25' }],
  [ratios('0.0375', '4', null), { prompt: '$0.075', completion: '$0.30', cached: '' }],
  [ratios('0.00125', null, null), { prompt: '$0.0025', completion: '', cached: '' }],
  [ratios('0', null, null), { prompt: '$0.00', completion: '', cached: '' }],
])('%j is shown as dollars for a million tokens', (price, shown) => {
  expect(shownPrice(price)).toEqual(shown)
})

test.each([
  ['1', '20', false],
  ['1', '20.1', true],
  ['20.1', '1', true],
  ['0', '5', false],
])('%s and %s: far apart %s', (one, other, isFar) => {
  expect(isFarApart(one, other)).toBe(isFar)
})

test('only a changed price can be suspicious', () => {
  const row = { name: 'm', listed: ratios('50', null, null), is_served: true }
  expect(isSuspicious({ ...row, now: ratios('1', null, null) })).toBe(true)
  expect(isSuspicious({ ...row, now: null })).toBe(false)
})

test('filters rows by name and by whether they are served', () => {
  const row = (name: string, isServed: boolean) => ({
    name,
    now: null,
    listed: ratios('1', null, null),
    is_served: isServed,
  })
  const rows = [row('gpt-a', true), row('GPT-b', false), row('claude', true)]
  const names = (word: string, isServedOnly: boolean) =>
    shownRows(rows, { word, isServedOnly }).map(({ name }) => name)
  expect(names('', false)).toEqual(['gpt-a', 'GPT-b', 'claude'])
  expect(names(' gpt', false)).toEqual(['gpt-a', 'GPT-b'])
  expect(names('', true)).toEqual(['gpt-a', 'claude'])
})
