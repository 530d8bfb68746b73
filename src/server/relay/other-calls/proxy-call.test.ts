import { afterAll, beforeAll, expect, test } from 'vitest'
import { Role } from '../../../contract/user.ts'
import { FIREHOSE_CHUNKS, startFirehose } from '../../test/firehose.ts'
import { onSqlite } from '../../test/for-each-database.ts'
import {
  aClient,
  bookedCall,
  eventually,
  expectAllWell,
  expectNothingCharged,
  expectRefusal,
  heldPoints,
  openCall,
  post,
  requestIdOf,
  someTurns,
  startCall,
  startRelay,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../../test/relay-setup.ts'
import { aChannel } from '../../test/factories.ts'
import { lockUser } from '../../user/user-store.ts'

const PROXY_TYPE = 43

onSqlite('a raw proxy channel', (open) => {
  let setup: RelaySetup
  let admin: RelayClient
  let upstream: ScriptedUpstream
  let channel: number
  const seen: { method: string; url: string; authorization: string; cookie: string }[] = []

  beforeAll(async () => {
    setup = await startRelay(open)
    admin = await aClient(setup, { role: Role.admin })
    upstream = await startScriptedUpstream((request, response) => {
      seen.push({
        method: request.method ?? '',
        url: request.url ?? '',
        authorization: request.headers.authorization ?? '',
        cookie: request.headers.cookie ?? '',
      })
      if (request.url?.includes('dearer')) {
        void setup.app.options.set('ProxyCallQuota', '500').then(() => response.end('late'))
      } else if (request.url?.includes('redirect')) {
        response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end('gone')
      } else if (request.url?.includes('cut')) {
        response.writeHead(200, { 'content-length': 100 })
        response.write('part')
        void someTurns().then(() => response.destroy())
      } else if (request.url?.includes('hang')) {
        response.writeHead(200)
        response.write('begun')
      } else if (request.url?.includes('teapot')) {
        response
          .writeHead(418, { 'content-type': 'text/plain', 'set-cookie': 'a=b' })
          .end('short and stout')
      } else {
        response.writeHead(200, { 'content-type': 'text/x-own' }).end('raw\u0000answer')
      }
    })
    channel = await aChannel(setup, {
      type: PROXY_TYPE,
      key: 'Key raw',
      base_url: `${upstream.url}/root`,
      models: '',
    })
    await setup.app.options.set('ProxyCallQuota', '70')
  })
  afterAll(async () => {
    await expectAllWell(setup)
    await upstream.close()
    await setup.close()
  })

  // The points are reserved only after its client has left.
  test('is not asked for a client that has left before', async () => {
    seen.length = 0
    const isHeld = Promise.withResolvers<void>()
    const mayEnd = Promise.withResolvers<void>()
    const locked = setup.database.write.transaction().execute(async (trx) => {
      await lockUser(trx, admin.userId)
      isHeld.resolve()
      await mayEnd.promise
    })
    await isHeld.promise
    const sent = startCall(setup, admin, 'body', { path: `/v1/oneapi/proxy/${channel}/late` })
    await eventually(() => setup.app.ledger.pending > 0, 'the reservation')
    sent.destroy()
    await someTurns()
    mayEnd.resolve()
    await locked
    await setup.app.ledger.drain()
    await expectNothingCharged(setup, admin)
    expect(seen).toEqual([])
  })

  test('costs what it did when it began', async () => {
    const answer = await proxy('/dearer')
    await setup.app.options.set('ProxyCallQuota', '70')
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(70)
  })

  const proxy = (path: string, own = admin, id: number | string = channel) =>
    post(setup, own, 'body', {
      path: `/v1/oneapi/proxy/${id}${path}`,
      headers: { cookie: 'session=x' },
    })

  test('passes method, path, query and body on with its key, and is charged by the call', async () => {
    seen.length = 0
    const answer = await proxy('/v2/things/?a=1&b=%20')
    expect(answer.status).toBe(200)
    expect(answer.text).toBe('raw\u0000answer')
    expect(answer.headers['content-type']).toBe('text/x-own')
    expect(seen).toEqual([
      { method: 'POST', url: '/root/v2/things/?a=1&b=%20', authorization: 'Key raw', cookie: '' },
    ])
    const { quota, log, ledger } = await bookedCall(setup, requestIdOf(answer))
    expect(quota).toBe(70)
    expect(log).toMatchObject({ model_name: 'proxy', prompt_tokens: 0, channel_id: channel })
    expect(JSON.parse(ledger.detail)).toMatchObject({ proxy_call: 70 })
  })

  test.each(['GET', 'PUT', 'PATCH', 'DELETE'])('also %s', async (method) => {
    seen.length = 0
    const headers = { authorization: `Bearer ${admin.key}` }
    const answer = await setup.call(method, `/v1/oneapi/proxy/${channel}/x`, { headers })
    expect(answer.status).toBe(200)
    expect(seen[0]?.method).toBe(method)
  })

  test('B35: an ordinary token cannot name a channel', async () => {
    const ordinary = await aClient(setup)
    seen.length = 0
    expectRefusal(await proxy('/x', ordinary), { code: 'channel_pin_not_allowed', status: 403 })
    const limited = await aClient(setup, { role: Role.admin, token: { models: 'gpt-4o' } })
    expect((await proxy('/x', limited)).status).toBe(403)
    expect(seen).toEqual([])
    await expectNothingCharged(setup, ordinary)
  })

  test('channels of other types are rejected with any spelling of an id', async () => {
    const other = await aChannel(setup, { base_url: upstream.url })
    seen.length = 0
    for (const id of [other, 999_999, '0x1', `${channel}x`, '', '-1', '1e3', `0${channel} `]) {
      expect((await proxy('/x', admin, id)).status).toBeGreaterThanOrEqual(400)
    }
    expect(seen).toEqual([])
  })

  test('no path leads outside its base URL', async () => {
    seen.length = 0
    for (const path of ['/a/%252e%252e/x', '/a%5c%2e%2e', '//other', '/a%0d%0ax']) {
      expectRefusal(await proxy(path), { code: 'proxy_path_invalid', status: 400 })
    }
    expect(seen).toEqual([])
  })

  test('passes statuses on, but no redirects and no cookies', async () => {
    const teapot = await proxy('/teapot')
    expect([teapot.status, teapot.text]).toEqual([418, 'short and stout'])
    expect(teapot.headers['set-cookie']).toBeUndefined()
    const redirect = await proxy('/redirect')
    expect(redirect.status).toBe(502)
    expect(redirect.headers.location).toBeUndefined()
  })

  test('a truncated response is not complete, and is charged', async () => {
    const path = `/v1/oneapi/proxy/${channel}/cut`
    const answer = await openCall(setup, admin, 'x', { path })
    expect(await answer.ended).toBe('broken')
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(70)
  })

  test('a client that leaves is charged', async () => {
    const own = await aClient(setup, { role: Role.admin })
    const path = `/v1/oneapi/proxy/${channel}/hang`
    const answer = await openCall(setup, own, 'x', { path })
    answer.leave()
    await eventually(async () => (await heldPoints(setup, own.userId)) === 0, 'the settlement')
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(70)
  })

  test('a process with a stale cache reports the true reason for a disabled token or owner', async () => {
    const { write } = setup.database
    const refused = [
      {
        change: ({ tokenId }: RelayClient) =>
          write.updateTable('tokens').set({ status: 2 }).where('id', '=', tokenId),
        refusal: { code: 'token_disabled', status: 401 },
      },
      {
        change: ({ userId }: RelayClient) =>
          write.updateTable('users').set({ status: 2 }).where('id', '=', userId),
        refusal: { code: 'token_owner_disabled', status: 403 },
      },
    ] as const
    for (const { change, refusal } of refused) {
      const own = await aClient(setup, { role: Role.admin })
      expect((await proxy('/x', own)).status).toBe(200)
      await change(own).execute()
      expectRefusal(await proxy('/x', own), refusal)
    }
  })

  test('an unreachable upstream or a short balance costs nothing', async () => {
    const own = await aClient(setup, { role: Role.admin, quota: 69 })
    expect((await proxy('/x', own)).status).toBe(403)
    const rich = await aClient(setup, { role: Role.admin })
    const dead = await aChannel(setup, {
      type: PROXY_TYPE,
      base_url: 'http://127.0.0.1:1',
      models: '',
    })
    expect((await proxy('/x', rich, dead)).status).toBe(500)
    await expectNothingCharged(setup, own)
    await expectNothingCharged(setup, rich)
  })
})

test('disconnects a client that reads nothing until the timeout', async () => {
  const setup = await startRelay(undefined, {}, { writeMs: 300 })
  await setup.app.options.set('ProxyCallQuota', '70')
  const upstream = await startFirehose()
  const base_url = upstream.url
  const channel = await aChannel(setup, { type: PROXY_TYPE, base_url, models: '' })
  const admin = await aClient(setup, { role: Role.admin })
  const path = `/v1/oneapi/proxy/${channel}/flood`
  const answer = await openCall(setup, admin, 'x', { path, isPaused: true })
  await eventually(() => upstream.state.isLeft, 'the upstream to be left')
  expect(upstream.state.written).toBeLessThan(FIREHOSE_CHUNKS / 2)
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(70)
  answer.response.resume()
  expect(await answer.ended).toBe('broken')
  await upstream.close()
  await expectAllWell(setup)
  await setup.close()
})
