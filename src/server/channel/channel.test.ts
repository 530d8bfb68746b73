import { describe, expect, test } from 'vitest'
import { ChannelInput } from '../../contract/channel-api.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import {
  answeredChannel,
  channelChanges,
  isHardRefusal,
  modelToTest,
  newChannels,
  statusAfterTest,
  type ChannelState,
  type TestVerdict,
} from './channel.ts'
import { channelRefusal } from './channel-input.ts'

const input = (members: Record<string, unknown>) => ChannelInput.parse(members)

describe('channelRefusal', () => {
  test.each([
    ['a status that does not exist', { status: 4 }, 'channel_status_invalid'],
    ['a negative status', { status: -1 }, 'channel_status_invalid'],
    ['an address of another protocol', { base_url: 'ftp://a' }, 'channel_base_url_invalid'],
    ['an address without a protocol', { base_url: 'api.example.com' }, 'channel_base_url_invalid'],
    ['a file', { base_url: 'file:///etc/passwd' }, 'channel_base_url_invalid'],
    ['a script', { base_url: 'javascript:alert(1)' }, 'channel_base_url_invalid'],
    ['a mapping that is no JSON', { model_mapping: '{a' }, 'channel_mapping_invalid'],
    ['a mapping that is a list', { model_mapping: '["a"]' }, 'channel_mapping_invalid'],
    ['a mapping to a number', { model_mapping: '{"a":1}' }, 'channel_mapping_invalid'],
    [
      'a mapping to an endless name',
      { model_mapping: JSON.stringify({ a: 'b'.repeat(257) }) },
      'channel_mapping_invalid',
    ],
    ['a configuration that is no JSON', { config: 'region' }, 'channel_config_invalid'],
    ['a configuration that is a text', { config: '"region"' }, 'channel_config_invalid'],
    ['a configuration that is null', { config: 'null' }, 'channel_config_invalid'],
    ['an endless name', { name: 'n'.repeat(201) }, 'invalid_field'],
    ['an endless model', { models: `a,${'m'.repeat(257)}` }, 'invalid_field'],
    ['an endless test model', { test_model: 'm'.repeat(257) }, 'invalid_field'],
    [
      'an address with an account',
      { base_url: 'https://me:pw@a.example' },
      'channel_base_url_invalid',
    ],
    ['an address with a query', { base_url: 'https://a.example/?x=1' }, 'channel_base_url_invalid'],
    ['an address with an anchor', { base_url: 'https://a.example/#x' }, 'channel_base_url_invalid'],
    [
      'a metadata service',
      { base_url: 'http://169.254.169.254/latest' },
      'channel_address_forbidden',
    ],
    ['one in another spelling', { base_url: 'http://0xa9fea9fe' }, 'channel_address_forbidden'],
    [
      'one inside an IPv6 address',
      { base_url: 'http://[::ffff:a9fe:a9fe]' },
      'channel_address_forbidden',
    ],
    ['nowhere', { base_url: 'http://0.0.0.0:3000' }, 'channel_address_forbidden'],
    ['a line break in a name', { name: 'a\r\nb' }, 'text_unreadable'],
    ['a name that turns around', { name: 'a\u202Eb' }, 'text_unreadable'],
    ['half of a character', { models: 'a,\uD800' }, 'text_unreadable'],
    ['a mapping to a line break', { model_mapping: '{"a":"b\\r\\nc"}' }, 'channel_mapping_invalid'],
    ['an endless group', { group: `default,${'g'.repeat(33)}` }, 'invalid_field'],
  ])('rejects %s', (_what, members, code) => {
    expect(channelRefusal(input(members))?.code).toBe(code)
  })

  test.each([
    ['nothing at all', {}],
    ['empty members', { base_url: '', model_mapping: '', config: '', models: '', group: '' }],
    ['a local address', { base_url: 'http://localhost:11434/' }],
    ['a private address', { base_url: 'http://192.168.1.9:8000/v1' }],
    ['a name of a family', { name: '👨‍👩‍👧‍👦 主力' }],
    ['a mapping', { model_mapping: ' {"a":"b"} ' }],
    ['a type nobody knows', { type: 999 }],
    ['names at their limits', { name: '名'.repeat(200), group: '组'.repeat(32) }],
  ])('accepts %s', (_what, members) => {
    expect(channelRefusal(input(members))).toBeNull()
  })
})

const manyKeys = (count: number) => Array.from({ length: count }, (_, i) => `sk-${i}`).join('\n')

const created = (members: Record<string, unknown>) => {
  const checked = newChannels(input(members))
  if (!checked.ok) throw new Error(checked.refusal.code)
  return checked.value.channels
}

describe('newChannels', () => {
  test('one channel per line of the key, with the same fields', () => {
    const channels = created({ name: 'batch', key: ' sk-a\r\nsk-b\n\n  \nsk-c', models: 'm' })
    expect(channels.map(({ key }) => key)).toEqual(['sk-a', 'sk-b', 'sk-c'])
    expect(new Set(channels.map(({ name, models }) => `${name} ${models}`))).toEqual(
      new Set(['batch m']),
    )
  })

  test('a key on two lines creates one channel, and is counted', () => {
    const checked = newChannels(input({ key: 'sk-a\r\n sk-a \nsk-b\nsk-a' }))
    if (!checked.ok) throw new Error(checked.refusal.code)
    expect(checked.value.channels.map(({ key }) => key)).toEqual(['sk-a', 'sk-b'])
    expect(checked.value.duplicates).toBe(2)
  })

  test('one channel with all keys, if its type allows it', () => {
    const lines = 'sk-b\n sk-a \r\nsk-b'
    expect(created({ key: lines, key_mode: 'together' }).map(({ key }) => key)).toEqual([
      'sk-b\nsk-a',
    ])
    const adc = '{\n"type": "service_account"\n}'
    const typed = { type: 42, key: `us|project|${adc}`, key_mode: 'together' }
    expect(created(typed).map(({ key }) => key)).toEqual([`us|project|${adc}`])
  })

  test('omitted members get the wire’s defaults', () => {
    expect(created({ key: 'sk-a' })).toEqual([
      {
        type: 0,
        key: 'sk-a',
        status: 1,
        name: '',
        weight: 0,
        base_url: '',
        other: '',
        models: '',
        group: 'default',
        model_mapping: '',
        priority: 0,
        config: '',
        system_prompt: '',
        test_model: '',
      },
    ])
  })

  // A comparison of stored and sent values finds no difference.
  test('lists are stored unchanged, an address without its trailing slash', () => {
    const lists = { models: 'a, b ,a,,c', group: 'vip, default,vip' }
    const [channel] = created({ key: 'k', ...lists, base_url: ' https://a.example/v1// ' })
    expect(channel).toMatchObject({ ...lists, base_url: 'https://a.example/v1' })
    expect(created({ key: 'k', group: ' , ' })).toMatchObject([{ group: 'default' }])
    expect(changes(lists)).toEqual(lists)
    expect(changes({ models: ' ,', group: ',' })).toEqual({})
  })

  // One API's consoles send this text with every channel, and compare it with the response.
  test('a configuration without secrets is stored unchanged', () => {
    for (const config of ['{"region":"","sk":"","ak":"","vertex_ai_adc":""}', '{}', '']) {
      expect(created({ key: 'k', config })).toMatchObject([{ config }])
      expect(answeredChannel({ ...stored, config })).toMatchObject({ config, config_set: [] })
      expect(Object(changes({ config })).config ?? '').toBe(config)
      expect(changes({ config }, { ...stored, config })).toEqual({})
    }
  })

  test('a key composed of fields is one key, even with line breaks', () => {
    const adc = '{\n "type": "service_account"\n}'
    const typed = created({ type: 42, key: `us|project|${adc}` })
    expect(typed.map(({ key }) => key)).toEqual([`us|project|${adc}`])
    const composed = created({
      type: 42,
      config: JSON.stringify({
        region: 'us',
        vertex_ai_project_id: 'project',
        vertex_ai_adc: adc,
      }),
    })
    expect(composed.map(({ key }) => key)).toEqual([`us|project|${adc}`])
  })

  test.each([
    ['no key', { models: 'm' }, 'channel_key_missing'],
    ['only blank lines', { key: ' \n\r\n' }, 'channel_key_missing'],
    [
      'composed fields of which one is missing',
      { type: 33, config: '{"ak":"a"}' },
      'channel_key_missing',
    ],
    [
      'more keys than a channel may hold',
      { key: manyKeys(201), key_mode: 'together' },
      'invalid_field',
    ],
    ['more channels than one call may create', { key: manyKeys(1001) }, 'invalid_field'],
    ['a key with an invisible character', { key: 'sk-a\nsk-\u200Bb' }, 'text_unreadable'],
    [
      'more abilities than one call may create',
      { key: manyKeys(1000), models: Array.from({ length: 101 }, (_, i) => `m${i}`).join() },
      'invalid_field',
    ],
  ])('rejects %s', (_what, members, code) => {
    expect(newChannels(input(members))).toMatchObject({ ok: false, refusal: { code } })
  })
})

const stored: ChannelState = {
  type: 1,
  key: 'sk-stored',
  status: 1,
  name: 'main',
  base_url: 'https://a.example',
  models: 'gpt-4o,gpt-4o-mini',
  config: '',
  test_model: null,
}

const changes = (members: Record<string, unknown>, row = stored) => {
  const checked = channelChanges(row, input({ id: 1, ...members }))
  return checked.ok ? checked.value : checked.refusal.code
}

describe('channelChanges', () => {
  test.each([
    ['nothing', {}, {}],
    ['null everywhere', { weight: null, name: null, base_url: null, key: null }, {}],
    ['weight and priority 0', { weight: 0, priority: 0 }, { weight: 0, priority: 0 }],
    [
      'the members that can be emptied',
      { other: '', model_mapping: '', system_prompt: '', test_model: '' },
      { other: '', model_mapping: '', system_prompt: '', test_model: '' },
    ],
    [
      'the members that cannot be emptied',
      { name: '', key: '', models: '', group: '', config: '', type: 0, status: 0 },
      {},
    ],
    ['a status alone', { status: 2 }, { status: 2 }],
    [
      'the address it has, spelled with a slash',
      { base_url: 'https://a.example/' },
      { base_url: 'https://a.example' },
    ],
    [
      'what only the server writes',
      { used_quota: 9, balance: 9, created_time: 9, test_time: 9, response_time: 9 },
      {},
    ],
  ])('%s', (_what, members, expected) => {
    expect(changes(members)).toEqual(expected)
  })

  // A database written by another program may contain invalid values; it can be edited
  // nevertheless.
  test('unchanged values are not checked', () => {
    const row = { ...stored, base_url: 'https://a.example/?x=1', name: 'a\tb' }
    expect(changes({ base_url: row.base_url, name: row.name, priority: 3 }, row)).toEqual({
      base_url: 'https://a.example/?x=1',
      name: 'a\tb',
      priority: 3,
    })
    expect(changes({ base_url: 'https://b.example/?x=1', key: 'k' }, row)).toBe(
      'channel_base_url_invalid',
    )
    expect(changes({ key: 'sk-\u0007' })).toBe('text_unreadable')
  })

  test.each([
    ['replace those stored', { key: ' sk-2\r\nsk-1\nsk-2' }, 'sk-2\nsk-1'],
    ['are added to them', { key: 'sk-new\nsk-stored', key_mode: 'add' }, 'sk-stored\nsk-new'],
    ['may be none', { key: ' \n ', key_mode: 'add' }, undefined],
  ])('several keys %s', (_what, members, key) => {
    expect(changes(members)).toEqual(key === undefined ? {} : { key })
  })

  test('the number of models times groups is limited', () => {
    const list = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`).join()
    expect(changes({ models: list(1000), group: list(100) })).toBeTypeOf('object')
    expect(changes({ models: list(1001), group: list(100) })).toBe('invalid_field')
  })

  // The stored key would be sent to the new address.
  describe('a new destination requires the key again', () => {
    test.each([
      ['another address', { base_url: 'https://b.example' }],
      ['no address, which is the type’s own', { base_url: '' }],
      ['another type without an address', { type: 14, base_url: '' }],
      ['a type whose key has parts', { type: 33 }],
      ['another proxy', { config: '{"proxy":"http://b.example"}' }],
      ['another address and a blank key', { base_url: 'https://b.example', key: ' ' }],
    ])('%s', (_what, members) => {
      expect(changes(members)).toBe('channel_key_needed_again')
      expect(changes({ ...members, key: 'sk-new' })).toMatchObject({ key: 'sk-new' })
    })

    // Programs for One API change a type and send an empty key, which keeps the stored one.
    test('but not a new type with the same address', () => {
      expect(changes({ type: 14 })).toEqual({ type: 14 })
      const ofType = (type: number) => ({ ...stored, type, base_url: '' })
      expect(changes({ type: 14, key: '' }, ofType(1))).toBe('channel_key_needed_again')
      expect(changes({ base_url: 'https://api.openai.com' }, ofType(1))).toEqual({
        base_url: 'https://api.openai.com',
      })
      // Neither has a default address.
      expect(changes({ type: 8 }, ofType(3))).toBe('channel_key_needed_again')
    })

    test('but not if no key is stored', () => {
      expect(changes({ base_url: 'https://b.example' }, { ...stored, key: '' })).toEqual({
        base_url: 'https://b.example',
      })
    })

    test('and also the secrets of its configuration', () => {
      const row = { ...stored, type: 33, config: '{"ak":"A","sk":"S","region":"r"}' }
      const move = { base_url: 'https://b.example', key: 'k' }
      expect(changes({ ...move }, row)).toBe('channel_key_needed_again')
      expect(changes({ ...move, config: '{"ak":"A2"}' }, row)).toBe('channel_key_needed_again')
      expect(changes({ ...move, config: '{"ak":"A2","sk":"S2"}' }, row)).toMatchObject({
        key: 'A2|S2|r',
        config: '{"ak":"A2","sk":"S2","region":"r"}',
      })
    })

    // One API's forms leave such members behind, and our forms do not show them.
    test('secrets that the type does not use are dropped', () => {
      const row = { ...stored, config: '{"region":"r","ak":"A","sk":"S","vertex_ai_adc":""}' }
      const moves = [
        [{ base_url: 'https://b.example' }, '{"region":"r","vertex_ai_adc":""}'],
        [
          { config: '{"proxy":"http://b.example"}' },
          '{"region":"r","vertex_ai_adc":"","proxy":"http://b.example"}',
        ],
      ] as const
      for (const [move, config] of moves) {
        expect(changes(move, row)).toBe('channel_key_needed_again')
        expect(changes({ ...move, key: 'k' }, row)).toMatchObject({ key: 'k', config })
      }
      expect(changes({ key: 'k' }, row)).toEqual({ key: 'k' })
    })

    test('headers apply to every type, and must be entered again', () => {
      const row = { ...stored, config: '{"header_override":{"x-key":"H"}}' }
      const move = { base_url: 'https://b.example', key: 'k' }
      expect(changes(move, row)).toBe('channel_key_needed_again')
      expect(changes({ ...move, config: '{"header_override":null}' }, row)).toMatchObject(move)
    })

    test('another type drops the former type’s secrets', () => {
      const row = { ...stored, type: 33, config: '{"ak":"A","sk":"S","region":"r"}' }
      expect(changes({ type: 14, key: 'k' }, row)).toEqual({
        type: 14,
        key: 'k',
        config: '{"region":"r"}',
      })
    })
  })

  test('changing a part of a key that was given as a whole is rejected', () => {
    const row = { ...stored, type: 33, key: 'A|S|r', config: '{"region":"r"}' }
    expect(changes({ config: '{"sk":"S2"}' }, row)).toBe('channel_key_missing')
    expect(changes({ config: '{"region":"r2"}' }, row)).toBe('channel_key_missing')
    const asShown = changes({ config: '{"region":"r","ak":"","sk":""}' }, row)
    expect(asShown).not.toHaveProperty('key')
    expect(asShown).not.toBe('channel_key_missing')
    expect(changes({ config: '{"region":"r2"}', key: 'A|S|r2' }, row)).toMatchObject({
      key: 'A|S|r2',
    })
    expect(changes({ config: '{"ak":"A2","sk":"S2"}' }, row)).toMatchObject({ key: 'A2|S2|r' })
  })

  test('a Bedrock API key replaces both parts, and is replaced by them', () => {
    const row = { ...stored, type: 33, key: 'A|S|r', config: '{"ak":"A","sk":"S","region":"r"}' }
    const alone = { key: 'ABSKx|r', config: '{"ak":"ABSKx","region":"r"}' }
    expect(changes({ config: '{"ak":"ABSKx","sk":""}' }, row)).toEqual(alone)
    const now = { ...row, ...alone }
    expect(changes({ config: '{"region":"r2"}' }, now)).toMatchObject({ key: 'ABSKx|r2' })
    expect(changes({ config: '{"ak":"A"}' }, now)).toBe('channel_key_missing')
    expect(changes({ config: '{"ak":"A","sk":"S"}' }, now)).toMatchObject({ key: 'A|S|r' })
  })

  describe('configuration', () => {
    const row = { ...stored, type: 33, config: '{"ak":"A","sk":"S","region":"r","other":"x"}' }

    test.each([
      ['an empty secret is unchanged', '{"ak":"","sk":"","region":"r"}', undefined],
      [
        'a new secret replaces the old one',
        '{"sk":"S2"}',
        '{"ak":"A","sk":"S2","region":"r","other":"x"}',
      ],
      [
        'an open member can be emptied',
        '{"region":""}',
        '{"ak":"A","sk":"S","region":"","other":"x"}',
      ],
      ['null takes a member away', '{"sk":null,"other":null}', '{"ak":"A","region":"r"}'],
    ])('%s', (_what, config, expected) => {
      const result = changes({ config }, row)
      expect(result).not.toBeTypeOf('string')
      expect(Object(result).config).toBe(expected)
    })

    test('the composed key follows its fields', () => {
      expect(changes({ config: '{"sk":"S2"}' }, row)).toMatchObject({ key: 'A|S2|r' })
      expect(changes({ name: 'x' }, row)).toEqual({ name: 'x' })
    })

    test('a stored text that is not JSON is replaced', () => {
      expect(changes({ config: '{"region":"r"}' }, { ...stored, config: 'broken' })).toMatchObject({
        config: '{"region":"r"}',
      })
    })
  })
})

describe('answeredChannel', () => {
  test('contains no secret, but states which are set', () => {
    const answered = answeredChannel({
      ...stored,
      config: '{"ak":"A","sk":"","vertex_ai_adc":"{}","region":"r","unknown":"u"}',
    })
    expect(answered).toMatchObject({ key_set: true, config_set: ['ak', 'vertex_ai_adc'] })
    expect(JSON.parse(answered.config ?? '')).toEqual({
      ak: '',
      sk: '',
      vertex_ai_adc: '',
      region: 'r',
    })
    expect(JSON.stringify(answered)).not.toMatch(/sk-stored|"A"|"\{\}"|unknown/)
  })

  test.each([null, '', 'broken', '[1]', '"text"'])(
    'a configuration of %j shows nothing',
    (config) => {
      expect(answeredChannel({ ...stored, key: '', config })).toMatchObject({
        config: '',
        config_set: [],
        key_set: false,
      })
    },
  )
})

test.each([
  ['the one asked for', 'asked', 'chosen', 'asked'],
  ['else the channel’s own choice', '  ', 'chosen', 'chosen'],
  ['else its first', '', null, 'gpt-4o'],
])('modelToTest: %s', (_what, asked, test_model, expected) => {
  expect(modelToTest({ ...stored, test_model }, asked)).toBe(expected)
})

test('modelToTest: empty for a channel without models', () => {
  expect(modelToTest({ ...stored, models: null }, '')).toBe('')
})

describe('isHardRefusal', () => {
  test.each([
    [401, '', '', true],
    [402, '', '', true],
    [429, 'insufficient_quota', '', true],
    [429, 'requests', 'insufficient_quota', true],
    [403, 'permission_error', '', true],
    [403, 'upstream_error', 'account_deactivated', true],
    [200, '', 'invalid_api_key', true],
    [403, 'model_not_allowed', '', false],
    [429, 'rate_limit_error', '', false],
    // Problems of the request or of the upstream, with any error name.
    [400, 'authentication_error', '', false],
    [404, '', 'invalid_api_key', false],
    [422, 'forbidden', '', false],
    [500, 'authentication_error', '', false],
    [503, '', '', false],
  ])('%i %s %s: %s', (status, type, code, expected) => {
    expect(isHardRefusal({ status, type, code })).toBe(expected)
  })
})

describe('statusAfterTest', () => {
  const { enabled, disabled, autoDisabled } = ChannelStatus

  const unauthorized = { status: 401, type: '', code: 'invalid_api_key' }
  const rules = {
    on: { disables: true, enables: true, slowSeconds: 5 },
    'nothing disables': { disables: false, enables: true, slowSeconds: 5 },
    'nothing enables': { disables: true, enables: false, slowSeconds: 5 },
    'no limit': { disables: true, enables: true, slowSeconds: 0 },
  }

  test.each<[string, TestVerdict & { status: number }, keyof typeof rules, number | null]>([
    ['enabled, quick', { status: enabled, ok: true, elapsedMs: 5000 }, 'on', null],
    ['enabled, slow', { status: enabled, ok: true, elapsedMs: 5001 }, 'on', autoDisabled],
    ['enabled, slow', { status: enabled, ok: true, elapsedMs: 9000 }, 'nothing disables', null],
    ['enabled, slow', { status: enabled, ok: true, elapsedMs: 90_000 }, 'no limit', null],
    ['enabled, failing', { status: enabled, ok: false, elapsedMs: 10 }, 'on', null],
    [
      'enabled, with a key that is not accepted',
      { status: enabled, ok: false, elapsedMs: 10, verdict: unauthorized },
      'on',
      autoDisabled,
    ],
    [
      'enabled, with a key that is not accepted',
      { status: enabled, ok: false, elapsedMs: 10, verdict: unauthorized },
      'nothing disables',
      null,
    ],
    [
      'enabled, failing after a long time',
      { status: enabled, ok: false, elapsedMs: 60_000, verdict: { ...unauthorized, status: 500 } },
      'on',
      null,
    ],
    [
      'disabled by a person, with a key that is not accepted',
      { status: disabled, ok: false, elapsedMs: 10, verdict: unauthorized },
      'on',
      null,
    ],
    [
      'disabled by the program, passing',
      { status: autoDisabled, ok: true, elapsedMs: 10 },
      'on',
      enabled,
    ],
    [
      'disabled by the program, passing',
      { status: autoDisabled, ok: true, elapsedMs: 10 },
      'nothing enables',
      null,
    ],
    [
      'disabled by the program, failing',
      { status: autoDisabled, ok: false, elapsedMs: 10 },
      'on',
      null,
    ],
    [
      'disabled by the program, still slow',
      { status: autoDisabled, ok: true, elapsedMs: 9000 },
      'on',
      null,
    ],
    ['disabled by a person, passing', { status: disabled, ok: true, elapsedMs: 10 }, 'on', null],
    ['disabled by a person, slow', { status: disabled, ok: true, elapsedMs: 9000 }, 'on', null],
  ])('%s (%j, %s)', (_what, { status, ...outcome }, rule, expected) => {
    expect(statusAfterTest(status, outcome, rules[rule])).toBe(expected)
  })
})
