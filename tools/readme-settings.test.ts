import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { settings } from '../src/server/config.ts'
import { withSettingsTable } from './readme-settings.ts'

const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8')

test('the README lists the settings as they are; if not, npm run readme', () => {
  expect(readme).toBe(withSettingsTable(readme))
})

test('a table that is missing a row is written anew, and the text around it stays', () => {
  const stale = readme.replace(/^\| `PORT` .*\n/m, '')
  expect(stale).not.toBe(readme)
  expect(withSettingsTable(stale)).toBe(readme)
})

test('every setting has its row', () => {
  for (const name of Object.keys(settings)) expect(readme).toContain(`| \`${name}\` |`)
})

test('a README without the place is refused', () => {
  expect(() => withSettingsTable('# Gatehouse\n')).toThrow('lacks')
})

test('what the README says to look for in a file is in it', () => {
  const places = [...readme.matchAll(/`(src\/[^`]+)` → ((?:`\w+`(?:, )?)+)/g)]
  expect(places.length).toBeGreaterThan(5)
  for (const [, path = '', names = ''] of places) {
    const text = readFileSync(join(import.meta.dirname, '..', path), 'utf8')
    for (const [, name = ''] of names.matchAll(/`(\w+)`/g)) expect(text).toContain(name)
  }
})
