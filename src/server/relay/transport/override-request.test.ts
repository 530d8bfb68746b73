import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { anAdmin, type TestUser } from '../../test/factories.ts'
import { onSqlite } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  expectAllWell,
  post,
  startRelay,
  startScriptedUpstream,
  stream,
  textOf,
  type RelaySetup,
} from '../../test/relay-setup.ts'

/** A proxy with a password that tunnels to the requested host. */
async function startProxy(onwardPort: () => number) {
  const asked: string[] = []
  const proxy = http.createServer()
  const sockets = new Set<net.Socket>()
  proxy.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  proxy.on('connect', (request, socket) => {
    const expected = `Basic ${Buffer.from('me:p@ss').toString('base64')}`
    if (request.headers['proxy-authorization'] !== expected) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
      return
    }
    asked.push(request.url ?? '')
    const onward = net.connect(onwardPort(), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      onward.pipe(socket).pipe(onward)
    })
    onward.on('error', () => socket.destroy())
    socket.on('error', () => onward.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  // A server listening on TCP has an address object.
  const { port } = proxy.address() as AddressInfo
  return {
    asked,
    url: `http://me:p%40ss@127.0.0.1:${port}`,
    close: () => {
      for (const socket of sockets) socket.destroy()
      proxy.close()
    },
  }
}

onSqlite('what a channel wants otherwise', (open) => {
  let setup: RelaySetup
  let proxy: Awaited<ReturnType<typeof startProxy>>
  let admin: TestUser
  beforeAll(async () => {
    setup = await startRelay(open)
    proxy = await startProxy(() => Number(new URL(setup.upstream.url).port))
    admin = await anAdmin(setup)
  })
  afterAll(async () => {
    await expectAllWell(setup)
    await setup.close()
    proxy.close()
  })
  beforeEach(() => {
    proxy.asked.length = 0
    setup.upstream.seen()
  })

  const api = (method: string, path: string, body?: unknown) =>
    setup.call(method, path, { as: { cookie: admin.cookie }, ...(body ? { body } : {}) })

  describe('a proxy', () => {
    test('relays whole responses and streams, and resolves the host name itself', async () => {
      const model = aModel()
      const config = JSON.stringify({ proxy: proxy.url })
      await aRoute(setup, model, { base_url: 'http://models.example:81', config })
      const client = await aClient(setup)
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
      const streamed = await stream(setup, client, chatBody(model))
      expect(textOf(streamed.text())).toBe('The answer is forty-two.')
      expect(new Set(proxy.asked)).toEqual(new Set(['models.example:81']))
      expect(setup.upstream.seen()).toHaveLength(2)
    })

    test('relays channel tests and model list requests', async () => {
      const model = aModel()
      const config = JSON.stringify({ proxy: proxy.url })
      const id = await aRoute(setup, model, { base_url: 'http://tested.example', config })
      const tested = await api('GET', `/api/channel/test/${id}`)
      expect(tested.json['success']).toBe(true)
      const models = await api('GET', `/api/channel/upstream_models/${id}`)
      expect(models.json['success']).toBe(true)
      // Only the proxy can resolve the name; the connection may serve both.
      expect(new Set(proxy.asked)).toEqual(new Set(['tested.example:80']))
    })

    test('relays requests about a stored response', async () => {
      const model = aModel()
      const config = JSON.stringify({ proxy: proxy.url })
      await aRoute(setup, model, { base_url: 'http://stored.example', config })
      const client = await aClient(setup)
      const made = await post(setup, client, { model, input: 'hi' }, { path: '/v1/responses' })
      expect(made.status).toBe(200)
      const path = `/v1/responses/${String(made.json.id)}`
      const headers = { authorization: `Bearer ${client.key}` }
      expect((await setup.call('GET', path, { headers })).status).toBe(200)
      expect(new Set(proxy.asked)).toEqual(new Set(['stored.example:80']))
    })

    test('that refuses makes the channel unreachable: another channel is tried', async () => {
      const model = aModel()
      const config = JSON.stringify({ proxy: proxy.url.replace('p%40ss', 'wrong') })
      await aRoute(setup, model, { base_url: 'http://models.example', config, priority: 9 })
      const client = await aClient(setup)
      const alone = await post(setup, client, chatBody(model))
      expect(alone.status).toBe(500)
      expect(alone.text).not.toContain('wrong')
      await aRoute(setup, model)
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
    })

    test('is not used for other channels, nor for blocked addresses', async () => {
      const model = aModel()
      await aRoute(setup, model)
      const client = await aClient(setup)
      expect((await post(setup, client, chatBody(model))).status).toBe(200)
      const other = aModel()
      const config = JSON.stringify({ proxy: proxy.url })
      const id = await aRoute(setup, other, { config })
      const { database } = setup
      const base_url = 'http://169.254.169.254'
      await database.write.updateTable('channels').set({ base_url }).where('id', '=', id).execute()
      await database.announce('channels')
      expect((await post(setup, client, chatBody(other))).status).toBe(500)
      expect(proxy.asked).toEqual([])
    })
  })

  describe('headers and parameters', () => {
    test('replace or remove those of the request, and keep the rest byte for byte', async () => {
      const seen: { headers: http.IncomingHttpHeaders; body: string }[] = []
      const upstream = await startEcho(seen)
      const model = aModel()
      const config = JSON.stringify({
        header_override: { Authorization: 'Key {api_key}', 'X-Team': 'blue', 'User-Agent': '' },
        param_override: { temperature: 0.5, user: null, metadata: { a: 1 } },
      })
      await aRoute(setup, model, { base_url: upstream.url, key: 'sk-$&-own', config })
      const client = await aClient(setup)
      const body = `{"temperature": 2.50,"model":"${model}","messages":[{"role":"user"}]}`
      await post(setup, client, body)
      await upstream.close()
      expect(seen[0]?.headers).toMatchObject({
        authorization: 'Key sk-$&-own',
        'x-team': 'blue',
        'content-type': 'application/json',
      })
      expect(seen[0]?.headers['user-agent']).toBeUndefined()
      expect(seen[0]?.body).toBe(
        `{"temperature": 0.5,"model":"${model}","messages":[{"role":"user"}],` +
          '"user":null,"metadata":{"a":1}}',
      )
    })

    test('are rejected by name if they would change routing or parsing of a call', async () => {
      const channel = { type: 1, key: 'sk-x', name: 'x', models: 'm', group: 'default' }
      const cases = [
        { proxy: 'socks5://proxy.example' },
        { header_override: { Host: 'x' } },
        { param_override: { model: 'x' } },
      ]
      for (const config of cases) {
        const body = { ...channel, config: JSON.stringify(config) }
        expect((await api('POST', '/api/channel/', body)).json['success']).toBe(false)
      }
    })

    test('that are secret are never read back, and stay if they are not sent again', async () => {
      const model = aModel()
      const config = JSON.stringify({
        proxy: proxy.url,
        header_override: { 'x-key': 'secret-value' },
        param_override: { top_p: 1 },
      })
      const id = await aRoute(setup, model, { config })
      const found = await api('GET', `/api/channel/${id}`)
      expect(found.text).not.toContain('secret-value')
      expect(found.text).not.toContain('p%40ss')
      expect(found.data).toMatchObject({
        config: JSON.stringify({ proxy: '', header_override: '', param_override: { top_p: 1 } }),
        config_set: ['proxy', 'header_override'],
      })
      const sentBack = {
        id,
        config: JSON.stringify({ proxy: '', header_override: '', region: 'x' }),
      }
      expect((await api('PUT', '/api/channel/', sentBack)).json['success']).toBe(true)
      const stored = await setup.database.read
        .selectFrom('channels')
        .select('config')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      expect(JSON.parse(stored.config ?? '')).toMatchObject(JSON.parse(config))
    })

    test('are removed from an upstream’s messages', async () => {
      const upstream = await startScriptedUpstream((request, response) => {
        response.writeHead(422, { 'content-type': 'application/json' })
        const message = `no: ${request.headers['x-key']}`
        response.end(JSON.stringify({ error: { message } }))
      })
      const model = aModel()
      const config = JSON.stringify({ header_override: { 'x-key': 'secret-value' } })
      await aRoute(setup, model, { base_url: upstream.url, config })
      const answer = await post(setup, await aClient(setup), chatBody(model))
      await upstream.close()
      expect(answer.text).toContain('no: ***')
    })
  })
})

/** An upstream that stores what it receives. */
async function startEcho(seen: { headers: http.IncomingHttpHeaders; body: string }[]) {
  const server = http.createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      seen.push({ headers: request.headers, body: Buffer.concat(parts).toString() })
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{}}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server listening on TCP has an address object.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  }
}
