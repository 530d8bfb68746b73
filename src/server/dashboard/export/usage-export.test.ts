import { expect, test } from 'vitest'
import { dollarText } from './usage-export.ts'

test.each([
  [0, 500_000, '0'],
  [1, 500_000, '0.000002'],
  [125_300, 500_000, '0.2506'],
  [50_000_000, 500_000, '100'],
  [1, 1e12, '0'],
  [123_456_789_012_345, 500_000, '246913578.02469'],
  [2 ** 53 - 1, 0.01, '900719925474099072'],
  [7, 500_000.5, '0.000014'],
])('%i points at %d per dollar are %s dollars', (quota, quotaPerUnit, text) => {
  expect(dollarText(quota, quotaPerUnit)).toBe(text)
})
