/**
 * `npm run readme`: writes the table of settings in README.md anew from `src/server/config.ts`, and
 * nothing else of it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { settings } from '../src/server/config.ts'

const BEGIN = '<!-- settings: written by `npm run readme` -->'
const END = '<!-- end of settings -->'

/** The README with its table of settings as it ought to be. Throws when the place is missing. */
export function withSettingsTable(readme: string): string {
  const [begin, end] = [readme.indexOf(BEGIN), readme.indexOf(END)]
  if (begin < 0 || end < begin) throw new Error(`README.md lacks ${BEGIN} or ${END}`)
  const before = readme.slice(0, begin + BEGIN.length)
  return `${before}\n\n${settingsTable()}\n\n${readme.slice(end)}`
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
  const path = join(import.meta.dirname, '../README.md')
  const readme = readFileSync(path, 'utf8')
  const written = withSettingsTable(readme)
  if (written !== readme) writeFileSync(path, written)
  console.log(written === readme ? 'README.md is up to date' : 'README.md was written')
}
