import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { optionKeys } from '../src/contract/option/options.ts'
import { settings } from '../src/server/config.ts'
import { withTables } from './settings-table.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8')
const page = read('docs/settings.md')

test('docs/settings.md lists settings and options as they are; if not, npm run settings', () => {
  expect(page).toBe(withTables(page))
})

test('a table that is missing a row is written anew, and the text around it stays', () => {
  const stale = page.replace(/^\| `PORT` .*\n/m, '')
  expect(stale).not.toBe(page)
  expect(withTables(stale)).toBe(page)
})

test('every setting and every option has its row', () => {
  for (const name of [...Object.keys(settings), ...optionKeys]) {
    expect(page).toContain(`| \`${name}\` |`)
  }
})

test('a page without the place is refused', () => {
  expect(() => withTables('# Settings\n')).toThrow('lacks')
})

test('the code map names functions that exist', () => {
  const places = [...read('docs/code-map.md').matchAll(/`(src\/[^`]+)` → ((?:`\w+`(?:, )?)+)/g)]
  expect(places.length).toBeGreaterThan(5)
  for (const [, path = '', names = ''] of places) {
    const text = read(path)
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g)) expect(text).toContain(name)
  }
})
