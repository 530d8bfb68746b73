import { expect, test } from 'vitest'
import { theme } from './theme.ts'

test('tooltips come after 50 milliseconds', () => {
  expect(theme.components?.['Tooltip']?.defaultProps).toMatchObject({ openDelay: 50 })
})
