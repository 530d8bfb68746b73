import { describe, expect, test } from 'vitest'
import { NO_OVERRIDES, overrideSecrets, overridesOf, overridesRefusal } from './overrides.ts'

describe('overrides of a channel', () => {
  test.each([
    ['nothing', {}],
    ['empty members', { proxy: '', header_override: null, param_override: '' }],
    ['a proxy with an account', { proxy: 'http://me:p%40ss@proxy.example:3128' }],
    ['a proxy over TLS', { proxy: 'https://proxy.example' }],
    [
      'headers',
      { header_override: { 'X-Team': 'a b', Authorization: 'Bearer {api_key}', Via: '' } },
    ],
    ['members of any kind', { param_override: { temperature: 0, user: null, tools: [] } }],
  ])('%s', (_what, config) => {
    expect(overridesRefusal(config)).toBeNull()
  })

  test.each([
    'proxy.example:3128',
    'ftp://proxy.example',
    'http://proxy.example/path',
    'http://proxy.example?x=1',
    'http://pro xy.example',
    'http://me:%ff@proxy.example',
    'http://169.254.169.254',
    'http://[fd00:ec2::254]:80',
    7,
  ])('rejected as proxy: %s', (proxy) => {
    expect(overridesRefusal({ proxy })).toEqual({ code: 'channel_proxy_invalid' })
    expect(overridesOf({ proxy }).proxy).toBeUndefined()
  })

  test.each(['socks5://proxy.example', 'SOCKS5H://proxy.example:1080', 'socks4://10.0.0.1'])(
    'rejected as a proxy of another kind: %s',
    (proxy) => {
      expect(overridesRefusal({ proxy })).toEqual({ code: 'channel_proxy_socks' })
      expect(overridesOf({ proxy }).proxy).toBeUndefined()
    },
  )

  test.each([
    ['Host', { Host: 'a.example' }],
    ['content-LENGTH', { 'content-LENGTH': '1' }],
    ['Proxy-Authorization', { 'Proxy-Authorization': 'x' }],
    ['X-A', { 'X-A': 'one\r\nX-B: two' }],
    ['X-A', { 'X-A': 7 }],
    ['bad name', { 'bad name': 'x' }],
  ])('rejected as header: %s', (name, header_override) => {
    const code = 'channel_header_override_invalid'
    expect(overridesRefusal({ header_override })).toEqual({ code, params: { name } })
    expect(overridesOf({ header_override }).headers).toEqual({})
  })

  test.each([
    ['model', { model: 'dearer' }],
    ['stream', { stream: true }],
    ['messages', { messages: [] }],
  ])('rejected as parameter: %s', (name, param_override) => {
    const code = 'channel_param_override_invalid'
    expect(overridesRefusal({ param_override })).toEqual({ code, params: { name } })
    expect(overridesOf({ param_override }).params).toEqual({})
  })
})

test.each(['X-A: b', ['X-A'], 1])('overrides that are not an object: %j', (value) => {
  expect(overridesRefusal({ header_override: value })).toEqual({
    code: 'channel_header_override_shape',
  })
  expect(overridesRefusal({ param_override: value })).toEqual({
    code: 'channel_param_override_shape',
  })
  expect(overridesOf({ header_override: value, param_override: value })).toMatchObject({
    headers: {},
    params: {},
  })
})

test('valid parts of an adopted text are kept', () => {
  const config = { header_override: { 'X-Good': 'yes', Host: 'no' }, param_override: { top_p: 1 } }
  expect(overridesOf(config)).toEqual({
    proxy: undefined,
    headers: { 'x-good': 'yes' },
    params: { top_p: 1 },
  })
  expect(overridesOf({ region: 'eu' })).toBe(NO_OVERRIDES)
})

test('secrets are the proxy with its password, and long header values', () => {
  const config = {
    proxy: 'http://me:p%40ssword@inner.example:3128',
    header_override: { 'x-key': 'secret-value', 'x-flag': 'true' },
  }
  expect(overrideSecrets(overridesOf(config))).toEqual([
    'secret-value',
    'inner.example:3128',
    'p@ssword',
  ])
})
