import { expect, test } from 'vitest'
import { callDollars, dollars, readPriceList } from './price-list.ts'

const SOURCE = {
  model: '{"b":0.5,"a":1.25,"a(20)":2,"@cf/x":1,"by-call":3}',
  completion: '{"a":4,"a(20)":3}',
  group: '{"default":1,"vip":0.5}',
  cache: '{"a":0.1}',
  perCall: '{"by-call":0.5,"rerank":0.002}',
  tiered: ['b'],
  otherwise: '30',
}

test('has a row for every price with its model', () => {
  const list = readPriceList(SOURCE)
  expect(list?.rows.map(({ name, type, perCall }) => [name, type, perCall])).toEqual([
    ['a', null, null],
    ['a', 20, null],
    ['b', null, null],
    ['by-call', null, '0.5'],
    // Priced per call, without a ratio.
    ['rerank', null, '0.002'],
    ['@cf/x', null, null],
  ])
  expect(list?.rows.slice(0, 3)).toMatchObject([
    { ratio: '1.25', completion: '4', cached: '0.1', isTiered: false },
    { ratio: '2', completion: '3', cached: '0.1', isTiered: false },
    { ratio: '0.5', completion: null, cached: null, isTiered: true },
  ])
  expect(list).toMatchObject({
    otherwise: '30',
    groups: new Map([
      ['default', '1'],
      ['vip', '0.5'],
    ]),
  })
})

test('works with servers that omit some prices', () => {
  const { model, completion, group } = SOURCE
  const list = readPriceList({ model, completion, group })
  expect(list?.rows.every(({ perCall, isTiered }) => perCall === null && !isTiered)).toBe(true)
  expect(list?.otherwise).toBe('')
  expect(readPriceList({ ...SOURCE, model: '{' })).toBeNull()
})

test('dollars have four decimals', () => {
  expect([
    dollars('1.25'),
    dollars('0.075', '4', '0.5'),
    callDollars('0.002'),
    callDollars('0.5', '0.1'),
  ]).toEqual(['$2.5000', '$0.3000', '$0.0020', '$0.0500'])
})
