import { describe, expect, test } from 'vitest'
import { type OptionKey, optionKeys } from '../../../contract/option/options.ts'
import {
  changesOf,
  domainsOf,
  fieldProblem,
  questionsOf,
  optionField,
  sentValue,
} from './option-field.ts'

const all = optionKeys.map(optionField)

test.each<[OptionKey, string, boolean]>([
  ['RetryTimes', '0', true],
  ['RetryTimes', '1.5', false],
  ['RetryTimes', '', false],
  ['QuotaPerUnit', '0.01', true],
  ['QuotaPerUnit', '0', false],
  ['ChannelDisableThreshold', '2.5', true],
  ['QuotaForNewUser', '-1', false],
  ['SMTPPort', '65536', false],
  ['TopUpLink', '', true],
  ['TopUpLink', 'https://example.com', true],
  ['TopUpLink', 'javascript:alert(1)', false],
  ['ModelRatio', '{}', true],
  ['ModelRatio', '{a:1}', false],
  ['SMTPAccount', 'anything', true],
])('%s: %j can be sent: %s', (key, text, isFine) => {
  expect(fieldProblem(optionField(key), text, () => true) === null).toBe(isFine)
})

test('valid ratios have no error', () => {
  const problem = (text: string) => fieldProblem(optionField('ModelRatio'), text, () => true)
  expect(problem('[1')).toEqual({
    text: '{{name}}不是有效的 JSON',
    values: { name: '模型倍率' },
    namesField: true,
  })
  for (const text of ['[1]', '1']) {
    expect(problem(text)?.text).toBe('需要名称到数字的 JSON 对象，例如 {"gpt-4o": 1.25}')
  }
})

test('names the first invalid ratio of many', () => {
  const problem = (text: string) => fieldProblem(optionField('ModelRatio'), text, () => true)
  for (const value of ['-1', '"1"', 'null', '{}']) {
    expect(problem(`{"a":0,"b":${value},"c":-2}`)).toEqual({
      text: '「{{name}}」的值需要是不小于 0 的数',
      values: { name: 'b' },
    })
  }
})

test('the group of new users must have a ratio', () => {
  const problem = (text: string) => fieldProblem(optionField('GroupRatio'), text, () => true)
  expect(problem('{"default":1,"vip":0.5}')).toBeNull()
  expect(problem('{"vip":1}')).toEqual({
    text: '不能缺少「{{name}}」，新用户都在此分组',
    values: { name: 'default' },
  })
})

test('turning a switch on requires the options that it needs', () => {
  const problem = (text: string, ...filled: string[]) =>
    fieldProblem(optionField('GitHubOAuthEnabled'), text, (key) => filled.includes(key))?.needed
  expect(problem('true')).toBe('GitHubClientId')
  expect(problem('true', 'GitHubClientId')).toBe('GitHubClientSecret')
  expect(problem('true', 'GitHubClientId', 'GitHubClientSecret')).toBeUndefined()
  expect(problem('false')).toBeUndefined()
})

test('removes a trailing slash from base addresses; links stay unchanged', () => {
  expect(sentValue(optionField('ServerAddress'), ' https://a.example/// ')).toBe(
    'https://a.example',
  )
  expect(sentValue(optionField('TopUpLink'), 'https://a.example/buy/')).toBe(
    'https://a.example/buy/',
  )
})

test.each<[OptionKey, string, string, number | null]>([
  ['LogRetentionDays', '0', '30', 30],
  ['LogRetentionDays', '60', '7', 7],
  ['LogBodyRetentionDays', '7', '1', 1],
  ['LogRetentionDays', '30', '60', null],
  ['LogRetentionDays', '30', '0', null],
  ['LogRetentionDays', '30', '30', null],
  ['RetryTimes', '3', '1', null],
])('%s from %s to %s asks about the days that are left: %s', (key, saved, value, count) => {
  const asked = questionsOf([{ field: optionField(key), value }], () => saved)
  expect(asked.map((question) => question.count)).toEqual(count === null ? [] : [count])
})

describe('changes', () => {
  const saved: Record<string, string> = {
    ServerAddress: 'https://a.example',
    PasswordLoginEnabled: 'true',
    RegisterEnabled: 'false',
    SMTPServer: 'mail.example',
    ModelRatio: '{"a":1.50}',
  }
  const keys = (edits: Record<string, string>, fields = all) =>
    changesOf(fields, edits, (key) => saved[key] ?? '').map(({ field: { key }, value }) => [
      key,
      value,
    ])

  test('an equal value is no change', () => {
    expect(
      keys({
        ServerAddress: 'https://a.example/',
        PasswordLoginEnabled: 'true',
        ModelRatio: '{\n  "a": 1.50\n}',
      }),
    ).toEqual([])
  })

  test('turns off first, then sets values, then turns on', () => {
    expect(
      keys({ RegisterEnabled: 'true', SMTPServer: 'other.example', PasswordLoginEnabled: 'false' }),
    ).toEqual([
      ['PasswordLoginEnabled', 'false'],
      ['SMTPServer', 'other.example'],
      ['RegisterEnabled', 'true'],
    ])
  })

  test('a secret is sent after its address', () => {
    const edits = { SMTPToken: 'x', SMTPServer: 'other.example' }
    for (const fields of [all, all.toReversed()]) {
      expect(keys(edits, fields).map(([key]) => key)).toEqual(['SMTPServer', 'SMTPToken'])
    }
  })

  test('an edited secret is sent, also if it is cleared', () => {
    expect(keys({ SMTPToken: 'x' })).toEqual([['SMTPToken', 'x']])
    expect(keys({ SMTPToken: '' })).toEqual([['SMTPToken', '']])
  })
})

test('a domain may be entered as the end of an address', () => {
  expect(domainsOf('a.com, @Example.COM，@a.com,@')).toEqual(['a.com', 'example.com'])
})

test('empty and repeated domains are not added', () => {
  expect(domainsOf('a.com,, b.com，A.com \n c.com')).toEqual(['a.com', 'b.com', 'c.com'])
})
