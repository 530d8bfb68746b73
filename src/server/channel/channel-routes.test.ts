import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ChannelStatus } from '../../contract/channel.ts'
import { randomText } from '../secrets.ts'
import { aChannel, anAdmin, type TestUser } from '../test/factories.ts'
import { countedChanges } from '../test/counted-changes.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

forEachDatabase('channel routes', (open) => {
  let server: TestServer
  let admin: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    await server.database.write.deleteFrom('channels').execute()
    await server.database.write.deleteFrom('abilities').execute()
  })

  const call = (method: string, path: string, body?: unknown) =>
    server.call(method, path, { as: admin, body })
  const list = async () =>
    [(await call('GET', '/api/channel/?p=0')).data].flat().map((row) => Object(row))
  const stored = async (id: number) => Object((await call('GET', `/api/channel/${id}`)).data)
  const update = (id: number, body: Record<string, unknown>) =>
    call('PUT', '/api/channel/', { id, ...body })
  const keyOf = async (id: number) => {
    const row = await server.database.read
      .selectFrom('channels')
      .select('key')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    return row.key
  }
  /**
   * Abilities that the relay may use: `group model priority`; a disabled one has a leading minus.
   */
  const abilities = async (id: number) => {
    const rows = await server.database.read
      .selectFrom('abilities')
      .selectAll()
      .where('channel_id', '=', id)
      .execute()
    return rows
      .map(
        ({ group, model, priority, enabled }) =>
          `${enabled ? '' : '-'}${group} ${model} ${priority}`,
      )
      .toSorted()
  }

  describe('POST /api/channel/', () => {
    test('creates a channel without further content in the response', async () => {
      const answer = await call('POST', '/api/channel/', {
        name: 'main',
        type: 1,
        key: 'sk-hidden',
        base_url: 'https://up.example/',
        models: 'gpt-4o, gpt-4o-mini,gpt-4o',
        group: 'default,vip',
        priority: 9,
        weight: 5,
        model_mapping: '{"a":"b"}',
        config: '{"region":"r","ak":"hidden"}',
        system_prompt: 'Be brief.',
        other: 'o',
      })
      expect(answer.json).toEqual({ success: true, message: '' })
      const [channel] = await list()
      expect(channel).toEqual({
        id: expect.any(Number),
        type: 1,
        key: '',
        key_set: true,
        key_count: 1,
        keys_paused: 0,
        status: 1,
        name: 'main',
        weight: 5,
        created_time: server.clock.nowSeconds(),
        test_time: 0,
        response_time: 0,
        base_url: 'https://up.example',
        other: 'o',
        balance: 0,
        balance_updated_time: 0,
        models: 'gpt-4o, gpt-4o-mini,gpt-4o',
        group: 'default,vip',
        used_quota: 0,
        model_mapping: '{"a":"b"}',
        priority: 9,
        config: '{"region":"r","ak":""}',
        config_set: ['ak'],
        system_prompt: 'Be brief.',
        test_model: '',
      })
      expect(await keyOf(channel.id)).toBe('sk-hidden')
      expect(await abilities(channel.id)).toEqual([
        'default gpt-4o 9',
        'default gpt-4o-mini 9',
        'vip gpt-4o 9',
        'vip gpt-4o-mini 9',
      ])
    })

    test('creates one channel per line of the key', async () => {
      await call('POST', '/api/channel/', {
        name: 'batch',
        key: 'sk-a\r\nsk-b\n\nsk-c\n',
        models: 'm',
      })
      const channels = await list()
      expect(channels).toHaveLength(3)
      const keys = await Promise.all(channels.map(({ id }) => keyOf(id)))
      expect(keys).toEqual(['sk-c', 'sk-b', 'sk-a'])
      for (const { id } of channels) expect(await abilities(id)).toEqual(['default m 0'])
    })

    test('a key given twice creates one channel, and the response reports it', async () => {
      const answer = await call('POST', '/api/channel/', { name: 'x', key: 'sk-a\nsk-b\nsk-a' })
      expect(answer.json).toEqual({
        success: true,
        message: '',
        data: { created: 2, duplicates: 1 },
      })
      expect(await list()).toHaveLength(2)
    })

    test('creates the maximum number of channels, with their abilities', async () => {
      // As long as OpenAI's project keys.
      const key = (index: number): string => `sk-proj-${'x'.repeat(152)}${index}`
      const keys = Array.from({ length: 1000 }, (_, index) => key(index)).join('\n')
      const models = Array.from({ length: 20 }, (_, index) => `m${index}`).join()
      const answer = await call('POST', '/api/channel/', { name: 'many', key: keys, models })
      expect(answer.json).toEqual({ success: true, message: '' })
      const { headers } = await call('GET', '/api/channel/')
      expect(headers['x-total-count']).toBe('1000')
    })

    test.each([
      ['no key', { name: 'x' }, '密钥'],
      ['an address of another protocol', { key: 'k', base_url: 'ftp://x' }, 'ftp://x'],
      ['a mapping that is no object', { key: 'k', model_mapping: '[]' }, '模型重定向'],
      ['a configuration that is no object', { key: 'k', config: '1' }, '渠道配置'],
      ['a status that does not exist', { key: 'k', status: 9 }, '渠道状态'],
      ['a negative weight', { key: 'k', weight: -1 }, 'weight'],
      ['models as a list', { key: 'k', models: ['m'] }, 'models'],
      ['an endless name', { key: 'k', name: 'n'.repeat(201) }, '（name）无效：最多 200 个字符'],
      [
        'an endless model',
        { key: 'k', models: `a,${'m'.repeat(257)}` },
        '（models）无效：每项最多 256 个字符',
      ],
      [
        'an endless test model',
        { key: 'k', test_model: 'm'.repeat(257) },
        '（test_model）无效：最多 256 个字符',
      ],
    ])('rejects %s and creates nothing', async (_what, body, sentence) => {
      const answer = await call('POST', '/api/channel/', body)
      expect(answer).toMatchObject({ status: 200, json: { success: false } })
      expect(answer.message).toContain(sentence)
      expect(await list()).toEqual([])
    })
  })

  describe('reading', () => {
    test('ten per page, newest first, with the total', async () => {
      for (let index = 0; index < 11; index += 1) await aChannel(server, { name: `c${index}` })
      const first = await call('GET', '/api/channel/?p=0')
      expect(first.headers['x-total-count']).toBe('11')
      expect((await list()).map(({ name }) => name)).toEqual(
        Array.from({ length: 10 }, (_, index) => `c${10 - index}`),
      )
      expect((await call('GET', '/api/channel/?p=1')).data).toMatchObject([{ name: 'c0' }])
    })

    test('search by id, by a part of the name, or by the whole key', async () => {
      const first = await aChannel(server, { name: 'Alpha', key: 'sk-one' })
      const second = await aChannel(server, { name: 'alphabet', key: 'sk-two' })
      const find = async (keyword: string) => {
        const { data } = await call(
          'GET',
          `/api/channel/search?keyword=${encodeURIComponent(keyword)}`,
        )
        return [data].flat().map((row) => Object(row).id)
      }
      expect(await find('alpha')).toEqual([second, first])
      expect(await find('BET')).toEqual([second])
      expect(await find(String(first))).toEqual([first])
      expect(await find('sk-two')).toEqual([second])
      // A guess at a part of a key finds nothing.
      expect(await find('sk-')).toEqual([])
      expect(await find('%')).toEqual([])
      expect(await find('')).toEqual([second, first])
    })

    test('filters by status, type and group, also with a keyword; the summary counts all', async () => {
      const plain = await aChannel(server, { name: 'plain', group: '' })
      const vip = await aChannel(server, { name: 'vip one', group: 'svip, vip', type: 14 })
      const off = await aChannel(server, { name: 'off', group: 'vip,default', status: 2 })
      const auto = await aChannel(server, { name: 'auto one', group: 'vip', status: 3 })
      const find = async (path: string) => {
        const { data } = await call('GET', `/api/channel/${path}`)
        return [data].flat().map((row) => Object(row).id)
      }
      expect(await find('?status=1')).toEqual([vip, plain])
      expect(await find('?type=14')).toEqual([vip])
      expect(await find('?group=vip')).toEqual([auto, off, vip])
      expect(await find('?group=default')).toEqual([off, plain])
      expect(await find('?group=vi')).toEqual([])
      expect(await find('search?keyword=one&group=vip&status=3')).toEqual([auto])
      expect((await call('GET', '/api/channel/summary')).data).toEqual({
        total: 4,
        enabled: 2,
        disabled: 1,
        auto_disabled: 1,
        types: [1, 14],
        groups: ['default', 'svip', 'vip'],
      })
    })

    test.each(['999999', '0', 'abc', '-1', '1e3'])('channel %s is not found', async (id) => {
      expect((await call('GET', `/api/channel/${id}`)).json).toEqual({
        success: false,
        message: '没有找到该记录',
      })
    })

    test('rows of an adopted database with empty columns are returned', async () => {
      const id = await aChannel(server)
      await server.database.write
        .updateTable('channels')
        .set({
          weight: null,
          priority: null,
          base_url: null,
          other: null,
          model_mapping: null,
          config: null,
          system_prompt: null,
          models: null,
          group: null,
          balance: null,
        })
        .where('id', '=', id)
        .execute()
      expect(await stored(id)).toMatchObject({
        weight: 0,
        priority: 0,
        base_url: '',
        other: '',
        model_mapping: '',
        config: '',
        system_prompt: '',
        models: '',
        group: '',
        balance: 0,
      })
      expect((await update(id, { priority: 1 })).data).toMatchObject({ priority: 1, models: '' })
    })

    test('the model catalog is a plain list', async () => {
      const { json } = await call('GET', '/api/channel/models')
      expect(json).toMatchObject({ success: true, message: '', object: 'list' })
      expect([json['data']].flat()).toContainEqual(
        expect.objectContaining({ id: 'gpt-4o', object: 'model', owned_by: 'openai' }),
      )
    })
  })

  describe('PUT /api/channel/', () => {
    test('a status alone changes only the status and the abilities', async () => {
      const id = await aChannel(server, { models: 'a,b', priority: 3, key: 'sk-hidden' })
      const answer = await update(id, { status: ChannelStatus.disabled })
      expect(answer.data).toMatchObject({ id, status: 2, priority: 3, key: '', key_set: true })
      expect(answer.text).not.toContain('sk-hidden')
      expect(await abilities(id)).toEqual(['-default a 3', '-default b 3'])
      await update(id, { status: ChannelStatus.enabled })
      expect(await abilities(id)).toEqual(['default a 3', 'default b 3'])
    })

    test('abilities follow models, group and priority', async () => {
      const id = await aChannel(server, { models: 'a,b' })
      await update(id, { models: 'b,c', group: 'vip', priority: -2 })
      expect(await abilities(id)).toEqual(['vip b -2', 'vip c -2'])
    })

    test('weight 0 and priority 0 are stored; an empty address too, if the key is given', async () => {
      const id = await aChannel(server, { weight: 5, priority: 5, other: 'o', system_prompt: 's' })
      await update(id, {
        weight: 0,
        priority: 0,
        other: '',
        system_prompt: '',
        base_url: '',
        key: 'k',
      })
      expect(await stored(id)).toMatchObject({
        weight: 0,
        priority: 0,
        other: '',
        system_prompt: '',
        base_url: '',
      })
    })

    test('sending the whole object back changes nothing', async () => {
      const id = await aChannel(server, { config: '{"ak":"A","region":"r"}', models: 'a' })
      const before = await stored(id)
      const { data } = await update(id, {
        ...before,
        used_quota: 99,
        balance: 99,
        response_time: 99,
        test_time: 99,
        created_time: 99,
      })
      expect(data).toEqual(before)
      expect(await keyOf(id)).toBe('sk-upstream')
      const row = await server.database.read
        .selectFrom('channels')
        .select('config')
        .where('id', '=', id)
        .executeTakeFirst()
      expect(row?.config).toBe('{"ak":"A","region":"r"}')
    })

    // Otherwise an admin who may edit channels could have a stored key sent to their own server.
    test('a new address requires the key again', async () => {
      const id = await aChannel(server, { key: 'sk-hidden' })
      const refused = await update(id, { base_url: 'https://thief.example', name: 'changed' })
      expect(refused.message).toContain('重新填写密钥')
      expect(await stored(id)).toMatchObject({ name: '', base_url: 'http://127.0.0.1:9' })
      const granted = await update(id, { base_url: 'https://new.example', key: 'sk-new' })
      expect(granted.data).toMatchObject({ base_url: 'https://new.example' })
      expect(await keyOf(id)).toBe('sk-new')
    })

    test('the test model is stored, and cleared by an empty text', async () => {
      const id = await aChannel(server, { models: 'a,b' })
      expect((await update(id, { test_model: 'b' })).data).toMatchObject({ test_model: 'b' })
      expect((await update(id, { test_model: '' })).data).toMatchObject({ test_model: '' })
    })

    test('an unknown id is not found', async () => {
      const answer = await update(999_999, { name: 'x' })
      expect(answer.json).toEqual({ success: false, message: '没有找到该记录' })
      expect((await call('PUT', '/api/channel/', { name: 'x' })).message).toContain('id')
    })

    test('two concurrent changes are both written, and the abilities match the row', async () => {
      const id = await aChannel(server, { models: 'a' })
      await Promise.all([
        update(id, { models: 'a,b' }),
        update(id, { group: 'vip' }),
        update(id, { priority: 7 }),
      ])
      expect(await stored(id)).toMatchObject({ models: 'a,b', group: 'vip', priority: 7 })
      expect(await abilities(id)).toEqual(['vip a 7', 'vip b 7'])
    })
  })

  describe('DELETE /api/channel/', () => {
    test('one channel with its abilities; the second request succeeds as well', async () => {
      const id = await aChannel(server)
      const kept = await aChannel(server)
      for (let time = 0; time < 2; time += 1) {
        const answer = await call('DELETE', `/api/channel/${id}/`)
        expect(answer.json).toEqual({ success: true, message: '' })
      }
      expect((await list()).map((channel) => channel.id)).toEqual([kept])
      expect(await abilities(id)).toEqual([])
    })

    test.each(['0', 'abc', '-1'])('rejects the invalid id %s', async (id) => {
      const kept = await aChannel(server)
      expect((await call('DELETE', `/api/channel/${id}`)).json['success']).toBe(false)
      expect((await list()).map((channel) => channel.id)).toContain(kept)
    })

    // A long transaction of the only writer delays every call.
    test('many disabled channels in small transactions, each with an audit row', async () => {
      const made: number[] = []
      for (let count = 0; count < 45; count += 1) {
        made.push(await aChannel(server, { status: ChannelStatus.disabled }))
      }
      const { write } = server.database
      const { counted, changed } = countedChanges(write)
      server.database.write = counted
      const answer = await call('DELETE', '/api/channel/disabled')
      server.database.write = write
      expect(answer.data).toBe(made.length)
      expect(Math.max(...changed)).toBe(20)
      const audited = await write
        .selectFrom('audit')
        .select('target_id')
        .where('action', '=', 'channel.delete')
        .where('target_id', 'in', made)
        .orderBy('id')
        .execute()
      expect(audited.map(({ target_id }) => target_id)).toEqual(made)
    })

    test('all disabled channels, manual or automatic, and returns their number', async () => {
      const byHand = await aChannel(server, { status: ChannelStatus.disabled })
      const byProgram = await aChannel(server, { status: ChannelStatus.autoDisabled })
      const kept = await aChannel(server)
      expect((await call('DELETE', '/api/channel/disabled')).data).toBe(2)
      expect((await list()).map((channel) => channel.id)).toEqual([kept])
      expect([...(await abilities(byHand)), ...(await abilities(byProgram))]).toEqual([])
      expect((await call('DELETE', '/api/channel/disabled')).data).toBe(0)
    })

    test('an id is never reused', async () => {
      const id = await aChannel(server)
      await call('DELETE', `/api/channel/${id}`)
      expect(await aChannel(server)).toBeGreaterThan(id)
    })
  })

  test('a model is offered to users as soon as a channel serves it', async () => {
    const model = randomText(12)
    const offered = async () => [(await call('GET', '/api/user/available_models')).data].flat()
    expect(await offered()).not.toContain(model)
    const id = await aChannel(server, { models: model })
    expect(await offered()).toContain(model)
    await update(id, { status: ChannelStatus.disabled })
    expect(await offered()).not.toContain(model)
  })
})
