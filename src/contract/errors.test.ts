import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { ErrorSpec } from './error-spec.ts'
import { errors, errorText, languageOf, type ErrorCode } from './errors.ts'
import { fieldPlaces } from './field-title.ts'

// Object.keys of a constant yields its own keys.
const codes = Object.keys(errors) as ErrorCode[]

/** Places that stand for the same thing in each language: `{problemZh}` and `{problemEn}`. */
const placesOf = (text: string): string[] =>
  [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name.replace(/(Zh|En)$/, '')).toSorted()

describe.each(codes)('%s', (code) => {
  const { zh, en, status }: ErrorSpec = errors[code]

  test('is one sentence in Chinese and one in English', () => {
    expect(zh).toMatch(/\p{Script=Han}/u)
    expect(en).not.toMatch(/\p{Script=Han}/u)
    expect(en).toMatch(/^[A-Z{“]/)
    for (const text of [zh, en]) {
      expect(text).toBe(text.trim())
      expect(text).not.toMatch(/[\n.。]$|\n/)
    }
  })

  test('is filled with the same in both', () => {
    expect([...new Set(placesOf(zh))]).toEqual([...new Set(placesOf(en))])
    expect(zh).not.toMatch(/\{\w+En\}/)
    expect(en).not.toMatch(/\{\w+Zh\}/)
  })

  test('has the status of a refusal', () => {
    expect(status).toBeGreaterThanOrEqual(400)
    expect(status).toBeLessThan(600)
  })
})

test('every table counts, and no name stands in two', async () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('-errors.ts'))
  const tables: object[] = await Promise.all(
    files.map((name) => import(join(import.meta.dirname, name))),
  )
  const names = tables.flatMap((table) => Object.values(table).flatMap(Object.keys))
  expect(names.toSorted()).toEqual(codes.toSorted())
})

test('a place without a value stays, and a value is not read as a place again', () => {
  expect(errorText('username_taken', 'en', { name: '{name} {zh}' })).toBe(
    'The username “{name} {zh}” is taken',
  )
  expect(errorText('username_taken', 'en')).toBe('The username “{name}” is taken')
  expect(errorText('username_taken', 'en', { name: '$& $1' })).toContain('“$& $1”')
})

test('a name with blanks about it has none at the ends of a sentence, and one elsewhere', () => {
  const params = { providerZh: ' OIDC ', providerEn: 'OIDC' }
  expect(errorText('external_refused', 'zh', params)).toMatch(/^OIDC 不接受/)
  expect(errorText('external_taken', 'zh', params)).toBe('该 OIDC 账户已被绑定')
  expect(errorText('external_taken', 'en', params)).toBe(
    'This OIDC account is already linked to a user',
  )
})

test('a member of the wire is named as its field in the console; one without a field alone', () => {
  expect(errorText('text_unreadable', 'zh', fieldPlaces('name'))).toMatch(/^「名称」（name）含有/)
  expect(errorText('text_unreadable', 'en', fieldPlaces('name'))).toMatch(
    /^“Name” \(name\) contains/,
  )
  expect(errorText('text_unreadable', 'zh', fieldPlaces('other'))).toMatch(/^other 含有/)
  const problem = { problemZh: '最大 9', problemEn: 'it is at most 9' }
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
])('Accept-Language %j is answered in %s', (header, language) => {
  expect(languageOf(header)).toBe(language)
})
