import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { optionKeys } from '../src/contract/option/options.ts'
import { settings } from '../src/server/config.ts'
import { withTables } from './settings-table.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8')
const page = read('docs/settings.md')

test('docs/settings.md lists the current settings and options; if not, run npm run settings', () => {
  expect(page).toBe(withTables(page))
})

test('adds a missing row, and keeps the text around the table', () => {
  const stale = page.replace(/^\| `PORT` .*\n/m, '')
  expect(stale).not.toBe(page)
  expect(withTables(stale)).toBe(page)
})

test('every setting and every option has a row', () => {
  for (const name of [...Object.keys(settings), ...optionKeys]) {
    expect(page).toContain(`| \`${name}\` |`)
  }
})

test('rejects a page without the markers', () => {
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
