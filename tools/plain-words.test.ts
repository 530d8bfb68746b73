import { expect, test } from 'vitest'
import { findingsOf } from './plain-words.ts'

test('finds wording across line breaks, in titles and in error texts', () => {
  const source = [
    '/**',
    ' * Returns the name, which is',
    ' * told to the client.',
    ' */',
    'test("nobody is asked", () => {})',
    "  en: 'Ask somebody',",
  ].join('\n')

  expect(findingsOf('src/contract/call-errors.ts', source)).toMatchObject([
    { line: 2, found: 'is told' },
    { line: 5, found: 'nobody' },
    { line: 6, found: 'somebody' },
  ])
})

test('code and quotations keep their words', () => {
  expect(
    findingsOf('src/a.ts', '// Sends `nobody` as "somebody".\nconst said = \'nobody\''),
  ).toEqual([])
})
