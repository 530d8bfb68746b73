import { describe, expect, test } from 'vitest'
import {
  isOptionKey,
  isSecretOption,
  optionKeys,
  optionRows,
  type OptionKey,
} from '../../contract/option/options.ts'
import { missingPrerequisite, optionSpec, secretLeftBehind, switchThatNeeds } from './option.ts'
import { duplicateRatioName, parseRatios, ratiosInForce } from './ratio-text.ts'

const problem = (key: OptionKey, value: string) => optionSpec(key).check(value)

test.each(optionKeys)('%s accepts its own default', (key) => {
  expect(problem(key, optionSpec(key).default)).toBeNull()
})

test('every option with the name of a secret is a secret', () => {
  // Secrets that One API hides by name, and those that it does not hide.
  const named = optionKeys.filter((key) => /(Token|Secret|SecretKey)$/.test(key))
  expect(named.filter((key) => !isSecretOption(key))).toEqual([])
  expect(optionKeys.filter(isSecretOption).toSorted()).toEqual([
    'AuditSinkSecret',
    'GitHubClientSecret',
    'LarkClientSecret',
    'MessagePusherToken',
    'OidcClientSecret',
    'SMTPToken',
    'TurnstileSecretKey',
    'WeChatServerToken',
  ])
})

describe('a secret whose address changes', () => {
  const stored: Partial<Record<OptionKey, string>> = {
    SMTPServer: 'mail.example',
    SMTPToken: 'x',
    WeChatServerAddress: 'https://wx.example/a',
    WeChatServerToken: 'x',
    MessagePusherAddress: 'https://push.example',
    OidcWellKnown: 'https://id.example/.well-known/openid-configuration',
    OidcClientSecret: 'x',
  }
  const emptied = (key: OptionKey, value: string, others: typeof stored = {}) =>
    secretLeftBehind(key, value, (name) => ({ ...stored, ...others })[name] ?? '')

  test.each<[OptionKey, string, OptionKey | null]>([
    ['SMTPServer', 'mail.evil.example', 'SMTPToken'],
    ['SMTPServer', '', 'SMTPToken'],
    ['SMTPServer', ' MAIL.example', null],
    ['SMTPAccount', 'other', null],
    ['WeChatServerAddress', 'https://evil.example/a', 'WeChatServerToken'],
    ['WeChatServerAddress', 'https://wx.example/b', null],
    ['WeChatServerAddress', 'https://wx.example:8443/a', 'WeChatServerToken'],
    ['WeChatServerAddress', 'http://wx.example/a', 'WeChatServerToken'],
    ['WeChatServerAddress', 'https://WX.example:443/a', null],
    // It has no secret.
    ['MessagePusherAddress', 'https://evil.example', null],
    ['OidcWellKnown', 'https://evil.example/x', 'OidcClientSecret'],
    ['OidcTokenEndpoint', 'https://evil.example/token', 'OidcClientSecret'],
    ['OidcTokenEndpoint', 'https://id.example/token', null],
    ['OidcTokenEndpoint', 'http://id.example/token', 'OidcClientSecret'],
    ['OidcAuthorizationEndpoint', 'https://evil.example/auth', null],
  ])('%s = %j empties %s', (key, value, secret) => {
    expect(emptied(key, value)).toBe(secret)
  })

  test('a secret that was entered before its address is kept', () => {
    expect(emptied('SMTPServer', 'mail.example', { SMTPServer: '' })).toBeNull()
  })

  test('a separate token endpoint takes precedence over the discovery document', () => {
    const own = { OidcTokenEndpoint: 'https://token.example/' }
    expect(emptied('OidcWellKnown', 'https://evil.example/x', own)).toBeNull()
    expect(emptied('OidcTokenEndpoint', '', own)).toBe('OidcClientSecret')
  })
})

test('member names of every object are not options', () => {
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
    ['SMTPFrom', '', true],
    ['SMTPFrom', 'gw@example.com', true],
    ['SMTPFrom', 'Some Name <gw@example.com>', true],
    ['SMTPFrom', 'gw@example.com;', false],
    ['SMTPFrom', 'gw@example.com，', false],
    ['SMTPFrom', 'not an address', false],
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
    ['DropHostedTools', '', true],
    ['DropHostedTools', '*', true],
    ['DropHostedTools', '50, 36', true],
    ['DropHostedTools', '9999', false],
    ['DropHostedTools', '50,', false],
    ['DropHostedTools', 'true', false],
    ['DefaultModelRatio', '15', true],
    ['DefaultModelRatio', '-1', false],
    ['Logo', '/logo.png', true],
    ['Logo', './files/logo.png', true],
    ['Logo', 'data:image/png;base64,AAAA', true],
    ['Logo', 'javascript:alert(1)', false],
    ['Logo', 'data:text/html,x', false],
    ['Logo', '//evil.example/logo.png', false],
    ['Logo', '/api/user/logout', false],
    ['Logo', 'api/user/logout', false],
    ['Logo', './x/../api/user/token', false],
    ['Logo', '../v1/models', false],
    ['Logo', '/gate/api/user/logout', false],
    ['EmailDomainWhitelist', '', true],
    ['EmailDomainWhitelist', 'example.com, 例子.中国', true],
    ['EmailDomainWhitelist', 'me@example.com', false],
    ['EmailDomainWhitelist', 'a.com,,b.com', false],
    ['EmailDomainWhitelist', 'not a domain', false],
    // Then no group would exist for any user.
    ['GroupRatio', '{}', false],
    ['GroupRatio', '{"default":1}', true],
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
    // One API's own defaults.
    ['{"deepseek-reasoner":3.9818181818181815}', { 'deepseek-reasoner': '3.9818181818181815' }],
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
    ['more digits than a number has', '{"a":0.123456789012345678}'],
    ['a number that is none', '{"a":1e400}'],
    ['less than nothing', '{"a":-0}'],
    ['a number too small to be written out', '{"a":1e-400}'],
    ['more decimals than arithmetic needs', '{"a":1e-31}'],
  ])('refuses %s', (_what, text) => {
    expect(parseRatios(text)).not.toBeInstanceOf(Map)
    expect(parseRatios(text)).toMatchObject({ zh: expect.any(String), en: expect.any(String) })
  })
})

/** One entry that does not fit must not move the prices of all others. */
describe('effective ratios', () => {
  test.each([
    ['{"a": 2.50}', { a: '2.50' }],
    ['{"a":0.30000000000000004,"b":2.50}', { a: '0.30000000000000004', b: '2.50' }],
    ['{"a":0.123456789012345678,"b":1e3}', { a: '0.12345678901234568', b: '1000' }],
    ['{"openrouter/auto":-500000,"b":2.50}', { b: '2.5' }],
    ['{"a":99999999,"b":1e400,"c":1000000.1}', { a: '1000000', b: '1000000', c: '1000000' }],
    ['{"a":-1,"b":"1","c":null,"d":[1],"e":{"f":2},"g":3}', { g: '3' }],
    [
      '{"a":1e-31,"b":1.23456789e-28,"c":-0,"d":5e-324}',
      {
        a: `0.${'0'.repeat(30)}`,
        b: '0.000000000000000000000000000123',
        c: '0',
        d: `0.${'0'.repeat(30)}`,
      },
    ],
    ['{"a":1,"a":"x","b":2}', { b: '2' }],
    ['[1]', {}],
    ['null', {}],
    ['{"a":1', {}],
    ['', {}],
  ])('of %s', (text, expected) => {
    expect(Object.fromEntries(ratiosInForce(text))).toEqual(expected)
  })
})

describe('ratio maps that cannot be saved', () => {
  test.each([
    ['a name twice', '{"a":1,"b":2,"a":1}', 'a'],
    ['a name twice, spelled differently', String.raw`{"a":1,"\u0061":2}`, 'a'],
    ['a value that looks like a name', '{"a":1,"b":2}', null],
  ])('%s', (_what, text, name) => {
    expect(duplicateRatioName(text)).toBe(name)
  })

  test.each(['{"":1}', '{" a":1}', '{"a,b":1}', '{"a\\nb":1}', `{"${'n'.repeat(201)}":1}`])(
    'the name in %s',
    (text) => {
      expect(problem('ModelRatio', text)?.en).toContain('the name')
    },
  )
})

describe('prerequisites of a switch', () => {
  const none = (): string => ''
  const all = (): string => 'filled'

  const needing = optionKeys.flatMap((key) => {
    const row = optionRows[key]
    return row.kind === 'flag' && row.needs !== undefined ? [[key, row.needs] as const] : []
  })

  test.each(needing)('%s: %s', (key, needed) => {
    expect(missingPrerequisite(key, 'true', none)).toBe(needed)
    expect(missingPrerequisite(key, 'true', all)).toBeNull()
    // Turning off is never refused.
    expect(missingPrerequisite(key, 'false', none)).toBeNull()
  })

  test('other options need nothing', () => {
    expect(missingPrerequisite('RegisterEnabled', 'true', none)).toBeNull()
  })

  const values = (over: Partial<Record<OptionKey, string>>) => (key: OptionKey) => over[key] ?? ''

  test('a prerequisite cannot be emptied while the switch is on', () => {
    const on = { TurnstileCheckEnabled: 'true', TurnstileSiteKey: 'a' }
    expect(switchThatNeeds('TurnstileSiteKey', '', values(on))).toBe('TurnstileCheckEnabled')
    expect(switchThatNeeds('TurnstileSiteKey', 'c', values(on))).toBeNull()
    const off = { ...on, TurnstileCheckEnabled: 'false' }
    expect(switchThatNeeds('TurnstileSiteKey', '', values(off))).toBeNull()
    // In an adopted installation a switch may be on without its prerequisite; it then blocks no
    // change.
    const broken = { ...on, TurnstileSiteKey: '' }
    expect(switchThatNeeds('TurnstileSiteKey', '', values(broken))).toBeNull()
  })
})
