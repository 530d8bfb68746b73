import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFakeUpstream, type FakeUpstream } from '../../../tools/fake-upstream/fake-upstream.ts'
import { ChannelStatus } from '../../contract/channel.ts'
import { aChannel, anAdmin, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startHeldUpstream } from '../test/held-upstream.ts'
import { eventually } from '../test/relay-setup.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

const { enabled, disabled, autoDisabled } = ChannelStatus

forEachDatabase('a stopping server', (open) => {
  test('does not wait for channel tests', async () => {
    const server = await startTestServer(open)
    const upstream = await startFakeUpstream()
    const admin = await anAdmin(server)
    const hanging = { base_url: upstream.url, models: 'hang' }
    const id = await aChannel(server, hanging)
    await aChannel(server, hanging)
    await server.call('GET', '/api/channel/test', { as: admin })
    const one = server.call('GET', `/api/channel/test/${id}`, { as: admin })
    const asked = []
    while (asked.length < 2) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      asked.push(...upstream.seen())
    }
    // The test would wait a minute for each.
    const [answer] = await Promise.all([one, server.close()])
    expect(answer.json).toMatchObject({ success: false, model: 'hang' })
    // The second channel of the run was not called.
    expect(upstream.seen()).toEqual([])
    await upstream.close()
  })
})

forEachDatabase('testing channels', (open) => {
  let server: TestServer
  let upstream: FakeUpstream
  let admin: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    upstream = await startFakeUpstream()
    admin = await anAdmin(server)
  })
  afterAll(async () => {
    await server.close()
    await upstream.close()
  })
  beforeEach(async () => {
    await server.database.write.deleteFrom('channels').execute()
    await server.database.write.deleteFrom('logs').execute()
    upstream.seen()
  })

  const get = async (path: string) => server.call('GET', path, { as: admin })
  const channel = async (id: number) => Object((await get(`/api/channel/${id}`)).data)
  const testLogs = async () =>
    [(await get('/api/log/?type=5')).data].flat().map((row) => Object(row))
  const askedModels = () => upstream.seen().map(({ body }) => Object(body).model)

  describe('GET /api/channel/test/:id', () => {
    test('calls a vendor in the same way as users’ calls', async () => {
      // MiniMax writes reasoning into the reply unless it is requested separately.
      const minimax = { base_url: upstream.url, models: 'MiniMax-M2', type: 27 }
      await get(`/api/channel/test/${await aChannel(server, minimax)}`)
      expect(upstream.seen()).toMatchObject([{ body: { reasoning_split: true } }])
    })

    test('calls the upstream and returns the duration', async () => {
      const id = await aChannel(server, {
        base_url: upstream.url,
        models: 'gpt-4o-mini',
        name: '主',
      })
      const beganMs = performance.now()
      const answer = await get(`/api/channel/test/${id}`)
      const elapsedMs = performance.now() - beganMs
      expect(answer.json).toEqual({
        success: true,
        // The model's reply, which One API's consoles show.
        message: expect.stringMatching(/./),
        time: expect.any(Number),
        model: 'gpt-4o-mini',
        modelName: 'gpt-4o-mini',
      })
      // Seconds, rounded to thousandths.
      expect(Number(answer.json['time']) * 1000).toBeLessThan(elapsedMs + 1)
      expect(askedModels()).toEqual(['gpt-4o-mini'])
      const row = await channel(id)
      expect(row).toMatchObject({ test_time: server.clock.nowSeconds(), status: enabled })
      expect(row.response_time).toBeGreaterThan(0)
      expect(await testLogs()).toMatchObject([
        {
          type: 5,
          user_id: 0,
          username: '',
          channel: id,
          model_name: 'gpt-4o-mini',
          content: '渠道「主」测试成功，回复：The answer is forty-two.',
          quota: 0,
          request_id: answer.headers['x-oneapi-request-id'],
        },
      ])
    })

    test('uses the query’s model, else the configured one, else the first', async () => {
      const id = await aChannel(server, { base_url: upstream.url, models: 'first,second' })
      await get(`/api/channel/test/${id}`)
      await server.call('PUT', '/api/channel/', { as: admin, body: { id, test_model: 'second' } })
      await get(`/api/channel/test/${id}`)
      await get(`/api/channel/test/${id}?model=third`)
      expect(askedModels()).toEqual(['first', 'second', 'third'])
    })

    test('the upstream and the log get the mapped name, the response has the requested one', async () => {
      const id = await aChannel(server, {
        base_url: upstream.url,
        models: 'ours',
        model_mapping: '{"ours":"theirs"}',
      })
      expect((await get(`/api/channel/test/${id}`)).json).toMatchObject({ model: 'ours' })
      expect(askedModels()).toEqual(['theirs'])
      expect(await testLogs()).toMatchObject([{ model_name: 'theirs' }])
    })

    test('a failure has a message and the members of a success', async () => {
      const id = await aChannel(server, {
        base_url: upstream.url,
        models: 'fail-500',
        name: 'broken',
      })
      const answer = await get(`/api/channel/test/${id}`)
      expect(answer).toMatchObject({ status: 200 })
      expect(answer.json).toEqual({
        success: false,
        message: expect.stringContaining('测试失败'),
        time: expect.any(Number),
        model: 'fail-500',
        modelName: 'fail-500',
      })
      expect(await channel(id)).toMatchObject({
        response_time: 0,
        test_time: server.clock.nowSeconds(),
        // A manual test changes no status.
        status: enabled,
      })
      const [row] = await testLogs()
      // The row's own text, then the upstream's message without repeating the prefix.
      expect(row.content).toBe(`渠道「broken」${answer.message}`)
      expect(row.content).toMatch(/^渠道「broken」测试失败：(?!测试失败)./)
    })

    test.each([
      // Administrators need to distinguish a rate limit from an unpaid bill.
      ['fail-429', 'upstream says 429', 'upstream says 429'],
      ['fail-empty', '上游的响应无法解析', 'The upstream response cannot be parsed'],
      ['fail-cut', '无法连接上游', 'The upstream cannot be reached'],
    ])('a failure is reported in one language: %s', async (model, zh, en) => {
      const id = await aChannel(server, { base_url: upstream.url, models: model, name: 'one' })
      const path = `/api/channel/test/${id}`
      const headers = { 'accept-language': 'en' }
      expect((await get(path)).message).toBe(`测试失败：${zh}`)
      expect((await server.call('GET', path, { as: admin, headers })).message).toBe(
        `The test failed: ${en}`,
      )
      const [row] = await testLogs()
      expect(row.content).toBe(`渠道「one」测试失败：${zh}`)
    })

    test('a closed port, missing TLS and a proxy that requires a password are reported as such', async () => {
      const proxy = http.createServer().on('connect', (_request, socket) => {
        socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n')
      })
      await once(proxy.listen(0, '127.0.0.1'), 'listening')
      const { port } = proxy.address() as AddressInfo
      const config = JSON.stringify({ proxy: `http://127.0.0.1:${port}` })
      for (const [over, message] of [
        [{ base_url: 'http://127.0.0.1:9' }, /^测试失败：无法连接上游（ECONNREFUSED）$/],
        [{ base_url: upstream.url.replace('http:', 'https:') }, /（\w*(?:SSL|TLS|EPROTO)\w*）$/],
        [{ base_url: upstream.url, config }, /^测试失败：代理拒绝转发，返回状态码 407$/],
      ] as const) {
        const id = await aChannel(server, { models: 'm', ...over })
        expect((await get(`/api/channel/test/${id}`)).message).toMatch(message)
      }
      proxy.close()
    })

    test('a key that the upstream repeats is in no response and no log row', async () => {
      const key = 'sk-canary-0123456789'
      const id = await aChannel(server, {
        base_url: upstream.url,
        models: 'secret-in-error,echo',
        key,
      })
      const answers = [
        await get(`/api/channel/test/${id}`),
        await get(`/api/channel/test/${id}?model=echo`),
        await get('/api/log/?type=5'),
      ]
      expect(answers[2]?.data).toHaveLength(2)
      for (const { text } of answers) expect(text).not.toContain(key)
    })

    test('a closed port, an unknown channel and a type that cannot be tested', async () => {
      const dead = await aChannel(server, { base_url: 'http://127.0.0.1:9', models: 'm' })
      expect((await get(`/api/channel/test/${dead}`)).json).toMatchObject({
        success: false,
        model: 'm',
      })
      expect((await get('/api/channel/test/999999')).json).toEqual({
        success: false,
        message: '没有找到该记录',
      })
      const proxy = await aChannel(server, { type: 43, models: '', base_url: upstream.url })
      expect((await get(`/api/channel/test/${proxy}`)).json).toMatchObject({
        success: false,
        model: '',
      })
      expect(upstream.seen()).toEqual([])
    })
  })

  describe('GET /api/channel/test', () => {
    const state = async () => Object((await get('/api/channel/test/status')).data)
    const finished = () =>
      eventually(async () => {
        const now = await state()
        return now.running === false && now
      }, 'the end of the run')
    async function withOptions(values: Record<string, string>, work: () => Promise<void>) {
      const before = Object.keys(values).map(
        (key) =>
          [key, server.app.options.listed().find((row) => row.key === key)?.value ?? ''] as const,
      )
      for (const [key, value] of Object.entries(values)) await server.app.options.set(key, value)
      await work()
      for (const [key, value] of before) await server.app.options.set(key, value)
    }

    test('tests all channels and counts them', async () => {
      await aChannel(server, { base_url: upstream.url, models: 'one' })
      await aChannel(server, { base_url: upstream.url, models: 'fail-401' })
      await aChannel(server, { base_url: upstream.url, models: 'two', status: disabled })
      const answer = await get('/api/channel/test')
      expect(answer.json).toEqual({ success: true, message: '' })
      expect(await finished()).toEqual({
        running: false,
        scope: 'all',
        done: 3,
        total: 3,
        failed: 1,
        first_failure: { channel: expect.stringMatching(/^#\d+$/), message: expect.any(String) },
      })
      expect(askedModels()).toEqual(['one', 'fail-401', 'two'])
      expect(await testLogs()).toHaveLength(3)
    })

    test('or the given ones, and reports the first failure', async () => {
      const good = await aChannel(server, { base_url: upstream.url, models: 'one' })
      const bad = await aChannel(server, {
        name: 'bad',
        base_url: upstream.url,
        models: 'fail-401',
      })
      await aChannel(server, { base_url: upstream.url, models: 'two' })
      const body = { ids: [bad, good, bad] }
      const answer = await server.call('POST', '/api/channel/batch/test', { as: admin, body })
      expect(answer.json).toEqual({ success: true, message: '' })
      const byHand = await get(`/api/channel/test/${bad}`)
      expect(await finished()).toMatchObject({
        scope: 'chosen',
        done: 2,
        failed: 1,
        first_failure: { channel: 'bad', message: byHand.message },
      })
      expect(askedModels()).not.toContain('two')
    })

    test('or only the disabled ones', async () => {
      await aChannel(server, { base_url: upstream.url, models: 'one' })
      await aChannel(server, { base_url: upstream.url, models: 'two', status: disabled })
      await aChannel(server, { base_url: upstream.url, models: 'three', status: autoDisabled })
      await get('/api/channel/test?scope=disabled')
      expect(await finished()).toMatchObject({ scope: 'disabled', done: 2, total: 2 })
      expect(askedModels()).toEqual(['two', 'three'])
    })

    test('one run at a time', async () => {
      const held = await startHeldUpstream()
      await aChannel(server, { base_url: held.url, models: 'held' })
      const answers = await Promise.all([get('/api/channel/test'), get('/api/channel/test')])
      expect(answers.map(({ json }) => json['success']).toSorted()).toEqual([false, true])
      expect(answers.map(({ message }) => message)).toContain('渠道测试正在进行，请稍后再试')
      expect(await state()).toMatchObject({ running: true, done: 0, total: 1 })
      held.release()
      await finished()
      expect((await get('/api/channel/test')).json['success']).toBe(true)
      await finished()
      await held.close()
    })

    test('disables slow channels if configured', async () => {
      const held = await startHeldUpstream()
      const slow = await aChannel(server, { base_url: held.url, models: 'too-slow' })
      const quick = await aChannel(server, { base_url: upstream.url, models: 'quick' })
      const run = async () => {
        held.hold()
        const before = held.asked()
        await get('/api/channel/test')
        await eventually(() => held.asked() > before, 'the call')
        server.clock.lapseSeconds(60)
        held.release()
        await finished()
        return [(await channel(slow)).status, (await channel(quick)).status]
      }
      await withOptions({ ChannelDisableThreshold: '59.9' }, async () => {
        expect(await run()).toEqual([enabled, enabled])
      })
      await withOptions(
        { AutomaticDisableChannelEnabled: 'true', ChannelDisableThreshold: '0' },
        async () => expect(await run()).toEqual([enabled, enabled]),
      )
      await withOptions(
        { AutomaticDisableChannelEnabled: 'true', ChannelDisableThreshold: '59.9' },
        async () => expect(await run()).toEqual([autoDisabled, enabled]),
      )
      const offered = (await get('/api/user/available_models')).data
      expect(offered).toContain('quick')
      expect(offered).not.toContain('too-slow')
      await held.close()
    })

    test('disables channels refused by their upstream if configured', async () => {
      const refused = await aChannel(server, {
        base_url: upstream.url,
        models: 'fail-key',
        name: 'old key',
      })
      const spent = await aChannel(server, { base_url: upstream.url, models: 'fail-quota' })
      const troubled = await aChannel(server, { base_url: upstream.url, models: 'fail-503' })
      const missing = await aChannel(server, { base_url: upstream.url, models: 'fail-model' })
      const run = async () => {
        await get('/api/channel/test')
        await finished()
        return Promise.all(
          [refused, spent, troubled, missing].map(async (id) => (await channel(id)).status),
        )
      }
      expect(await run()).toEqual([enabled, enabled, enabled, enabled])
      await withOptions({ AutomaticDisableChannelEnabled: 'true' }, async () => {
        expect(await run()).toEqual([autoDisabled, autoDisabled, enabled, enabled])
      })
      const { data } = await get(`/api/log/?type=4&channel=${refused}`)
      expect(data).toMatchObject([{ type: 4, user_id: 0, username: '', channel: refused }])
      expect(String(Object([data].flat()[0]).content)).toMatch(
        /^渠道「old key」（#\d+）已被自动禁用：测试失败/,
      )
    })

    // Manually disabled channels stay disabled, even if a test passes.
    test('enables only automatically disabled channels if configured', async () => {
      const byHand = await aChannel(server, { base_url: upstream.url, status: disabled })
      const byProgram = await aChannel(server, {
        base_url: upstream.url,
        models: 'back',
        status: autoDisabled,
      })
      const broken = await aChannel(server, {
        base_url: upstream.url,
        models: 'fail-500',
        status: autoDisabled,
      })
      const run = async () => {
        await get('/api/channel/test?scope=disabled')
        await finished()
        return Promise.all(
          [byHand, byProgram, broken].map(async (id) => (await channel(id)).status),
        )
      }
      expect(await run()).toEqual([disabled, autoDisabled, autoDisabled])
      await withOptions({ AutomaticEnableChannelEnabled: 'true' }, async () => {
        expect(await run()).toEqual([disabled, enabled, autoDisabled])
      })
      expect((await get('/api/user/available_models')).data).toContain('back')
    })

    test('a channel that is disabled manually meanwhile is not changed', async () => {
      const held = await startHeldUpstream()
      const id = await aChannel(server, { base_url: held.url, models: 'held' })
      await withOptions(
        { AutomaticDisableChannelEnabled: 'true', ChannelDisableThreshold: '59.9' },
        async () => {
          await get('/api/channel/test')
          await eventually(() => held.asked() > 0, 'the call')
          await server.call('PUT', '/api/channel/', { as: admin, body: { id, status: disabled } })
          server.clock.lapseSeconds(60)
          held.release()
          await finished()
        },
      )
      expect(await channel(id)).toMatchObject({ status: disabled })
      await held.close()
    })

    test('a channel deleted meanwhile does not stop the run', async () => {
      const held = await startHeldUpstream()
      await aChannel(server, { base_url: held.url, models: 'held' })
      const gone = await aChannel(server, { base_url: upstream.url, models: 'gone' })
      await aChannel(server, { base_url: upstream.url, models: 'last' })
      await get('/api/channel/test')
      await server.call('DELETE', `/api/channel/${gone}`, { as: admin })
      held.release()
      expect(await finished()).toMatchObject({ done: 3, total: 3, failed: 0 })
      expect([held.asked(), askedModels()]).toEqual([1, ['last']])
      await held.close()
    })
  })
})
