import { expect, test } from 'vitest'
import { paths } from './paths.ts'

test('every address of the console, at a glance', () => {
  const addresses = Object.entries(paths).map(([name, path]) => {
    return `${name}: ${typeof path === 'string' ? path : path(7)}`
  })
  expect(addresses).toMatchInlineSnapshot()
})
