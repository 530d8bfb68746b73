import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CONVERTED } from './plain-words-list.ts'
import { findingsOf, plainWords } from './plain-words.ts'

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

test('folders in CONVERTED have plain comments and titles', () => {
  const findings = plainWords(join(import.meta.dirname, '..'), CONVERTED)

  const lines = findings.map(
    ({ path, line, found, instead }) => `${path}:${line} "${found}" → ${instead}`,
  )
  expect(lines).toEqual([])
})
