/**
 * `npm run settings`: rewrites the tables in docs/settings.md: settings from
 * `src/server/config.ts`, options from `src/contract/option/`.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { optionGroups } from '../src/contract/option/option-groups.ts'
import { optionKeys, optionRows } from '../src/contract/option/options.ts'
import { settings } from '../src/server/config.ts'

const TABLES: Readonly<Record<string, () => string>> = {
  settings: settingsTable,
  options: optionsTable,
}

/** Returns the page with updated tables. Throws if a marker is missing. */
export const withTables = (page: string): string =>
  Object.entries(TABLES).reduce((text, [name, table]) => {
    const beginMark = `<!-- ${name}: written by \`npm run settings\` -->`
    const endMark = `<!-- end of ${name} -->`
    const [begin, end] = [text.indexOf(beginMark), text.indexOf(endMark)]
    if (begin < 0 || end < begin) throw new Error(`docs/settings.md lacks ${beginMark} or its end`)
    return `${text.slice(0, begin + beginMark.length)}\n\n${table()}\n\n${text.slice(end)}`
  }, page)

// A bar in a cell would end it.
const line = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

const code = (text: string): string => (text === '' ? '–' : `\`${text}\``)

function settingsTable(): string {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const otherwise = 'default' in setting ? String(setting.default) : ''
    return line([code(name), code(otherwise), setting.meaning])
  })
  return ['| name | default | meaning |', '|---|---|---|', ...rows].join('\n')
}

const PAGES = { operation: 'Operation', models: 'Models', system: 'System', other: 'Other' }

function optionsTable(): string {
  const rows = optionKeys.map((key) => {
    const row = optionRows[key]
    const { page, title } = optionGroups[row.group]
    const hint = row.hint === undefined ? '' : `: ${row.hint.en}`
    const otherwise = 'default' in row ? code(row.default) : 'built-in prices'
    return line([code(key), otherwise, `${PAGES[page]} → ${title.en}`, `${row.title.en}${hint}`])
  })
  const head = ['| option | default | page of the settings | meaning |', '|---|---|---|---|']
  return [...head, ...rows].join('\n')
}

if (import.meta.main) {
  const path = join(import.meta.dirname, '../docs/settings.md')
  const page = readFileSync(path, 'utf8')
  const written = withTables(page)
  if (written !== page) writeFileSync(path, written)
  console.log(written === page ? 'docs/settings.md is up to date' : 'docs/settings.md was written')
}
