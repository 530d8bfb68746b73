/**
 * `npm run settings`: writes the table in docs/settings.md anew from `src/server/config.ts`, and
 * nothing else of that file.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '../src/server/config.ts'

const BEGIN = '<!-- settings: written by `npm run settings` -->'
const END = '<!-- end of settings -->'

/** Returns the page with its table of settings up to date. Throws if the place is missing. */
export function withSettingsTable(page: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`docs/settings.md lacks ${BEGIN} or ${END}`)
  const before = page.slice(0, begin + BEGIN.length)
  return `${before}\n\n${settingsTable()}\n\n${page.slice(end)}`
}

function settingsTable(): string {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const otherwise = 'default' in setting && setting.default !== '' ? setting.default : null
    const cells = [`\`${name}\``, otherwise === null ? '–' : `\`${otherwise}\``, setting.meaning]
    // A bar within a cell would end it.
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  return ['| name | default | meaning |', '|---|---|---|', ...rows].join('\n')
}

if (import.meta.main) {
  const path = join(import.meta.dirname, '../docs/settings.md')
  const page = readFileSync(path, 'utf8')
  const written = withSettingsTable(page)
  if (written !== page) writeFileSync(path, written)
  console.log(written === page ? 'docs/settings.md is up to date' : 'docs/settings.md was written')
}
