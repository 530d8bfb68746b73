import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { optionTitles } from '../src/server/option/option-title.ts'

const ROOT = join(import.meta.dirname, '..')

const consoleFile = (path: string) => readFileSync(join(ROOT, 'src/console/app', path), 'utf8')

/** Console's names of options. Read as text: what declares them is for browsers. */
const names = [...consoleFile('label/option-name.ts').matchAll(/\['(\w+)', mark\('([^']+)'\)\]/g)]
// The file maps Chinese texts to English ones.
const english = JSON.parse(consoleFile('en.json')) as Record<string, string>

test('refusals call an option as its field in the console, in both languages', () => {
  expect(names.length).toBeGreaterThan(70)
  const titles = new Map(Object.entries(optionTitles))
  expect(names.map(([, key = '']) => [key, titles.get(key)])).toEqual(
    names.map(([, key = '', zh = '']) => [key, { zh, en: english[zh] }]),
  )
})

test('every option has a field in the settings, which knows its name', () => {
  const settings = globSync('src/console/setting/**/*.{ts,tsx}', { cwd: ROOT })
    .filter((path) => !path.includes('.test.'))
    .map((path) => readFileSync(join(ROOT, path), 'utf8'))
  const keys = Object.keys(optionTitles)
  expect(keys.filter((key) => !settings.some((text) => text.includes(`'${key}'`)))).toEqual([])
  const known = names.map(([, key]) => key)
  expect(keys.filter((key) => !known.includes(key))).toEqual([])
})
