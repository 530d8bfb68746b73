import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { keyTail } from '../../../contract/channel-keys.ts'
import { ChannelStatus } from '../../../contract/channel.ts'
import type { ChannelKey } from '../../../contract/route-api.ts'
import { aChannel, anAdmin, type TestUser } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  chatBody,
  expectAllWell,
  post,
  startRelay,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
  channelStatusOf,
} from '../../test/relay-setup.ts'

const FIRST_TRIAL_SECONDS = 300
const ANSWER = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
})
const RESPONSE = JSON.stringify({
  id: 'resp_of_a_key',
  object: 'response',
  status: 'completed',
  model: 'm',
  output: [],
  usage: { input_tokens: 5, output_tokens: 1, total_tokens: 6 },
})
const REVOKED = { status: 401, code: 'invalid_api_key' }

forEachDatabase('a channel with several keys', (open) => {
  let setup: RelaySetup
  let upstream: ScriptedUpstream
  let admin: TestUser
  let client: RelayClient
  /** The upstream's response by key; keys without an entry are valid. */
  const opinions = new Map<string, { status: number; code?: string; retryAfter?: string }>()
  let used: string[] = []

  beforeAll(async () => {
    setup = await startRelay(open)
    upstream = await startScriptedUpstream((request, response) => {
      const key = (request.headers.authorization ?? '').replace('Bearer ', '')
      used.push(key)
      const opinion = opinions.get(key)
      if (opinion === undefined) {
        const isResponse = request.url?.endsWith('/responses') === true
        const answer = isResponse ? RESPONSE : ANSWER
        response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
        return
      }
      const { status, code = '', retryAfter } = opinion
      response.writeHead(status, {
        'content-type': 'application/json',
        ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }),
      })
      response.end(JSON.stringify({ error: { message: `no ${key}`, type: '', code } }))
    })
    admin = await anAdmin(setup)
    client = await aClient(setup)
  })
  beforeEach(async () => {
    opinions.clear()
    used = []
    await setup.app.options.set('AutomaticDisableChannelEnabled', 'true')
    await setup.app.options.set('AutomaticEnableChannelEnabled', 'true')
  })
  afterAll(async () => {
    await expectAllWell(setup)
    await upstream.close()
    await setup.close()
  })

  const manage = (method: string, path: string, body?: unknown) =>
    setup.call(method, path, { as: admin, ...(body === undefined ? {} : { body }) })

  let made = 0
  /** Creates a channel as an admin does, with this many keys. */
  async function aKeyedChannel(count = 3) {
    const model = aModel()
    made += 1
    const keys = Array.from({ length: count }, (_, index) => `sk-upstream-${made}-key-${index}`)
    const body = { type: 1, name: `keyed ${made}`, key: keys.join('\n'), models: model }
    const members = { base_url: upstream.url, key_mode: 'together' }
    expect((await manage('POST', '/api/channel/', { ...body, ...members })).json).toMatchObject({
      success: true,
    })
    const row = await setup.database.read
      .selectFrom('channels')
      .select('id')
      .where('models', '=', model)
      .executeTakeFirstOrThrow()
    const ask = async () => (await post(setup, client, chatBody(model))).status
    return { id: row.id, model, keys, ask }
  }
  /** Waits until background work after the responses is done. */
  async function healthOf(id: number): Promise<ChannelKey[]> {
    await setup.app.background.idle()
    const answer = await manage('GET', `/api/channel/key/${id}`)
    expect(answer.text).not.toContain('sk-upstream')
    // The contract's own shape.
    return answer.data as ChannelKey[]
  }
  const states = async (id: number) => (await healthOf(id)).map(({ state }) => state)
  const statusOf = (id: number): Promise<number> => channelStatusOf(setup, id)

  test('rotates its keys', async () => {
    const { keys, ask } = await aKeyedChannel()
    for (let index = 0; index < 6; index += 1) expect(await ask()).toBe(200)
    expect(used).toEqual([...keys, ...keys])
  })

  test('tries another key in the same call if one is rejected, and pauses that key', async () => {
    const { id, keys, ask } = await aKeyedChannel()
    const [bad = '', good = '', other = ''] = keys
    opinions.set(bad, REVOKED)
    expect(await ask()).toBe(200)
    expect(used).toEqual([bad, good])
    const health = await healthOf(id)
    expect(health).toMatchObject([
      { tail: '…ey-0', state: 'paused', status: 401, cause: 'invalid_api_key' },
      { tail: '…ey-1', state: 'in_use', status: 0, until: 0 },
      { tail: '…ey-2', state: 'in_use' },
    ])
    expect(health[0]?.until).toBe(setup.clock.nowSeconds() + FIRST_TRIAL_SECONDS)
    used = []
    for (let index = 0; index < 4; index += 1) await ask()
    expect(used).toEqual([other, good, other, good])
    expect(await statusOf(id)).toBe(ChannelStatus.enabled)
    const rows = await setup.database.read
      .selectFrom('logs')
      .select('content')
      .where('channel_id', '=', id)
      .where('type', '=', 4)
      .execute()
    expect(rows).toHaveLength(1)
    expect(rows[0]?.content).toMatch(/密钥 …ey-0 已自动暂停：被上游拒绝（401 invalid_api_key）/)
  })

  test('tries a paused key with one real call, and resumes it if it works', async () => {
    const { id, keys, ask } = await aKeyedChannel(2)
    const [bad = '', good = ''] = keys
    opinions.set(bad, REVOKED)
    await ask()
    await healthOf(id)
    setup.clock.advanceSeconds(FIRST_TRIAL_SECONDS - 1)
    used = []
    await ask()
    expect(used).toEqual([good])
    setup.clock.advanceSeconds(1)
    used = []
    // Rejected again: another key serves the call, and the next trial is later.
    const answers = await Promise.all([ask(), ask(), ask()])
    expect(answers).toEqual([200, 200, 200])
    expect(used.filter((key) => key === bad)).toHaveLength(1)
    expect((await healthOf(id))[0]?.until).toBe(setup.clock.nowSeconds() + 2 * FIRST_TRIAL_SECONDS)
    opinions.clear()
    setup.clock.advanceSeconds(2 * FIRST_TRIAL_SECONDS)
    await ask()
    await ask()
    expect(await states(id)).toEqual(['in_use', 'in_use'])
  })

  test('skips only the throttled key, until its Retry-After is over', async () => {
    const { id, model, keys, ask } = await aKeyedChannel(2)
    const [busy = '', free = ''] = keys
    opinions.set(busy, { status: 429, retryAfter: '30' })
    expect(await ask()).toBe(200)
    expect(await ask()).toBe(200)
    expect(used).toEqual([busy, free, free])
    expect(await healthOf(id)).toMatchObject([
      { state: 'throttled', until: setup.clock.nowSeconds() + 30 },
      { state: 'in_use' },
    ])
    opinions.set(free, { status: 429, retryAfter: '10' })
    await ask()
    opinions.clear()
    used = []
    const refused = await post(setup, client, chatBody(model))
    expect(refused.status).toBe(429)
    expect(refused.headers['retry-after']).toBe('10')
    expect(used).toEqual([])
    expect(await statusOf(id)).toBe(ChannelStatus.enabled)
    // Unless an admin resumes it.
    const [first] = await healthOf(id)
    const resumed = await manage('PUT', '/api/channel/key/', {
      id,
      key_id: first?.id,
      action: 'resume',
    })
    expect(resumed.data).toMatchObject([{ state: 'in_use' }, { state: 'throttled' }])
    expect(await ask()).toBe(200)
    expect(used).toEqual([busy])
    // Adding a key does not change the existing ones.
    await manage('PUT', '/api/channel/', { id, key: `sk-one-more-${id}`, key_mode: 'add' })
    expect(await healthOf(id)).toMatchObject([{}, { state: 'throttled' }, { state: 'in_use' }])
    await manage('PUT', '/api/channel/key/', { id, action: 'resume_all' })
    expect(await states(id)).toEqual(['in_use', 'in_use', 'in_use'])
  })

  test('is disabled when its last key is rejected, and enabled with the key that works', async () => {
    const { id, keys, ask } = await aKeyedChannel(2)
    for (const key of keys) opinions.set(key, REVOKED)
    expect(await ask()).toBe(503)
    expect(await statusOf(id)).toBe(ChannelStatus.autoDisabled)
    opinions.delete(keys[1] ?? '')
    expect(await ask()).toBe(503)
    setup.clock.advanceSeconds(FIRST_TRIAL_SECONDS)
    // The first trial uses the invalid key, a later one the valid key.
    for (let trial = 0; trial < 3 && (await ask()) !== 200; trial += 1) {
      await setup.app.background.idle()
      setup.clock.advanceSeconds(4 * FIRST_TRIAL_SECONDS)
    }
    expect(await statusOf(id)).toBe(ChannelStatus.enabled)
    expect(await states(id)).toEqual(['paused', 'in_use'])
  })

  test('uses its paused keys if automatic disabling is off', async () => {
    await setup.app.options.set('AutomaticDisableChannelEnabled', 'false')
    const { id, model, keys, ask } = await aKeyedChannel(2)
    for (const key of keys) opinions.set(key, REVOKED)
    await ask()
    expect(await states(id)).toEqual(['paused', 'paused'])
    expect(await statusOf(id)).toBe(ChannelStatus.enabled)
    // Another channel comes first, regardless of its priority.
    const place = { base_url: upstream.url, models: model, priority: -1 }
    const other = await aChannel(setup, { ...place, key: 'sk-other' })
    used = []
    expect(await ask()).toBe(200)
    expect(used).toEqual(['sk-other'])
    await manage('DELETE', `/api/channel/${other}`)
    opinions.clear()
    expect(await ask()).toBe(200)
  })

  // The response is stored with the account of that key; no other key can read it.
  test('continues a stored response with the key that created it', async () => {
    const { model, keys } = await aKeyedChannel(3)
    const respond = async (members: object) =>
      (await post(setup, client, { model, input: 'x', ...members }, { path: '/v1/responses' }))
        .status
    expect(await respond({})).toBe(200)
    for (let index = 0; index < 2; index += 1) {
      expect(await respond({ previous_response_id: 'resp_of_a_key' })).toBe(200)
    }
    expect(used).toEqual([keys[0], keys[0], keys[0]])
  })

  test('keeps a conversation on the key that served it, until that key is rejected', async () => {
    const { model, keys } = await aKeyedChannel(3)
    const ask = async (prompt_cache_key: string) => {
      const { status } = await post(setup, client, chatBody(model, { prompt_cache_key }))
      expect(status).toBe(200)
    }
    for (let name = 0; name < 30; name += 1) await ask(`conversation ${name}`)
    expect(new Set(used)).toEqual(new Set(keys))
    used = []
    for (const name of ['a', 'b', 'a', 'a', 'b']) await ask(name)
    const [home = '', other = ''] = used
    expect(used).toEqual([home, other, home, home, other])
    opinions.set(home, REVOKED)
    used = []
    for (const name of ['a', 'a']) await ask(name)
    const [, then = ''] = used
    expect(used).toEqual([home, then, then])
    expect(then).not.toBe(home)
  })

  test('keeps a conversation without an id on its key; single questions rotate', async () => {
    const { model, keys } = await aKeyedChannel(4)
    const ask = async (text: string, { turns = 0, mark = {} } = {}) => {
      const said = [
        { role: 'user', content: [{ type: 'text', text, ...mark }] },
        ...Array.from({ length: turns }, () => [
          { role: 'assistant', content: 'So.' },
          { role: 'user', content: [{ type: 'text', text: 'And?', ...mark }] },
        ]).flat(),
      ]
      const body = { model, max_tokens: 9, messages: said }
      expect((await post(setup, client, body, { path: '/v1/messages' })).status).toBe(200)
    }
    const mark = { cache_control: { type: 'ephemeral' } }
    for (let turns = 0; turns < 6; turns += 1) await ask('a', { turns, mark })
    expect(used).toHaveLength(6)
    expect(new Set(used).size).toBe(1)
    used = []
    for (let times = 0; times < 4; times += 1) await ask('b')
    expect(used.toSorted()).toEqual(keys)
  })

  test('does not try another key for errors that do not concern a key', async () => {
    const { keys, ask, id } = await aKeyedChannel(2)
    for (const key of keys) opinions.set(key, { status: 500 })
    expect(await ask()).toBe(500)
    expect(used).toHaveLength(1)
    expect(await states(id)).toEqual(['in_use', 'in_use'])
  })

  describe('its keys', () => {
    test('are replaced, added, removed and resumed, and never returned', async () => {
      const { id, keys, ask } = await aKeyedChannel(2)
      opinions.set(keys[0] ?? '', REVOKED)
      await ask()
      const [paused] = await healthOf(id)
      const added = await manage('PUT', '/api/channel/', {
        id,
        key: ' sk-upstream-added \n',
        key_mode: 'add',
      })
      expect(added.data).toMatchObject({ key: '', key_set: true, key_count: 3 })
      expect(await states(id)).toEqual(['paused', 'in_use', 'in_use'])
      const listed = await manage('GET', `/api/channel/search?keyword=${id}`)
      expect(listed.data).toMatchObject([{ id, key_count: 3, keys_paused: 1 }])
      const change = (action: string, key_id = paused?.id) =>
        manage('PUT', '/api/channel/key/', { id, key_id, action })
      expect((await change('resume')).data).toMatchObject([{ state: 'in_use' }, {}, {}])
      expect((await change('remove')).data).toHaveLength(2)
      expect((await change('remove')).message).toBe('没有找到该记录')
      const acts = setup.database.read.selectFrom('audit').where('target_id', '=', id)
      const told = await acts.select('new_values').orderBy('id').execute()
      const [, , resumed, removed] = told.map((act) => JSON.parse(act.new_values ?? ''))
      expect(resumed).toEqual({ key_resumed: paused?.tail })
      expect(removed.keys).toBe(`${keyTail(keys[1] ?? '')}, …dded`)
      const replaced = await manage('PUT', '/api/channel/', { id, key: 'sk-upstream-only' })
      expect(replaced.data).toMatchObject({ key_count: 1 })
      const [only] = await healthOf(id)
      expect((await change('remove', only?.id)).message).toContain('最后一个密钥')
      used = []
      await ask()
      expect(used).toEqual(['sk-upstream-only'])
    })

    test('must all be entered again if the base URL changes', async () => {
      const { id } = await aKeyedChannel(2)
      const base_url = `${upstream.url}/elsewhere`
      const change = (members: object) =>
        manage('PUT', '/api/channel/', { id, base_url, ...members })
      const kept = { key: 'sk-upstream-new', key_mode: 'add' }
      expect((await change(kept)).message).toContain('需要重新填写密钥')
      expect((await change({ key: 'sk-upstream-new' })).data).toMatchObject({ key_count: 1 })
    })

    test('are found by a case-sensitive search for one of them', async () => {
      const { id, keys } = await aKeyedChannel(3)
      const search = async (keyword: string) =>
        (await manage('GET', `/api/channel/search?keyword=${keyword}`)).data
      expect(await search(keys[1] ?? '')).toMatchObject([{ id }])
      expect(await search((keys[1] ?? '').toUpperCase())).toEqual([])
    })

    test.each(['taken back', 'added to', 'replaced'])(
      '%s bring a channel back that has none left, with the next call',
      async (how) => {
        const { id, keys, ask } = await aKeyedChannel(2)
        for (const key of keys) opinions.set(key, REVOKED)
        await ask()
        const [paused] = await healthOf(id)
        expect(await statusOf(id)).toBe(ChannelStatus.autoDisabled)
        expect(await ask()).toBe(503)
        opinions.clear()
        const more = how === 'added to' ? { key_mode: 'add' } : {}
        const answer =
          how === 'taken back'
            ? await manage('PUT', '/api/channel/key/', { id, key_id: paused?.id, action: 'resume' })
            : await manage('PUT', '/api/channel/', { id, key: 'sk-upstream-fresh', ...more })
        expect(answer.json).toMatchObject({ success: true })
        expect(await ask()).toBe(200)
        await healthOf(id)
        expect(await statusOf(id)).toBe(ChannelStatus.enabled)
      },
    )

    test('are paused manually, and unused until an admin resumes them', async () => {
      const { id, keys, ask } = await aKeyedChannel(2)
      const [first, second] = await healthOf(id)
      const change = (action: string, key_id?: string) =>
        manage('PUT', '/api/channel/key/', { id, key_id, action })
      expect((await change('pause', first?.id)).data).toMatchObject([
        { state: 'off', status: 0, since: setup.clock.nowSeconds(), until: 0 },
        { state: 'in_use' },
      ])
      for (const action of ['pause', 'remove']) {
        const answer = await change(action, second?.id)
        expect(answer.message).toContain('其余密钥均已手动暂停')
      }
      await setup.app.options.set('AutomaticDisableChannelEnabled', 'false')
      opinions.set(keys[1] ?? '', REVOKED)
      for (let times = 0; times < 3; times += 1) {
        await ask()
        await manage('GET', `/api/channel/test/${id}`)
        setup.clock.advanceSeconds(7 * 3600)
      }
      for (const status of [ChannelStatus.disabled, ChannelStatus.enabled]) {
        await manage('PUT', '/api/channel/', { id, status })
      }
      expect(await states(id)).toEqual(['off', 'in_use'])
      expect(new Set(used)).toEqual(new Set([keys[1]]))
      expect((await change('resume', first?.id)).data).toMatchObject([{ state: 'in_use' }, {}])
      used = []
      expect(await ask()).toBe(200)
      expect(used).toContain(keys[0])
      const acts = setup.database.read.selectFrom('audit').where('target_id', '=', id)
      const told = await acts.select('new_values').execute()
      expect(told.map(({ new_values }) => new_values)).toEqual(
        expect.arrayContaining([
          JSON.stringify({ key_paused: first?.tail }),
          JSON.stringify({ key_resumed: first?.tail }),
        ]),
      )
    })

    test('that were rejected are resumed or removed together', async () => {
      const { id, keys, ask } = await aKeyedChannel(3)
      await setup.app.options.set('AutomaticDisableChannelEnabled', 'false')
      const change = (action: string) => manage('PUT', '/api/channel/key/', { id, action })
      expect((await change('remove')).message).toBe('没有找到该记录')
      for (const key of keys.slice(0, 2)) opinions.set(key, REVOKED)
      for (let calls = 0; calls < 3; calls += 1) await ask()
      expect(await states(id)).toEqual(['paused', 'paused', 'in_use'])
      await change('resume_all')
      expect(await states(id)).toEqual(['in_use', 'in_use', 'in_use'])
      for (let calls = 0; calls < 3; calls += 1) await ask()
      await setup.app.background.idle()
      expect((await change('remove_refused')).data).toMatchObject([
        { tail: keyTail(keys[2] ?? ''), state: 'in_use' },
      ])
    })

    test('are not all removed if all were rejected', async () => {
      const { id, keys, ask } = await aKeyedChannel(2)
      for (const key of keys) opinions.set(key, REVOKED)
      await ask()
      expect(await states(id)).toEqual(['paused', 'paused'])
      const answer = await manage('PUT', '/api/channel/key/', { id, action: 'remove_refused' })
      expect(answer.message).toContain('最后一个密钥')
    })

    test('are all in use again when an admin enables the channel', async () => {
      const { id, keys, ask } = await aKeyedChannel(2)
      for (const key of keys) opinions.set(key, REVOKED)
      await ask()
      expect(await statusOf(id)).toBe(ChannelStatus.autoDisabled)
      await manage('PUT', '/api/channel/', { id, status: ChannelStatus.enabled })
      expect(await states(id)).toEqual(['in_use', 'in_use'])
    })
  })

  test('is tested with a key in use, and a rejection pauses that key only', async () => {
    const { id, keys, ask } = await aKeyedChannel(2)
    opinions.set(keys[0] ?? '', REVOKED)
    await ask()
    await healthOf(id)
    used = []
    expect((await manage('GET', `/api/channel/test/${id}`)).json).toMatchObject({ success: true })
    expect(used).toEqual([keys[1]])
    opinions.set(keys[1] ?? '', REVOKED)
    opinions.delete(keys[0] ?? '')
    await manage('PUT', '/api/channel/key/', {
      id,
      key_id: (await healthOf(id))[0]?.id,
      action: 'resume',
    })
    used = []
    // The first key in order is tested, and is valid.
    expect((await manage('GET', `/api/channel/test/${id}`)).json).toMatchObject({ success: true })
    expect(used).toEqual([keys[0]])
    opinions.set(keys[0] ?? '', REVOKED)
    await setup.app.options.set('AutomaticDisableChannelEnabled', 'false')
    for (let tested = 0; tested < 2; tested += 1) {
      const { json } = await manage('GET', `/api/channel/test/${id}`)
      expect(json).toMatchObject({ success: false })
    }
    expect(await states(id)).toEqual(['paused', 'paused'])
    expect(await statusOf(id)).toBe(ChannelStatus.enabled)
  })

  test('is enabled by a passed test if it was disabled automatically', async () => {
    const { id, keys, ask } = await aKeyedChannel(2)
    for (const key of keys) opinions.set(key, REVOKED)
    await ask()
    await healthOf(id)
    opinions.clear()
    const testIt = () => manage('GET', `/api/channel/test/${id}`)
    await setup.app.options.set('AutomaticEnableChannelEnabled', 'false')
    expect((await testIt()).json).toMatchObject({ success: true })
    expect(await statusOf(id)).toBe(ChannelStatus.autoDisabled)
    await setup.app.options.set('AutomaticEnableChannelEnabled', 'true')
    await testIt()
    expect(await statusOf(id)).toBe(ChannelStatus.enabled)
    await manage('PUT', '/api/channel/', { id, status: ChannelStatus.disabled })
    await testIt()
    expect(await statusOf(id)).toBe(ChannelStatus.disabled)
  })
})
