import { describe, expect, test } from 'vitest'
import { boundedTarget, isAlive, retentionTarget } from './cleanup.ts'

const NOON = 1_800_014_400

describe('isAlive', () => {
  test.each([
    [undefined, false],
    [{ isRunning: false, seenAt: NOON }, false],
    [{ isRunning: true, seenAt: NOON }, true],
    [{ isRunning: true, seenAt: NOON - 59 }, true],
    // The process of the cleanup has died; another process continues it.
    [{ isRunning: true, seenAt: NOON - 60 }, false],
    // It was updated while the clock was ahead.
    [{ isRunning: true, seenAt: NOON + 86_400 }, false],
  ])('%j: %s', (run, expected) => {
    expect(isAlive(run, NOON)).toBe(expected)
  })
})

test('a target in the future includes at most the calls of this second', () => {
  expect(boundedTarget(NOON + 1000, NOON)).toBe(NOON + 1)
  expect(boundedTarget(NOON - 1000, NOON)).toBe(NOON - 1000)
})

test('retention starts at the beginning of a day', () => {
  expect(retentionTarget(0, NOON)).toBeNull()
  const target = retentionTarget(30, NOON) ?? 0
  expect(target % 86_400).toBe(0)
  expect(NOON - target).toBeGreaterThanOrEqual(30 * 86_400)
  expect(NOON - target).toBeLessThan(31 * 86_400)
  expect(retentionTarget(99_999, NOON)).toBe(0)
})
