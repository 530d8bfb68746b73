import { expect, test } from 'vitest'
import { statusInCode } from './error-body.ts'

test.each([
  [400, 400],
  [599, 599],
  [399, undefined],
  [600, undefined],
  [450.5, undefined],
  ['429', undefined],
])('a code of %s is the status %s', (code, status) => {
  expect(statusInCode({ code })).toBe(status)
})
