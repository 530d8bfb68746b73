import { expect, test } from 'vitest'
import { rankTest } from './rank-test.ts'

const numbers = (from: number, step: number): number[] =>
  Array.from({ length: 100 }, (_, index) => from + index * step)

test('equal distributions give no significant difference', () => {
  expect(rankTest(numbers(0, 1), numbers(0, 1))).toEqual({ share: 0.5, p: expect.closeTo(1, 5) })
})

test('detects a distribution that is always larger', () => {
  const { share, p } = rankTest(numbers(1000, 1), numbers(0, 1))
  expect(share).toBe(1)
  expect(p).toBeLessThan(1e-9)
})

test('a small difference is not significant', () => {
  // 19 of the 25 pairs; by hand, (19 - 12.5) / sqrt(25 * 11 / 12) = 1.358 deviations.
  const { share, p } = rankTest([19, 22, 16, 29, 24], [20, 11, 17, 12, 23])
  expect(share).toBeCloseTo(19 / 25, 5)
  expect(p).toBeCloseTo(0.1745, 3)
})

test('equal values share their ranks', () => {
  expect(rankTest([1, 1, 2], [1, 2, 2]).share).toBeCloseTo(3 / 9, 5)
})
