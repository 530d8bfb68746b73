import { expect, test } from 'vitest'
import { responseLevel, responseOrder } from './channel-response.ts'

test.each([
  [1, 'quick'],
  [1000, 'quick'],
  [1001, 'fair'],
  [3000, 'fair'],
  [3001, 'slow'],
  [5000, 'slow'],
  [5001, 'bad'],
])('%d ms is %s', (response_time, level) => {
  expect(responseLevel({ response_time, test_time: 1 })).toBe(level)
})

test('distinguishes failed tests from missing ones and sorts them together', () => {
  const untested = { response_time: 0, test_time: 0 }
  const failed = { response_time: 0, test_time: 1 }
  const quick = { response_time: 1, test_time: 1 }
  expect([untested, failed].map(responseLevel)).toEqual(['untested', 'failed'])
  const inOrder = [quick, failed, untested].toSorted((a, b) => responseOrder(a) - responseOrder(b))
  expect(inOrder).toEqual([failed, untested, quick])
})
