import { parseSync, Visitor } from 'vite'
import { expect, test, vi } from 'vitest'
import { errors as refusals } from '../../contract/errors.ts'
import { optionGroups } from '../../contract/option/option-groups.ts'
import { optionKeys, optionRows } from '../../contract/option/options.ts'
import english from './en.json' with { type: 'json' }
import { setLanguage, startI18n, t } from './i18n.ts'

/** Content of each source file, by its path relative to this folder. */
const sources = import.meta.glob<string>(['../**/*.{ts,tsx}', '!../**/*.{test,d}.{ts,tsx}'], {
  query: '?raw',
  import: 'default',
  eager: true,
})

interface Found {
  /** First arguments of `t('…')` and `mark('…')`. */
  keys: Set<string>
  /** Chinese text anywhere else, with its file. */
  untranslated: string[]
}

const hasChinese = (text: string) => /\p{Script=Han}/u.test(text)
/** Language names are always written in their own language. */
const ownNames = ['中', '中文']

function readTexts(path: string, source: string, found: Found) {
  const { program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path} does not parse`)
  const translated = new Set<number>()
  const note = (text: string, start: number) => {
    if (!hasChinese(text) || translated.has(start) || ownNames.includes(text.trim())) return
    found.untranslated.push(`${path}: ${text.trim()}`)
  }
  new Visitor({
    CallExpression({ callee, arguments: [first] }) {
      const name = callee.type === 'MemberExpression' ? callee.property : callee
      const isText = name.type === 'Identifier' && ['t', 'mark'].includes(name.name)
      if (!isText || first?.type !== 'Literal' || typeof first.value !== 'string') return
      found.keys.add(first.value)
      translated.add(first.start)
    },
    Literal: ({ value, start }) => {
      if (typeof value === 'string') note(value, start)
    },
    TemplateElement: ({ value, start }) => note(value.raw, start),
    JSXText: ({ value, start }) => note(value, start),
  }).visit(program)
}

const found: Found = { keys: new Set(), untranslated: [] }
for (const [path, source] of Object.entries(sources)) readTexts(path, source, found)
const entries = Object.keys(english)
/** Texts of the options, which contain both languages. */
const optionWords = [...optionKeys.map((key) => optionRows[key]), ...Object.values(optionGroups)]
  .flatMap((row) => Object.values(row))
  .flatMap((member) =>
    typeof member === 'object' && 'zh' in member && 'en' in member ? [member] : [],
  )
/** Keys with a count have one entry for the singular and one for the plural. */
const withoutPlural = (entry: string) => entry.replace(/_(one|other)$/, '')
const placesIn = (text: string) => (text.match(/\{\{\w+\}\}/g) ?? []).toSorted()

test('every displayed text goes through t() or mark()', () => {
  expect(found.untranslated).toEqual([])
})

test('every text has an English entry in en.json', () => {
  const known = new Set(entries.map(withoutPlural))
  expect([...found.keys].filter((key) => !known.has(key))).toEqual([])
})

test('every entry of en.json is still used', () => {
  expect(entries.filter((entry) => !found.keys.has(withoutPlural(entry)))).toEqual([])
})

test('exactly the keys with a count have both plural forms', () => {
  const wrong = [...found.keys].filter((key) => {
    const forms = [`${key}_one`, `${key}_other`].filter((entry) => entries.includes(entry))
    return forms.length !== (key.includes('{{count}}') ? 2 : 0)
  })
  expect(wrong).toEqual([])
})

test('English texts keep the placeholders and contain no Chinese', () => {
  const wrong = Object.entries(english).filter(([entry, text]) => {
    const isWhole = placesIn(text).join() === placesIn(withoutPlural(entry)).join()
    return !isWhole || hasChinese(text)
  })
  expect(wrong).toEqual([])
})

/** Words that the glossary replaces with others. */
const secondNames = [
  /\be-mail/i,
  /\bRoot\b/,
  /super administrator/i,
  /停用/,
  /应答|回答|回应/,
  /合法|JSON 格式/,
  /账号/,
  /渠道地址/,
  /模型映射/,
  /子网/,
]

test('texts of the console and errors use the glossary’s terms', () => {
  const sentences = [
    ...found.keys,
    ...Object.values(english),
    ...Object.values(refusals).flatMap(({ zh, en }) => [zh, en]),
    ...optionWords.flatMap(({ zh, en }) => [zh, en]),
  ]
  const wrong = sentences.filter((text) => secondNames.some((name) => name.test(text)))
  expect(wrong).toEqual([])
})

test('English sentences have no please, exclamation mark or full stop', () => {
  const sentences = [
    ...Object.values(english),
    ...optionWords.map(({ en }) => en),
    ...Object.values(refusals)
      .map(({ en }) => en)
      // A vendor's text, quoted verbatim.
      .filter((text) => !text.startsWith('Item with id')),
  ]
  expect(sentences.filter((text) => /\bplease\b|[!.]$/i.test(text))).toEqual([])
})

test('titles within an English sentence begin in lower case', async () => {
  vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => undefined })
  vi.stubGlobal('document', { documentElement: {} })
  await startI18n()
  await setLanguage('en')
  expect(t('正在加载{{prompt}}…', { prompt: t('这个令牌') })).toBe('Loading this token…')
  expect(t('正在加载{{prompt}}…', { prompt: 'OIDC' })).toBe('Loading OIDC…')
  expect(t('{{what}}加载失败', { what: t('这个令牌') })).toBe('This token could not be loaded')
  vi.unstubAllGlobals()
})
