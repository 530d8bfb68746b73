import { expect, test } from 'vitest'
import { ratioText } from './published-price.ts'

test.each([
  [0, '0'],
  [1.25, '1.25'],
  [0.075, '0.075'],
  // Floating-point results for 1.25 and 0.3.
  [0.0000025 * 1_000_000 * 0.5, '1.25'],
  [0.1 + 0.2, '0.3'],
  // Truncated, not rounded: 1.6666666666667 times 3 would be more than 5.
  [5 / 3, '1.666666666666'],
  [200 / 3, '66.66666666666'],
  [2 / 300, '0.006666666666666'],
  [123_456.789, '123456.789'],
  [1_000_000, '1000000'],
])('%d is %s', (ratio, text) => {
  expect(ratioText(ratio)).toBe(text)
})

test.each([-1, Number.NaN, Infinity, 1_000_001, 1e-9])('%d is not a ratio', (ratio) => {
  expect(ratioText(ratio)).toBeNull()
})
