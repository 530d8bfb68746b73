import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aChannel, anAdmin, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

/**
 * What strangers, scripts and mishaps send to the channel form. Whatever it is: no fault, nothing
 * half written, what is stored is what was sent, and the list can be read afterwards.
 */

const TEXTS: Record<string, string> = {
  'one space': ' ',
  'a tab': 'a\tb',
  'a space that does not break': 'a\u00A0b',
  'an ideographic space': 'a\u3000b',
  'a space of no width': 'a\u200Bb',
  'a word joiner': 'a\u2060b',
  'a byte order mark': '\uFEFFa',
  'an override of the direction': 'a\u202Eb',
  isolates: 'a\u2066b\u2069',
  'the character 0': 'a\u0000b',
  'a header': 'a\r\nX-Injected: 1',
  'a line break': 'a\nb',
  'a line separator': 'a\u2028b',
  'an escape sequence': '\u001B[2J',
  'the bell': 'a\u0007',
  'the character 127': 'a\u007F',
  'a C1 control': 'a\u009B',
  'half of a character': 'a\uD800',
  'e with its accent apart': 'e\u0301',
  'wide letters': 'ａｄｍｉｎ',
  'Cyrillic letters': 'аdmin',
  'a family of four': '👨‍👩‍👧‍👦',
  'a thousand accents': `a${'\u0301'.repeat(1000)}`,
  'two hundred characters of four bytes': '𝒜'.repeat(200),
  'sixty-four kibibytes': 'x'.repeat(64 * 1024),
  'a mebibyte': 'x'.repeat(2 ** 20),
  'SQL in quotes': "' OR '1'='1",
  'SQL with an end': "'; DROP TABLE channels;--",
  'SQL in double quotes': '" OR ""="',
  percents: '%'.repeat(64),
  'a backslash and a percent': '\\%',
  'a template': '{{7*7}}',
  'a place': '${7*7}',
  'a shell command': '$(id)',
  'a path': '../../etc/passwd',
  'an escaped path': '..%2f..%2f',
  'a Windows path': '\\\\host\\share',
  null: 'null',
  undefined: 'undefined',
  NaN: 'NaN',
  'an object as text': '[object Object]',
  __proto__: '__proto__',
  constructor: 'constructor',
  toString: 'toString',
  commas: ',,a,,b,',
}

/** Never stored in a name: nobody could read it, or it reads as something else. */
const UNREADABLE = /[\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]/u
const TEXT_MEMBERS = ['name', 'key', 'models', 'group', 'other', 'system_prompt', 'test_model']

const NUMBERS: Record<string, string> = {
  'minus one': '-1',
  zero: '0',
  'minus zero': '-0',
  '31 bits': '2147483648',
  '32 bits': '4294967296',
  'the largest safe number': '9007199254740991',
  'one more': '9007199254740992',
  '63 bits': '9223372036854775807',
  'a large exponent': '1e308',
  infinity: '1e309',
  'a tiny number': '1e-400',
  'a fraction': '0.5',
  'a whole number with a point': '100.0',
  'a text': '"1"',
  'an empty text': '""',
  hexadecimal: '"0x10"',
  'other digits': '"١"',
  null: 'null',
  true: 'true',
  'a list': '[5]',
  'an object': '{"$gt":0}',
}

const MAPPINGS: Record<string, [text: string, isStored: boolean]> = {
  nothing: ['', true],
  'an empty object': ['{}', true],
  'a list': ['[]', false],
  null: ['null', false],
  'a number': ['1', false],
  'a text': ['"a"', false],
  'no JSON': ['{a:1}', false],
  'a trailing comma': ['{"a":1,}', false],
  'a number as value': ['{"a":1}', false],
  'an object as value': ['{"a":{"b":"c"}}', false],
  null_value: ['{"a":null}', false],
  'a prototype': ['{"__proto__":{"x":1}}', false],
  'a prototype as a name': ['{"__proto__":"gpt-4o"}', true],
  'a constructor as a name': ['{"constructor":"x"}', true],
  'an empty name': ['{"":"x"}', true],
  'a name twice': ['{"a":"b","a":"c"}', true],
  itself: ['{"a":"a"}', true],
  'a circle': ['{"a":"b","b":"a"}', true],
  'an empty value': ['{"a":""}', true],
  'a line break': ['{"a":"b\\r\\nX: 1"}', false],
  'a path': ['{"a":"../x"}', true],
  'a query': ['{"a":"x?api-version=1"}', true],
  'an endless name': [`{"a":"${'x'.repeat(257)}"}`, false],
  'a thousand names': [
    JSON.stringify(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`m${i}`, 'x']))),
    true,
  ],
  'a mebibyte': [`{"a":"${'x'.repeat(2 ** 20)}"}`, false],
  'deep nesting': [`{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`, false],
}

/** Literal addresses that lead to nowhere or to a cloud's own services. */
const FORBIDDEN_ADDRESSES = [
  'http://0.0.0.0',
  'http://0.1.2.3',
  'http://169.254.169.254',
  'http://169.254.169.254:8080/latest/meta-data',
  'http://100.100.100.200',
  'http://224.0.0.1',
  'http://239.255.255.250',
  'http://240.0.0.1',
  'http://255.255.255.255',
  'http://[::]',
  'http://[fd00:ec2::254]',
  'http://[fe80::1]',
  'http://[::ffff:169.254.169.254]',
  'http://[64:ff9b::a9fe:a9fe]',
  'http://0251.0376.0251.0376',
  'http://0xa9fea9fe',
  'http://2852039166',
  'http://169.254.43518',
  'http://１６９。２５４。１６９。２５４',
  'ftp://a.example',
  'file:///etc/passwd',
  'javascript:alert(1)',
  'data:text/plain,x',
  'a.example',
  '//a.example',
  'http://',
  'http://user@127.0.0.1',
  'http://user:pw@a.example',
  'https://a.example/?x=1',
  'https://a.example/#x',
  'https://a.exa mple',
  'https://a.example\\@b.example',
  'http://[::1%25lo]',
]

/** Local models are a normal use; names are classified when they are called. */
const ALLOWED_ADDRESSES = [
  'http://127.0.0.1:11434',
  'http://localhost:11434/v1///',
  'http://192.168.1.9',
  'http://10.0.0.1/base/path',
  'https://8.8.8.8',
  'https://模型.例子/v1',
]

forEachDatabase('hostile input to channels', (open) => {
  let server: TestServer
  let admin: TestUser
  let id: number

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    await server.database.write.deleteFrom('channels').execute()
    await server.database.write.deleteFrom('abilities').execute()
    id = await aChannel(server, { name: 'kept', models: 'kept-model' })
  })
  afterEach(() => {
    expect(server.faults.splice(0)).toEqual([])
  })

  const call = (method: string, path: string, body?: unknown) =>
    server.call(method, path, { as: admin, body })
  const rows = () => server.database.read.selectFrom('channels').selectAll().orderBy('id').execute()
  const abilities = () =>
    server.database.read
      .selectFrom('abilities')
      .selectAll()
      .orderBy('channel_id')
      .orderBy('model')
      .execute()

  /** Sends a creation and a change. Each is done whole or not at all; answers which. */
  async function expectSound(member: string, value: string): Promise<boolean[]> {
    const outcomes: boolean[] = []
    const bodies = [
      ['POST', `{"name":"new","key":"sk-new","models":"m",${JSON.stringify(member)}:${value}}`],
      ['PUT', `{"id":${id},${JSON.stringify(member)}:${value}}`],
    ] as const
    for (const [method, body] of bodies) {
      const before = [await rows(), await abilities()]
      const answer = await call(method, '/api/channel/', body)
      expect(answer.status).toBe(200)
      expect(answer.json).toMatchObject({
        success: expect.any(Boolean),
        message: expect.any(String),
      })
      expect(answer.text.length).toBeLessThan(200_000)
      if (answer.json['success'] !== true) expect([await rows(), await abilities()]).toEqual(before)
      outcomes.push(answer.json['success'] === true)
    }
    for (const path of [
      '/api/channel/?p=0',
      '/api/channel/search?keyword=',
      `/api/channel/${id}`,
    ]) {
      expect((await call('GET', path)).json).toMatchObject({ success: true })
    }
    return outcomes
  }

  describe.each(TEXT_MEMBERS)('%s', (member) => {
    test.each(Object.entries(TEXTS))('%s', async (_what, text) => {
      await expectSound(member, JSON.stringify(text))
      for (const row of await rows()) {
        if (member !== 'system_prompt') {
          expect(`${row.name}${row.models}${row.group}${row.test_model}`).not.toMatch(UNREADABLE)
        }
        expect(row.key).not.toMatch(/[\p{Cc}\p{Cf}]/u)
      }
    })
  })

  test('a text is stored as it was sent', async () => {
    for (const text of ["' OR '1'='1", '%_\\', '{{7*7}}', '__proto__', '👨‍👩‍👧‍👦', 'e\u0301']) {
      await call('PUT', '/api/channel/', { id, name: text, system_prompt: text })
      const { data } = await call('GET', `/api/channel/${id}`)
      expect(data).toMatchObject({ name: text, system_prompt: text })
    }
  })

  describe.each(['weight', 'priority', 'type', 'status', 'id'])('%s', (member) => {
    test.each(Object.entries(NUMBERS))('%s', async (_what, number) => {
      const outcomes = await expectSound(member, number)
      // A text is no number, and a fraction no whole one.
      if (member !== 'id' && /^"|^\[|^\{|true|0\.5|1e30/.test(number)) {
        expect(outcomes).toEqual([false, false])
      }
      for (const row of await rows()) {
        expect(Number.isSafeInteger(row.weight)).toBe(true)
        expect(row.weight).toBeGreaterThanOrEqual(0)
        expect(Number.isSafeInteger(row.priority)).toBe(true)
        expect([1, 2, 3]).toContain(row.status)
      }
    })
  })

  test.each(Object.entries(MAPPINGS))('a mapping: %s', async (_what, [text, isStored]) => {
    expect(await expectSound('model_mapping', JSON.stringify(text))).toEqual([isStored, isStored])
  })

  test.each([
    ['no JSON', '{a', false],
    ['a list', '[]', false],
    ['a text', '"x"', false],
    ['unknown members', '{"unknown":{"deep":[1]}}', true],
    ['numbers for texts', '{"region":5,"ak":true}', true],
    ['a prototype', '{"__proto__":{"ak":"x"}}', true],
  ])('a configuration: %s', async (_what, text, isStored) => {
    expect(await expectSound('config', JSON.stringify(text))).toEqual([isStored, isStored])
    for (const channel of [(await call('GET', '/api/channel/')).data].flat()) {
      expect(JSON.stringify(channel)).not.toContain('deep')
    }
  })

  test.each(FORBIDDEN_ADDRESSES)('the address %s is refused', async (address) => {
    expect(await expectSound('base_url', JSON.stringify(address))).toEqual([false, false])
  })

  test.each(ALLOWED_ADDRESSES)('the address %s is stored', async (address) => {
    const body = { name: 'new', key: 'k', models: 'm', base_url: address }
    expect((await call('POST', '/api/channel/', body)).json).toMatchObject({ success: true })
    const stored = (await rows()).at(-1)
    expect(stored?.base_url).toBe(address.replace(/\/+$/, ''))
  })

  test.each(['0', '-1', 'abc', '1e3', '0x10', '9'.repeat(30), '%00', "1'--"])(
    'there is no channel %s to test, to ask for its balance or its models',
    async (word) => {
      for (const path of ['test', 'update_balance', 'upstream_models']) {
        const answer = await call('GET', `/api/channel/${path}/${word}`)
        expect(answer).toMatchObject({ status: 200, json: { success: false } })
      }
    },
  )
})
