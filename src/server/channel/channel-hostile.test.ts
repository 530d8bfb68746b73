import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { channelApi } from '../../contract/channel-api.ts'
import { ALLOWED_UPSTREAMS, FORBIDDEN_UPSTREAMS } from '../test/corpora/addresses.ts'
import { MODEL_MAPPINGS } from '../test/corpora/model-mappings.ts'
import { NUMBERS, STORED_NUMBERS } from '../test/corpora/numbers.ts'
import { STORED_TEXTS, TEXTS } from '../test/corpora/texts.ts'
import { aChannel, anAdmin, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { forEachValue } from '../test/for-each-value.ts'
import { acceptedBody } from '../test/parse-call.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { newChannels, type ChannelFields } from './channel.ts'

/**
 * Hostile and malformed input to the channel form. For every input there is no server error and no
 * partial write, the stored values are those that were sent, and the list remains readable.
 */

/** Never stored in a name, because it is unreadable or looks like another name. */
const UNREADABLE = /[\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u
const TEXT_MEMBERS = ['name', 'key', 'models', 'group', 'other', 'system_prompt', 'test_model']

const CONFIGURATIONS: readonly (readonly [what: string, text: string, isStored: boolean])[] = [
  ['no JSON', '{a', false],
  ['a list', '[]', false],
  ['a text', '"x"', false],
  ['unknown members', '{"unknown":{"deep":[1]}}', true],
  ['numbers for texts', '{"region":5,"ak":true}', true],
  ['a prototype', '{"__proto__":{"ak":"x"}}', true],
]

function expectReadable({ name, models, group, test_model, key }: ChannelFields): void {
  expect(`${name}${models}${group}${test_model}`).not.toMatch(UNREADABLE)
  // Several keys stand on lines of their own.
  for (const line of key.split('\n')) expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u)
}

describe('what a channel form takes, by its shape and its rules', () => {
  /** The channel to be stored, or null. */
  async function accepted(member: string, value: string): Promise<ChannelFields | null> {
    const text = `{"name":"new","key":"sk-new","models":"m",${JSON.stringify(member)}:${value}}`
    const body = await acceptedBody(channelApi.create, text, (input) => {
      const checked = newChannels(input)
      return checked.ok ? null : checked.refusal
    })
    const checked = body === null ? null : newChannels(body)
    return checked?.ok === true ? (checked.value.channels[0] ?? null) : null
  }

  test.each(TEXT_MEMBERS)('%s', (member) =>
    forEachValue(TEXTS, async (_what, text) => {
      const channel = await accepted(member, JSON.stringify(text))
      if (channel === null) return
      expectReadable(channel)
      const stored: unknown = Object.entries(channel).find(([name]) => name === member)?.[1]
      // Around it blanks go; nothing else of it does, and keys are split.
      const isWhole = String(stored).trim() === text.trim() || text.trim() === ''
      if (member !== 'key' && !/^[\s,]*$/.test(text)) expect(isWhole).toBe(true)
    }),
  )

  test.each(['weight', 'priority', 'type', 'status'])('%s', (member) =>
    forEachValue(NUMBERS, async (_what, json, value) => {
      const channel = await accepted(member, json)
      // Texts and fractions are not integers.
      if (value === null) return expect(channel).toBeNull()
      if (channel === null) return
      expect(Number.isSafeInteger(channel.weight)).toBe(true)
      expect(channel.weight).toBeGreaterThanOrEqual(0)
      expect(Number.isSafeInteger(channel.priority)).toBe(true)
      expect([1, 2, 3]).toContain(channel.status)
    }),
  )

  test.each([
    ['a mapping', 'model_mapping', MODEL_MAPPINGS],
    ['a configuration', 'config', CONFIGURATIONS],
  ])('%s', (_kind, member, rows) =>
    forEachValue(rows, async (_what, text, isStored) => {
      expect((await accepted(member, JSON.stringify(text))) !== null).toBe(isStored)
    }),
  )

  test('an address that leads somewhere, and not to a cloud’s own services', async () => {
    await forEachValue(
      FORBIDDEN_UPSTREAMS.map((address) => [address] as const),
      async (address) => expect(await accepted('base_url', JSON.stringify(address))).toBeNull(),
    )
    await forEachValue(
      ALLOWED_UPSTREAMS.map((address) => [address] as const),
      async (address) => {
        const channel = await accepted('base_url', JSON.stringify(address))
        expect(channel?.base_url).toBe(address.replace(/\/+$/, ''))
      },
    )
  })
})

forEachDatabase('hostile input to channels', (open) => {
  let server: TestServer
  let admin: TestUser
  let id: number

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
  })
  afterAll(() => server.close())
  /** One channel, and no other. */
  async function begin(): Promise<void> {
    await Promise.all([
      server.database.write.deleteFrom('channels').execute(),
      server.database.write.deleteFrom('abilities').execute(),
    ])
    id = await aChannel(server, { name: 'kept', models: 'kept-model' })
  }
  beforeEach(begin)
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

  const state = () => Promise.all([rows(), abilities()])

  /** Sends a creation and a change. Each is done whole or not at all; answers which. */
  async function expectSound(member: string, value: string): Promise<boolean[]> {
    const outcomes: boolean[] = []
    const bodies = [
      ['POST', `{"name":"new","key":"sk-new","models":"m",${JSON.stringify(member)}:${value}}`],
      ['PUT', `{"id":${id},${JSON.stringify(member)}:${value}}`],
    ] as const
    let before = await state()
    for (const [method, body] of bodies) {
      const answer = await call(method, '/api/channel/', body)
      expect(answer.status).toBe(200)
      expect(answer.json).toMatchObject({
        success: expect.any(Boolean),
        message: expect.any(String),
      })
      expect(answer.text.length).toBeLessThan(200_000)
      const after = await state()
      if (answer.json['success'] !== true) expect(after).toEqual(before)
      before = after
      outcomes.push(answer.json['success'] === true)
    }
    const reads = ['/api/channel/?p=0', '/api/channel/search?keyword=', `/api/channel/${id}`]
    for (const { json } of await Promise.all(reads.map((path) => call('GET', path)))) {
      expect(json).toMatchObject({ success: true })
    }
    return outcomes
  }

  test.each(TEXT_MEMBERS)('any text as %s', (member) =>
    forEachValue(STORED_TEXTS, async (_what, text) => {
      await expectSound(member, JSON.stringify(text))
      for (const row of await rows()) {
        if (member !== 'system_prompt') {
          expect(`${row.name}${row.models}${row.group}${row.test_model}`).not.toMatch(UNREADABLE)
        }
        for (const key of row.key.split('\n')) expect(key).not.toMatch(/[\p{Cc}\p{Cf}]/u)
      }
      await begin()
    }),
  )

  test('a text is stored as it was sent', async () => {
    for (const text of ["' OR '1'='1", '%_\\', '{{7*7}}', '__proto__', '👨‍👩‍👧‍👦', 'e\u0301']) {
      await call('PUT', '/api/channel/', { id, name: text, system_prompt: text })
      const { data } = await call('GET', `/api/channel/${id}`)
      expect(data).toMatchObject({ name: text, system_prompt: text })
    }
  })

  test.each(['weight', 'priority', 'type', 'status', 'id'])('any number as %s', (member) =>
    forEachValue(STORED_NUMBERS, async (_what, number, value) => {
      const outcomes = await expectSound(member, number)
      if (member !== 'id' && value === null) expect(outcomes).toEqual([false, false])
      for (const row of await rows()) {
        expect(Number.isSafeInteger(row.weight)).toBe(true)
        expect(row.weight).toBeGreaterThanOrEqual(0)
        expect(Number.isSafeInteger(row.priority)).toBe(true)
        expect([1, 2, 3]).toContain(row.status)
      }
      await begin()
    }),
  )

  test('a mapping and a configuration are stored, or refused on creation and change alike', async () => {
    await forEachValue(MODEL_MAPPINGS, async (_what, text, isStored) => {
      const outcomes = await expectSound('model_mapping', JSON.stringify(text))
      expect(outcomes).toEqual([isStored, isStored])
    })
    await begin()
    await forEachValue(CONFIGURATIONS, async (_what, text, isStored) => {
      expect(await expectSound('config', JSON.stringify(text))).toEqual([isStored, isStored])
    })
    for (const channel of [(await call('GET', '/api/channel/')).data].flat()) {
      expect(JSON.stringify(channel)).not.toContain('deep')
    }
  })

  test('an address is stored, or refused on creation and change alike', async () => {
    await forEachValue(
      FORBIDDEN_UPSTREAMS.slice(0, 5).map((address) => [address] as const),
      async (address) =>
        expect(await expectSound('base_url', JSON.stringify(address))).toEqual([false, false]),
    )
    const body = { name: 'new', key: 'k', models: 'm', base_url: 'https://模型.例子/v1/' }
    expect((await call('POST', '/api/channel/', body)).json).toMatchObject({ success: true })
    expect((await rows()).at(-1)?.base_url).toBe('https://模型.例子/v1')
  })

  test('there is no channel of a made-up id to test, to ask for its balance or its models', () =>
    forEachValue(
      ['0', '-1', 'abc', '9'.repeat(30), '%00', "1'--"].map((word) => [word] as const),
      async (word) => {
        for (const path of ['test', 'update_balance', 'upstream_models']) {
          const answer = await call('GET', `/api/channel/${path}/${word}`)
          expect(answer).toMatchObject({ status: 200, json: { success: false } })
        }
      },
    ))
})
