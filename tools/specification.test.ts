import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** Checks that the files and tests cited in `docs/specification.md` exist. */

const root = join(import.meta.dirname, '..')
const rows = readFileSync(join(root, 'docs/specification.md'), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| what |'))
  .map((line) => line.slice(2, -2).split(' | '))

const FILE = /`((?:src|e2e|tools)\/[^`]+)`/g
const PROOF = /`([^`]+\.(?:test|e2e)\.tsx?)`: "([^"]+)"(; )?/g

const textOf = (path: string): string =>
  existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : ''

test('has a line for every section', () => {
  expect(rows.length).toBeGreaterThan(100)
  expect(rows.filter((row) => row.length !== 3)).toEqual([])
})

test('every cited file exists', () => {
  const missing = rows.flatMap(([, code = '']) => {
    const named = [...code.matchAll(FILE)].map(([, path = '']) => path)
    return named.length === 0 ? [`no file in: ${code}`] : named.filter((path) => !textOf(path))
  })
  expect(missing).toEqual([])
})

test('every cited test exists', () => {
  const missing = rows.flatMap(([what = '', , proof = '']) => {
    const cited = [...proof.matchAll(PROOF)]
    if (cited.length === 0) return [`no test proves: ${what}`]
    // The whole cell must be parsed: an unparsed citation would not be checked.
    if (cited.map(([whole]) => whole).join('') !== proof) return [`cannot be read: ${proof}`]
    return cited
      .filter(([, path = '', name = '']) => !isNamed(textOf(path), name))
      .map(([, path, name]) => `${path}: ${name}`)
  })
  expect(missing).toEqual([])
})

/** As the first argument of `test`, `describe` or their `each` variants. */
const isNamed = (text: string, name: string): boolean =>
  ["'", '`', '"'].some(
    (quote) => text.includes(`(${quote}${name}`) || text.includes(`${quote}${name}${quote},`),
  )
