import { expect, test } from 'vitest'
import { shortName, toOrder } from './user-order.ts'

test.each([
  ['alice', 'alice'],
  ['a'.repeat(15), 'a'.repeat(15)],
  ['a'.repeat(16), `${'a'.repeat(12)}...`],
  ['用户名'.repeat(6), `${'用户名'.repeat(4)}...`],
  ['😀'.repeat(16), `${'😀'.repeat(12)}...`],
])('%s is shown as %s', (name, shown) => {
  expect(shortName(name)).toBe(shown)
})

test('an unknown order falls back to the default', () => {
  expect(toOrder('request_count')).toBe('request_count')
  expect(toOrder('password')).toBe('')
})
