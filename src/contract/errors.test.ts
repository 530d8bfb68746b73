import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ErrorSpec } from './error-spec.ts'
import { errors, errorText, languageOf, type ErrorCode } from './errors.ts'
import { fieldPlaces } from './field-title.ts'

// The type of a constant object's keys is known.
const codes = Object.keys(errors) as ErrorCode[]

/** Placeholders without the language suffix: `{problemZh}` and `{problemEn}` are the same. */
const placesOf = (text: string): string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name.replace(/(Zh|En)$/, '')).toSorted()

test.each(codes)(
  '%s is one sentence in each language, with the same placeholders and an error status',
  (code) => {
    const { zh, en, status }: ErrorSpec = errors[code]
    expect(zh).toMatch(/\p{Script=Han}/u)
    expect(en).not.toMatch(/\p{Script=Han}/u)
    expect(en).toMatch(/^[A-Z{“]/)
    for (const text of [zh, en]) {
      expect(text).toBe(text.trim())
      expect(text).not.toMatch(/[\n.。]$|\n/)
    }
    expect([...new Set(placesOf(zh))]).toEqual([...new Set(placesOf(en))])
    expect(zh).not.toMatch(/\{\w+En\}/)
    expect(en).not.toMatch(/\{\w+Zh\}/)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(600)
  },
)

test('includes every table, and no code is in two of them', async () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('-errors.ts'))
  const tables: object[] = await Promise.all(
    files.map((name) => import(join(import.meta.dirname, name))),
  )
  const names = tables.flatMap((table) => Object.values(table).flatMap(Object.keys))
  expect(names.toSorted()).toEqual(codes.toSorted())
})

test('a placeholder without a value stays, and placeholders in values are not replaced', () => {
  expect(errorText('username_taken', 'en', { name: '{name} {zh}' })).toBe(
    'The username “{name} {zh}” is taken',
  )
  expect(errorText('username_taken', 'en')).toBe('The username “{name}” is taken')
  expect(errorText('username_taken', 'en', { name: '$& $1' })).toContain('“$& $1”')
})

test('spaces around a value are dropped at the ends of a message and collapsed elsewhere', () => {
  const params = { providerZh: ' OIDC ', providerEn: 'OIDC' }
  expect(errorText('external_refused', 'zh', params)).toMatch(/^OIDC 不接受/)
  expect(errorText('external_taken', 'zh', params)).toBe('该 OIDC 账户已被绑定')
  expect(errorText('external_taken', 'en', params)).toBe(
    'This OIDC account is already linked to a user',
  )
})

test('a field is named by its title in the console, or by its wire name if it has no title', () => {
  expect(errorText('text_unreadable', 'zh', fieldPlaces('name'))).toMatch(/^「名称」（name）含有/)
  expect(errorText('text_unreadable', 'en', fieldPlaces('name'))).toMatch(
    /^“Name” \(name\) contains/,
  )
  expect(errorText('text_unreadable', 'zh', fieldPlaces('other'))).toMatch(/^other 含有/)
  const problem = { problemZh: '最大 9', problemEn: 'it must be at most 9' }
  const wrong = (field: string) =>
    errorText('invalid_field', 'zh', { ...fieldPlaces(field), ...problem })
  expect(wrong('quota')).toBe('参数「额度」（quota）无效：最大 9')
  expect(wrong('ids')).toBe('参数 ids 无效：最大 9')
})

test.each([
  [undefined, 'zh'],
  ['', 'zh'],
  ['*', 'zh'],
  ['zh-CN,zh;q=0.9,en;q=0.8', 'zh'],
  ['ZH-tw', 'zh'],
  ['en', 'en'],
  ['en-US,en;q=0.9,zh;q=0.8', 'en'],
  ['de', 'en'],
])('Accept-Language %j selects %s', (header, language) => {
  expect(languageOf(header)).toBe(language)
})
