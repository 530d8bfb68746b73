/**
 * `npm run settings`: rewrites the tables in the manual's pages of settings: settings from
 * `src/server/config.ts`, options from `src/contract/option/`. The Chinese meanings of settings are
 * written by hand in the Chinese page and kept.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { optionGroups } from '../src/contract/option/option-groups.ts'
import { optionKeys, optionRows } from '../src/contract/option/options.ts'
import { settings } from '../src/server/config.ts'

type Language = 'zh' | 'en'

const TABLES: Readonly<Record<string, (language: Language, page: string) => string>> = {
  settings: settingsTable,
  options: optionsTable,
}

/** Returns the page with updated tables. Throws if a marker is missing. */
export const withTables = (page: string, language: Language): string =>
  Object.entries(TABLES).reduce((text, [name, table]) => {
    const beginMark = `<!-- ${name}: written by \`npm run settings\` -->`
    const endMark = `<!-- end of ${name} -->`
    const [begin, end] = [text.indexOf(beginMark), text.indexOf(endMark)]
    if (begin < 0 || end < begin) throw new Error(`settings.md lacks ${beginMark} or its end`)
    const written = table(language, text)
    return `${text.slice(0, begin + beginMark.length)}\n\n${written}\n\n${text.slice(end)}`
  }, page)

// A bar in a cell would end it.
const line = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

const code = (text: string): string => (text === '' ? '–' : `\`${text}\``)

const SETTING_ROW = /^\| `([A-Z\d_]+)` \|(?:[^|]|\\\|)*\| (.*) \|$/gm
const SETTING_HEADS = { zh: '| 名称 | 默认 | 含义 |', en: '| name | default | meaning |' }

function settingsTable(language: Language, page: string): string {
  const written = new Map(
    [...page.matchAll(SETTING_ROW)].map(([, name, text = '']) => [name, text]),
  )
  const rows = Object.entries(settings).map(([name, setting]) => {
    const otherwise = 'default' in setting ? String(setting.default) : ''
    const meaning =
      language === 'en' ? setting.meaning : (written.get(name) ?? '').replaceAll('\\|', '|')
    return line([code(name), code(otherwise), meaning])
  })
  return [SETTING_HEADS[language], '|---|---|---|', ...rows].join('\n')
}

const OPTION_TEXTS = {
  zh: {
    head: '| 选项 | 默认 | 设置的页面 | 含义 |',
    pages: { operation: '运营设置', models: '模型能力', system: '系统设置', other: '其他设置' },
    builtIn: '内置价格',
    colon: '：',
  },
  en: {
    head: '| option | default | page of the settings | meaning |',
    pages: { operation: 'Operation', models: 'Models', system: 'System', other: 'Other' },
    builtIn: 'built-in prices',
    colon: ': ',
  },
}

function optionsTable(language: Language): string {
  const { head, pages, builtIn, colon } = OPTION_TEXTS[language]
  const rows = optionKeys.map((key) => {
    const row = optionRows[key]
    const { page, title } = optionGroups[row.group]
    const hint = row.hint === undefined ? '' : `${colon}${row.hint[language]}`
    const otherwise = 'default' in row ? code(row.default) : builtIn
    const place = `${pages[page]} → ${title[language]}`
    return line([code(key), otherwise, place, `${row.title[language]}${hint}`])
  })
  return [head, '|---|---|---|---|', ...rows].join('\n')
}

if (import.meta.main) {
  for (const language of ['zh', 'en'] as const) {
    const name = `docs/manual/${language}/settings.md`
    const path = join(import.meta.dirname, '..', name)
    const page = readFileSync(path, 'utf8')
    const written = withTables(page, language)
    if (written !== page) writeFileSync(path, written)
    console.log(written === page ? `${name} is up to date` : `${name} was written`)
  }
}
