import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { optionKeys } from '../src/contract/option/options.ts'
import { settings } from '../src/server/config.ts'
import { withTables } from './settings-table.ts'

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', path), 'utf8')
const page = read('docs/manual/en/settings.md')
const pages = [
  ['zh', read('docs/manual/zh/settings.md')],
  ['en', page],
] as const

test.each(pages)('%s/settings.md is up to date; if not, npm run settings', (language, text) => {
  expect(text).toBe(withTables(text, language))
})

test.each(pages)('%s/settings.md says what each setting and option means', (_language, text) => {
  for (const name of [...Object.keys(settings), ...optionKeys]) {
    expect(text).toMatch(new RegExp(`^\\| \`${name}\` \\|.*\\| [^|\\s].* \\|$`, 'm'))
  }
})

test('adds a missing row, and keeps the text around the table', () => {
  const stale = page.replace(/^\| `PORT` .*\n/m, '')
  expect(stale).not.toBe(page)
  expect(withTables(stale, 'en')).toBe(page)
})

test('rejects a page without the markers', () => {
  expect(() => withTables('# Settings\n', 'en')).toThrow('lacks')
})

test('the code map names functions that exist', () => {
  const places = [...read('docs/code-map.md').matchAll(/`(src\/[^`]+)` → ((?:`\w+`(?:, )?)+)/g)]
  expect(places.length).toBeGreaterThan(5)
  for (const [, path = '', names = ''] of places) {
    const text = read(path)
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g)) expect(text).toContain(name)
  }
})
