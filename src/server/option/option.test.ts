import { describe, expect, test } from 'vitest'
import {
  isOptionKey,
  isSecretOption,
  missingPrerequisite,
  options,
  parseRatios,
  prerequisites,
  type OptionKey,
  type OptionSpec,
} from './option.ts'

const keys = Object.keys(options).filter(isOptionKey)
const problem = (key: OptionKey, value: string) => {
  const spec: OptionSpec = options[key]
  return spec.check(value)
}

test.each(keys)('%s accepts its own default', (key) => {
  expect(problem(key, options[key].default)).toBeNull()
})

test('every option that is named after a secret is one', () => {
  // What the wire hides by name, and what One API forgot to.
  const named = keys.filter((key) => /(Token|Secret|SecretKey)$/.test(key))
  expect(named.filter((key) => !isSecretOption(key))).toEqual([])
  expect(keys.filter(isSecretOption).toSorted()).toEqual([
    'GitHubClientSecret',
    'LarkClientSecret',
    'MessagePusherToken',
    'OidcClientSecret',
    'SMTPToken',
    'TurnstileSecretKey',
    'WeChatServerToken',
  ])
})

test('names of every object are no options', () => {
  for (const key of ['constructor', '__proto__', 'toString', '']) {
    expect(isOptionKey(key)).toBe(false)
  }
})

describe('values', () => {
  test.each<[OptionKey, string, boolean]>([
    ['RegisterEnabled', 'true', true],
    ['RegisterEnabled', 'True', false],
    ['RegisterEnabled', '1', false],
    ['RegisterEnabled', '', false],
    ['RetryTimes', '0', true],
    ['RetryTimes', '-1', false],
    ['RetryTimes', '1.5', false],
    ['RetryTimes', ' 1', false],
    ['RetryTimes', '1e1', false],
    ['SMTPPort', '0', false],
    ['SMTPPort', '65535', true],
    ['SMTPPort', '65536', false],
    ['QuotaForNewUser', '1125899906842624', true],
    ['QuotaForNewUser', '1125899906842625', false],
    ['QuotaPerUnit', '500000.55', true],
    ['QuotaPerUnit', '0', false],
    ['ChannelDisableThreshold', '0', true],
    ['ChannelDisableThreshold', '2.5', true],
    ['ChannelDisableThreshold', 'NaN', false],
    ['SMTPFrom', 'a@b\r\nBcc: c@d', false],
    ['SystemName', 'n'.repeat(2049), false],
    ['Notice', 'line\nline', true],
    ['Notice', 'n'.repeat(1_000_001), false],
    ['ServerAddress', '', true],
    ['ServerAddress', 'https://gate.example/base', true],
    ['ServerAddress', 'javascript:alert(1)', false],
    ['ServerAddress', 'gate.example', false],
    ['Theme', 'berry', true],
    ['Theme', 'Berry', false],
    ['DefaultModelRatio', '', true],
    ['DefaultModelRatio', '15', true],
    ['DefaultModelRatio', '-1', false],
  ])('%s: %j is %s', (key, value, expected) => {
    expect(problem(key, value) === null).toBe(expected)
  })
})

describe('parseRatios', () => {
  test.each([
    ['{}', {}],
    ['{"a": 1}', { a: '1' }],
    // The decimals arrive as they were written: nothing rounds them.
    ['{"a": 2.50, "b": 0.1, "c": 0.000075}', { a: '2.50', b: '0.1', c: '0.000075' }],
    ['{"a": 7.5e-2, "b": 1e3, "c": 1.5E+1}', { a: '0.075', b: '1000', c: '15' }],
    ['{"a": 0.123456789012345}', { a: '0.123456789012345' }],
    ['{"a": 0, "b": 1000000}', { a: '0', b: '1000000' }],
    ['{"constructor": 1, "__proto__": 2}', { constructor: '1', ['__proto__']: '2' }],
  ])('%s', (text, expected) => {
    const parsed = parseRatios(text)
    expect(parsed).toBeInstanceOf(Map)
    expect(Object.fromEntries(parsed instanceof Map ? parsed : [])).toEqual(expected)
  })

  test.each([
    ['no JSON', '{a:1}'],
    ['nothing', ''],
    ['a list', '[1]'],
    ['null', 'null'],
    ['a number in quotes', '{"a":"1"}'],
    ['a nested map', '{"a":{"b":1}}'],
    ['a nested map that repeats a name', '{"a":{"a":1}}'],
    ['a negative ratio', '{"a":-1}'],
    ['more than a million', '{"a":1000000.1}'],
    ['more digits than arithmetic keeps', '{"a":0.1234567890123456}'],
    ['a number that is none', '{"a":1e400}'],
  ])('refuses %s', (_what, text) => {
    expect(parseRatios(text)).not.toBeInstanceOf(Map)
    expect(parseRatios(text)).toMatchObject({ zh: expect.any(String), en: expect.any(String) })
  })
})

describe('missingPrerequisite', () => {
  const none = (): string => ''
  const all = (): string => 'filled'

  test.each(Object.keys(prerequisites).filter(isOptionKey))('%s', (key) => {
    const [first] = prerequisites[key] ?? []
    expect(missingPrerequisite(key, 'true', none)).toBe(first)
    expect(missingPrerequisite(key, 'true', all)).toBeNull()
    // Turning off is never refused.
    expect(missingPrerequisite(key, 'false', none)).toBeNull()
  })

  test('other options need nothing', () => {
    expect(missingPrerequisite('RegisterEnabled', 'true', none)).toBeNull()
  })
})
