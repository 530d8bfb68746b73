import { describe, expect, test } from 'vitest'
import type { Channel } from '../../contract/channel-api.ts'
import { formErrors } from './channel-form-errors.ts'
import {
  batchKeys,
  type ChannelForm,
  copiedForm,
  isReadOnly,
  keepsSecret,
  needsKeyAgain,
  newChannelForm,
  malformedKeys,
  repeatedKeys,
  toChanges,
  toForm,
  toInput,
} from './channel-form.ts'
import { toModelsByType } from './channel-models.ts'

const aChannel = (over: Partial<Channel> = {}): Channel => ({
  id: 7,
  type: 1,
  key: '',
  status: 1,
  name: '主力',
  weight: 3,
  created_time: 0,
  test_time: 0,
  response_time: 0,
  base_url: 'https://llm.example.com',
  other: '',
  balance: 0,
  balance_updated_time: 0,
  models: 'gpt-4o,gpt-4o-mini',
  group: 'default,vip',
  used_quota: 0,
  model_mapping: '',
  priority: 10,
  config: '{}',
  system_prompt: '',
  test_model: '',
  key_set: true,
  key_count: 1,
  keys_paused: 0,
  config_set: [],
  ...over,
})

const aForm = (over: Partial<ChannelForm> = {}): ChannelForm => ({
  ...newChannelForm(),
  name: '主力',
  key: 'sk-1',
  models: ['gpt-4o'],
  ...over,
})

const configOf = (over: Partial<ChannelForm['config']>): ChannelForm['config'] => ({
  ...newChannelForm().config,
  ...over,
})

const wrongFields = (form: ChannelForm, before: Channel | null = null) => [
  ...formErrors(form, before).keys(),
]

describe('body of a creation', () => {
  test('joins lists with commas, trims the address, omits empty numbers', () => {
    const form = aForm({
      baseUrl: ' https://llm.example.com/ ',
      groups: ['default', 'vip'],
      models: ['a', 'b'],
      mapping: ' {"a":"b"} ',
    })
    expect(toInput(form)).toEqual({
      type: 1,
      name: '主力',
      group: 'default,vip',
      base_url: 'https://llm.example.com',
      key: 'sk-1',
      config: '',
      other: '',
      models: 'a,b',
      model_mapping: '{"a":"b"}',
      system_prompt: '',
    })
  })

  test('raises a negative weight to 0; a priority may be negative', () => {
    expect(toInput(aForm({ weight: '-3', priority: '-5' }))).toMatchObject({
      weight: 0,
      priority: -5,
    })
  })

  test('a batch has one key per line, without empty lines', () => {
    const key = 'sk-1\r\n\n  sk-2 \n'
    expect(batchKeys(key)).toEqual(['sk-1', 'sk-2'])
    expect(toInput(aForm({ key, isBatch: true })).key).toBe('sk-1\nsk-2')
  })

  test('a repeated key creates no channel, and is counted', () => {
    const key = 'sk-1\nsk-2\n sk-1\r\n'
    expect(batchKeys(key)).toEqual(['sk-1', 'sk-2'])
    expect(repeatedKeys(key)).toBe(1)
  })

  test.each([
    ['add', { key_mode: 'add' }],
    ['together', { key_mode: 'together' }],
    ['replace', {}],
    ['each', {}],
  ] as const)('the use of several keys, %s, is sent where needed', (keyMode, said) => {
    const { key_mode } = toInput(aForm({ key: 'sk-1\nsk-2', isBatch: true, keyMode }))
    expect({ key_mode }).toEqual({ key_mode: undefined, ...said })
    expect(toInput(aForm({ keyMode }))).not.toHaveProperty('key_mode')
  })

  test('the keys of types 33 and 42 are composed from their fields', () => {
    const config = configOf({ ak: 'AK', sk: 'SK', region: 'us-west-2' })
    expect(toInput(aForm({ type: 33, config }))).toMatchObject({
      key: 'AK|SK|us-west-2',
      base_url: '',
      config: JSON.stringify({ region: 'us-west-2', ak: 'AK', sk: 'SK' }),
    })
    const vertex = configOf({
      region: 'us-east5',
      vertex_ai_project_id: 'p-1',
      vertex_ai_adc: '{"a":1}',
    })
    expect(toInput(aForm({ type: 42, config: vertex })).key).toBe('us-east5|p-1|{"a":1}')
  })

  test('type 3 sends its API version, for older servers also in other', () => {
    expect(toInput(aForm({ type: 3, baseUrl: 'https://r.openai.azure.com' }))).toMatchObject({
      config: '{"api_version":"2024-03-01-preview","deployment_dots":"keep"}',
      other: '2024-03-01-preview',
    })
  })

  test('a channel of type 3 from another program keeps omitting dots', () => {
    const before = aChannel({ type: 3, base_url: 'https://r.openai.azure.com', other: 'v1' })
    const form = toForm(before)
    expect(toChanges(form, before)).toEqual({})
    form.config.api_version = '2025-04-01-preview'
    expect(JSON.parse(toChanges(form, before).config ?? '')).toEqual({
      api_version: '2025-04-01-preview',
      deployment_dots: 'remove',
    })
  })

  test('type 43 has no models, mapping or prompt', () => {
    const form = aForm({ type: 43, mapping: '{"a":"b"}', systemPrompt: 'x' })
    expect(toInput(form)).toMatchObject({ models: '', model_mapping: '', system_prompt: '' })
  })
})

describe('body of an edit', () => {
  test('is empty if nothing was changed, for any stored values', () => {
    const stored = [
      aChannel(),
      aChannel({ base_url: 'https://llm.example.com/', models: 'a, b', config: '' }),
      aChannel({ type: 3, other: '2023-05-15', config: '' }),
      aChannel({ type: 33, config: '{"region":"us-west-2","ak":"","sk":""}', base_url: '' }),
      aChannel({ type: 77 }),
    ]
    for (const channel of stored) expect(toChanges(toForm(channel), channel)).toEqual({})
  })

  test('treats null members from a server as empty', () => {
    const channel = Object.assign(aChannel(), {
      other: null,
      base_url: null,
      priority: null,
      weight: null,
      models: null,
      config: null,
      model_mapping: null,
      system_prompt: null,
    })
    expect(toForm(channel)).toMatchObject({ baseUrl: '', models: [], priority: '0', mapping: '' })
    expect(toChanges(toForm(channel), channel)).toEqual({})
  })

  test('contains only changed fields', () => {
    const before = aChannel()
    const form = { ...toForm(before), name: '备用', priority: '', weight: '5' }
    expect(toChanges(form, before)).toEqual({ name: '备用', weight: 5 })
  })

  test('sends an emptied mapping to clear it', () => {
    const before = aChannel({ model_mapping: '{"a":"b"}' })
    expect(toChanges({ ...toForm(before), mapping: '' }, before)).toEqual({ model_mapping: '' })
  })

  test('keeps config members without a field when another changes', () => {
    const before = aChannel({ type: 34, config: '{"plugin":"p","user_id":"1"}' })
    const form = toForm(before)
    form.config.user_id = '2'
    expect(toChanges(form, before)).toEqual({ config: '{"plugin":"p","user_id":"2"}' })
  })

  test('reads a field from other where older programs stored it', () => {
    const before = aChannel({ type: 18, other: 'v3.5', config: '{}' })
    expect(toForm(before).config.api_version).toBe('v3.5')
  })

  test('does not compose a key from empty secrets', () => {
    const before = aChannel({ type: 33, config: '{"region":"a","ak":"","sk":""}', base_url: '' })
    const form = toForm(before)
    form.config.region = 'b'
    expect(toChanges(form, before)).toEqual({ config: '{"region":"b","ak":"","sk":""}' })
  })
})

describe('a change of destination requires the key again', () => {
  const before = aChannel({ config_set: ['ak'] })

  test.each([
    ['nothing moved', {}, false],
    ['a slash at the end of the address', { baseUrl: 'https://llm.example.com/' }, false],
    ['another address', { baseUrl: 'https://other.example.com' }, true],
    ['another type', { type: 50 }, true],
  ])('%s', (_, change: Partial<ChannelForm>, isNeeded) => {
    const form = { ...toForm(before), ...change }
    expect(needsKeyAgain(form, before)).toBe(isNeeded)
    expect(wrongFields(form, before)).toEqual(isNeeded ? ['key'] : [])
    expect(keepsSecret(form, before, 'ak')).toBe(!isNeeded)
  })

  test('not if no key is stored', () => {
    const keyless = aChannel({ key_set: false })
    expect(needsKeyAgain({ ...toForm(keyless), type: 50 }, keyless)).toBe(false)
  })
})

test.each([
  [1, 'anything|at-all', 0],
  [1, 'sk-one sk-two', 1],
  [15, 'ak|sk', 0],
  [15, 'ak', 1],
  [18, 'app|secret|key', 0],
  [18, 'app|secret', 1],
  [22, 'key-app', 0],
  [22, 'key', 1],
  [23, '1|2|3', 0],
  [23, '1|2|3|4', 1],
  // An empty key is missing, not malformed.
  [23, '', 0],
])('a key of type %i with the text %s', (type, key, odd) => {
  expect(malformedKeys(aForm({ type, key }))).toHaveLength(odd)
  expect(malformedKeys(aForm({ type, key: `${key}\n\n`, isBatch: true }))).toHaveLength(odd)
})

test('a copy contains everything but the key', () => {
  const before = aChannel({ type: 33, config: '{"region":"a","ak":""}', config_set: ['ak'] })
  const copy = copiedForm(before, '主力 副本')
  expect(copy).toMatchObject({ name: '主力 副本', key: '', weight: '3', priority: '10' })
  expect(copy.config).toMatchObject({ region: 'a', ak: '' })
  expect(wrongFields(copy)).toEqual(['config.ak', 'config.sk'])
})

test('a channel of a retired type is read-only until its type is changed', () => {
  const before = aChannel({ type: 11 })
  expect(isReadOnly(toForm(before), before)).toBe(true)
  expect(isReadOnly({ ...toForm(before), type: 24 }, before)).toBe(false)
  expect(isReadOnly(toForm(aChannel()), aChannel())).toBe(false)
})

describe('validation', () => {
  test('requires name and key of a new channel, both with the text of the specification', () => {
    const errors = formErrors(aForm({ name: ' ', key: '' }), null)
    expect([...errors.keys()]).toEqual(['name', 'key'])
    expect([...errors.values()].map(({ toast }) => toast)).toEqual([
      '请填写渠道名称和渠道密钥！',
      '请填写渠道名称和渠道密钥！',
    ])
  })

  test('requires at least one model, except for type 43', () => {
    expect(wrongFields(aForm({ models: [] }))).toEqual(['models'])
    const proxy = aForm({ type: 43, models: [], baseUrl: 'https://up.example.com' })
    expect(wrongFields(proxy)).toEqual([])
  })

  test.each([
    ['{', true],
    ['nonsense', true],
    ['', false],
    ['{"a":"b"}', false],
    // Only checks for JSON; the server validates the content.
    ['[]', false],
  ])('a mapping %s', (mapping, isWrong) => {
    expect(wrongFields(aForm({ mapping }))).toEqual(isWrong ? ['mapping'] : [])
  })

  test('requires a valid address where the type needs one', () => {
    expect(wrongFields(aForm({ type: 8 }))).toEqual(['baseUrl'])
    expect(wrongFields(aForm({ baseUrl: 'llm.example.com' }))).toEqual(['baseUrl'])
    expect(wrongFields(aForm({ baseUrl: 'javascript:alert(1)' }))).toEqual(['baseUrl'])
    expect(wrongFields(aForm({ baseUrl: 'http://10.0.0.1:8080' }))).toEqual([])
  })

  test('requires the mandatory fields of a type; stored ones may stay empty', () => {
    const bedrock = aForm({ type: 33, key: '' })
    expect(wrongFields(bedrock)).toEqual(['config.region', 'config.ak', 'config.sk'])
    const before = aChannel({ type: 33, config: '{"region":"a"}', config_set: ['ak', 'sk'] })
    expect(wrongFields(toForm(before), before)).toEqual([])
  })

  test('an API key of Bedrock needs no second part, entered or stored', () => {
    const config = configOf({ ak: 'ABSKx', region: 'us-west-2' })
    const form = aForm({ type: 33, config })
    expect(wrongFields(form)).toEqual([])
    expect(toInput(form).key).toBe('ABSKx|us-west-2')
    const before = aChannel({ type: 33, config: '{"region":"a","ak":""}', config_set: ['ak'] })
    expect(wrongFields(toForm(before), before)).toEqual([])
    const typed = toForm(before)
    typed.config.ak = 'AKIAx'
    expect(wrongFields(typed, before)).toEqual(['config.sk'])
  })

  test('requires a group, and integers', () => {
    expect(wrongFields(aForm({ groups: [] }))).toEqual(['groups'])
    expect(wrongFields(aForm({ priority: '1.5', weight: 'x' }))).toEqual(['priority', 'weight'])
    expect(wrongFields(aForm({ priority: '', weight: '-1' }))).toEqual([])
  })

  test('a channel that never had a name can be edited', () => {
    const nameless = aChannel({ name: '' })
    expect(wrongFields({ ...toForm(nameless), weight: '1' }, nameless)).toEqual([])
    expect(wrongFields({ ...toForm(aChannel()), name: '' }, aChannel())).toEqual(['name'])
  })
})

test('accepts stored model lists only if they are lists of strings', () => {
  expect(toModelsByType(null)).toEqual({})
  expect(toModelsByType({ 1: ['a', 2, null], 34: null, x: 'y' })).toEqual({ 1: ['a'] })
})

describe('overrides of a channel', () => {
  const overrides = (over: Partial<ChannelForm['overrides']>) => ({
    ...newChannelForm().overrides,
    ...over,
  })
  const config = '{"proxy":"","header_override":"","param_override":{"top_p":1}}'
  const config_set = ['proxy', 'header_override']
  const before = aChannel({ config, config_set })

  test('are sent in the form that the server stores', () => {
    const form = aForm({
      overrides: overrides({
        proxy: ' http://p.example:3128 ',
        headers: '{"X-A":"b"}',
        params: '{"n":1}',
      }),
    })
    expect(JSON.parse(toInput(form).config ?? '')).toEqual({
      proxy: 'http://p.example:3128',
      header_override: { 'X-A': 'b' },
      param_override: { n: 1 },
    })
  })

  test('stay unchanged if left empty, and can be removed', () => {
    const form = toForm(before)
    expect(toChanges(form, before)).toEqual({})
    const removing = { ...form, overrides: { proxy: null, headers: null, params: '' } }
    expect(JSON.parse(toChanges(removing, before).config ?? '')).toEqual({
      proxy: null,
      header_override: null,
      param_override: null,
    })
  })

  test('are validated before they are sent', () => {
    const wrong = overrides({ proxy: 'socks5://p', headers: '{"a":1}', params: '[]' })
    expect(wrongFields(aForm({ overrides: wrong }))).toEqual([
      'overrides.proxy',
      'overrides.headers',
      'overrides.params',
    ])
  })

  test('another proxy or address requires the key and the headers again', () => {
    const proxied = { ...toForm(before), overrides: overrides({ proxy: 'http://p.example' }) }
    expect(wrongFields(proxied, before)).toEqual(['key', 'overrides.headers'])
    const moved = { ...toForm(before), baseUrl: 'https://other.example', key: 'sk-2' }
    expect(wrongFields(moved, before)).toEqual(['overrides.headers'])
    const without = { ...moved, overrides: overrides({ headers: null }) }
    expect(wrongFields(without, before)).toEqual([])
  })
})
