import { expect, test } from 'vitest'
import { pointDecimals, quotaText } from './quota.ts'

test.each([
  [0, '$0.00'],
  [500_000, '$1.00'],
  [1_234_567, '$2.47'],
  [-250_000, '-$0.50'],
  [-1, '$0.00'],
  [500_000_000, '$1,000.00'],
  [2 ** 50, '$2,251,799,813.69'],
])('%i points as money: %s', (quota, text) => {
  expect(quotaText(quota, { quotaPerUnit: 500_000, inCurrency: true })).toBe(text)
})

test('the cost of a single call may have more decimals', () => {
  const money = { quotaPerUnit: 500_000, inCurrency: true }
  expect(quotaText(96, money, 6)).toBe('$0.000192')
  expect(quotaText(617_283_945, money, 6)).toBe('$1,234.567890')
})

test.each([
  [9999, '9999'],
  [10_000, '10.0k'],
  [999_900, '999.9k'],
  [999_999, '1.0M'],
  [1_000_000, '1.0M'],
  [999_999_999, '1.0B'],
  [1_500_000_000, '1.5B'],
  [-20_000, '-20.0k'],
])('%i points as a count: %s', (quota, text) => {
  expect(quotaText(quota, { quotaPerUnit: 500_000, inCurrency: false })).toBe(text)
})

test.each([
  [500_000, '$0.000002'],
  [1_000_000, '$0.000001'],
  [7_000_000, '$0.0000001'],
  [1, '$1.00'],
  [0.01, '$100.00'],
])('with %d points per dollar, one point is shown as %s', (quotaPerUnit, text) => {
  const money = { quotaPerUnit, inCurrency: true }
  expect(quotaText(1, money, pointDecimals(money))).toBe(text)
})
