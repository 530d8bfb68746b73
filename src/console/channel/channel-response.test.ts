import { expect, test } from 'vitest'
import { responseLevel } from './channel-response.ts'

test.each([
  [0, 'untested'],
  [1, 'quick'],
  [1000, 'quick'],
  [1001, 'fair'],
  [3000, 'fair'],
  [3001, 'slow'],
  [5000, 'slow'],
  [5001, 'bad'],
])('%d ms is %s', (ms, level) => {
  expect(responseLevel(ms)).toBe(level)
})
