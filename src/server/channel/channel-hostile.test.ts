import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ALLOWED_UPSTREAMS, FORBIDDEN_UPSTREAMS } from '../test/corpora/addresses.ts'
import { MODEL_MAPPINGS } from '../test/corpora/model-mappings.ts'
import { NUMBERS } from '../test/corpora/numbers.ts'
import { TEXTS } from '../test/corpora/texts.ts'
import { aChannel, anAdmin, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

/**
 * What strangers, scripts and mishaps send to the channel form. Whatever it is: no fault, nothing
 * half written, what is stored is what was sent, and the list can be read afterwards.
 */

/** Never stored in a name: nobody could read it, or it reads as something else. */
const UNREADABLE = /[\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u
const TEXT_MEMBERS = ['name', 'key', 'models', 'group', 'other', 'system_prompt', 'test_model']

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
    await Promise.all([
      server.database.write.deleteFrom('channels').execute(),
      server.database.write.deleteFrom('abilities').execute(),
    ])
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

  describe.each(TEXT_MEMBERS)('%s', (member) => {
    test.each(TEXTS)('%s', async (_what, text) => {
      await expectSound(member, JSON.stringify(text))
      for (const row of await rows()) {
        if (member !== 'system_prompt') {
          expect(`${row.name}${row.models}${row.group}${row.test_model}`).not.toMatch(UNREADABLE)
        }
        // Several keys stand on lines of their own.
        for (const key of row.key.split('\n')) expect(key).not.toMatch(/[\p{Cc}\p{Cf}]/u)
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
    test.each(NUMBERS)('%s', async (_what, number) => {
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

  test.each(MODEL_MAPPINGS)('a mapping: %s', async (_what, text, isStored) => {
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

  test.each(FORBIDDEN_UPSTREAMS)('the address %s is refused', async (address) => {
    expect(await expectSound('base_url', JSON.stringify(address))).toEqual([false, false])
  })

  test.each(ALLOWED_UPSTREAMS)('the address %s is stored', async (address) => {
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
