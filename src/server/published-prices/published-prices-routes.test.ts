import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { findPrice } from '../ledger/price.ts'
import { aChannel, aUser, type TestUser } from '../test/factories.ts'
import { onSqlite } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

onSqlite('GET /api/prices/published', (open) => {
  let server: TestServer
  let root: TestUser
  const said = { status: 200, body: '' }
  const host = http.createServer((_request, response) => {
    response.writeHead(said.status, { location: 'http://127.0.0.1:1/' }).end(said.body)
  })
  let address = ''

  beforeAll(async () => {
    await new Promise<void>((listening) => host.listen(0, '127.0.0.1', listening))
    // A server that listens on TCP has an address object.
    address = `http://127.0.0.1:${(host.address() as AddressInfo).port}/api.json`
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
    await aChannel(server, { models: 'served' })
    const resting = await aChannel(server, { models: 'resting' })
    const disabled = await server.call('PUT', '/api/channel/', {
      as: root,
      body: { id: resting, status: 2 },
    })
    expect(disabled.json).toMatchObject({ success: true })
  })
  afterAll(async () => {
    await server.close()
    host.close()
  })

  const ask = (of: string, language = 'zh') =>
    server.call('GET', `/api/prices/published?address=${encodeURIComponent(of)}`, {
      as: root,
      headers: { 'accept-language': language },
    })

  const cost = (input: number, output: number) => ({ cost: { input, output } })
  const saying = (models: Record<string, unknown>): void => {
    Object.assign(said, { status: 200, body: JSON.stringify({ openai: { models } }) })
  }
  const listed = (model: string, completion: string | null) => ({
    model_ratio: model,
    completion_ratio: completion,
    cache_ratio: null,
    create_cache_ratio: null,
  })

  test('returns prices that differ from ours, and which models are served here', async () => {
    saying({
      served: cost(2, 8),
      resting: cost(2, 8),
      'gpt-4o': cost(2.5, 10),
      'gpt-4o-mini': cost(0.15, 0.9),
      'rerank-v3.5': cost(1, 1),
      speech: cost(0, 12),
    })
    expect((await ask(address)).data).toEqual({
      rows: [
        { name: 'served', now: null, listed: listed('1', '4'), is_served: true },
        { name: 'resting', now: null, listed: listed('1', '4'), is_served: false },
        {
          name: 'gpt-4o-mini',
          now: {
            model_ratio: '0.075',
            completion_ratio: '4',
            cache_ratio: '0.5',
            create_cache_ratio: null,
          },
          listed: listed('0.075', '6'),
          is_served: false,
        },
      ],
      same: 1,
      // One is billed per call here, one has a price that ratios cannot express.
      left_out: 2,
    })
  })

  test('on a new installation the built-in prices are the current ones', async () => {
    expect((await ask('')).data).toMatchObject({ rows: [], same: expect.any(Number) })
  })

  test('sets the chosen prices, and leaves missing ones unchanged', async () => {
    const unpriced = () => server.call('GET', '/api/prices/unpriced', { as: root })
    expect((await unpriced()).data).toEqual(['served'])
    const set = await server.call('PUT', '/api/prices/', {
      as: root,
      body: {
        rows: [
          { name: 'served', ...listed('1', '4'), cache_ratio: '0.1' },
          { name: 'gpt-4o', ...listed('1.5', null) },
        ],
      },
    })
    expect(set).toMatchObject({ status: 200, json: { success: true } })
    const { model, completion, cache } = server.app.options.ratios()
    expect([model.get('served'), completion.get('served'), cache.get('served')]).toEqual([
      '1',
      '4',
      '0.1',
    ])
    expect([model.get('gpt-4o'), completion.get('gpt-4o'), cache.get('gpt-4o')]).toEqual([
      '1.5',
      '4',
      '0.5',
    ])
    expect((await unpriced()).data).toEqual([])
    const audit = await server.call('GET', '/api/audit/?action=option', { as: root })
    expect(audit.data).toMatchObject([
      { target_name: 'CacheRatio' },
      { target_name: 'CompletionRatio' },
      { target_name: 'ModelRatio' },
    ])
    saying({ served: cost(2, 8), 'gpt-4o': cost(2.5, 10) })
    expect((await ask(address)).data).toMatchObject({ rows: [{ name: 'gpt-4o' }], same: 1 })
    expect((await ask('')).data).toMatchObject({
      rows: [{ name: 'gpt-4o', now: { model_ratio: '1.5' }, listed: { model_ratio: '1.25' } }],
    })
  })

  test('prices set concurrently by several admins are all stored', async () => {
    const names = ['at-once-1', 'at-once-2', 'at-once-3', 'at-once-4']
    const answers = await Promise.all(
      names.map((name) =>
        server.call('PUT', '/api/prices/', {
          as: root,
          body: { rows: [{ name, ...listed('3', null) }] },
        }),
      ),
    )
    expect(answers.map(({ json }) => json['success'])).toEqual(names.map(() => true))
    const { model } = server.app.options.ratios()
    expect(names.map((name) => model.get(name))).toEqual(names.map(() => '3'))
  })

  test('a list that is too long is rejected', async () => {
    const many = Array.from({ length: 20_001 }, (_, index) => [`m${index}`, cost(1, 2)] as const)
    saying(Object.fromEntries(many))
    expect((await ask(address)).message).toContain('对方的价格表过长')
  })

  test.each(['-1', '1e2', '1,"gpt-4o":0'])(
    '%s is not a ratio and changes nothing',
    async (ratio) => {
      const before = server.app.options.text('ModelRatio')
      const refused = await server.call('PUT', '/api/prices/', {
        as: root,
        body: {
          rows: [
            { name: 'one', ...listed('1', null) },
            { name: 'two', ...listed(ratio, null) },
          ],
        },
      })
      expect(refused).toMatchObject({ json: { success: false } })
      expect(server.app.options.text('ModelRatio')).toBe(before)
    },
  )

  test('a served model whose upstream name has a price is not unpriced', async () => {
    const renamed = await aChannel(server, {
      models: 'ours,nobodys',
      model_mapping: '{"ours":"gpt-4o"}',
    })
    const { data } = await server.call('GET', '/api/prices/unpriced', { as: root })
    expect(data).toEqual(['nobodys'])
    await server.call('DELETE', `/api/channel/${renamed}/`, { as: root })
  })

  // The price cache is limited to the number of models of an installation; otherwise calls would
  // recompute their prices.
  test('finding unpriced models does not fill the price cache', async () => {
    const models = Array.from({ length: 10_050 }, (_, index) => `x${index.toString(36)}`).join(',')
    const many = await aChannel(server, { models })
    const { data } = await server.call('GET', '/api/prices/unpriced', { as: root })
    expect(data).toHaveLength(10_050)
    await server.app.options.set('DefaultModelRatio', '2')
    expect((await server.call('GET', '/api/prices/unpriced', { as: root })).data).toEqual([])
    const ratios = server.app.options.ratios()
    const name = { requested: 'gpt-4o', mapped: 'gpt-4o', channelType: 1, group: 'default' }
    expect(findPrice(ratios, name)).toBe(findPrice(ratios, name))
    await server.app.options.set('DefaultModelRatio', '')
    await server.call('DELETE', `/api/channel/${many}/`, { as: root })
  })

  describe('failures have one message without content from the host', () => {
    test.each([
      ['a fault', { status: 500, body: 'stack trace' }, ['状态码 500', 'status 500']],
      ['a redirect', { status: 302, body: '' }, ['状态码 302', 'status 302']],
      [
        'no JSON',
        { status: 200, body: '<html>' },
        ['不是可识别的价格表', 'not a known price list'],
      ],
      ['too much', { status: 200, body: 'x'.repeat(2 ** 24 + 1) }, ['过大', 'too large']],
    ])('%s', async (_what, answer, [zh = '', en = '']) => {
      Object.assign(said, answer)
      const refused = await ask(address)
      expect(refused).toMatchObject({ status: 200, json: { success: false } })
      expect(refused.message).toContain(zh)
      expect((await ask(address, 'en')).message).toContain(en)
      if (answer.body !== '') expect(refused.message).not.toContain(answer.body)
    })

    test.each([
      ['file:///etc/passwd', 'http://'],
      ['models.dev/api.json', 'http://'],
      ['http://', 'http://'],
      ['http://127.0.0.1:9/', '无法连接'],
      ['http://169.254.169.254/latest/meta-data', '不允许访问'],
    ])('%s', async (of, sentence) => {
      const refused = await ask(of)
      expect(refused).toMatchObject({ status: 200, json: { success: false } })
      expect(refused.message).toContain(sentence)
    })
  })

  test('requires permission to change prices', async () => {
    const refused = await server.call('GET', '/api/prices/published', { as: await aUser(server) })
    expect(refused).toMatchObject({ json: { success: false } })
    expect(refused.data).toBeUndefined()
  })
})
