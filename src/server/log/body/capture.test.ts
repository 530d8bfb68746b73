import { beforeAll, describe, expect, test } from 'vitest'
import type { CaptureMode } from '../../../contract/log.ts'
import { Role } from '../../../contract/user.ts'
import { aUser, anAdmin, type TestUser } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  chatBody,
  eventually,
  post,
  requestIdOf,
  stream,
  textOf,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelaySetup } from '../../test/use-relay.ts'
import { SESSION_COOKIE } from '../../http/sessions.ts'
import { updateUser } from '../../user/user-store.ts'
import { deleteBodiesBefore } from './body-store.ts'

const SECRET = 'sk-abcdefghijklmnopqrstuvwxyz0123456789'

forEachDatabase('capture', (open) => {
  let setup: RelaySetup
  let admin: TestUser
  let model: string

  useRelaySetup((started) => (setup = started), { open })
  beforeAll(async () => {
    admin = await anAdmin(setup)
    model = await aServedModel(setup)
  })

  const cookieOf = async (userId: number) => ({
    cookie: `${SESSION_COOKIE}=${await setup.app.sessions.start(userId, false)}`,
  })

  /** A client whose token has this capture mode. */
  async function aCapturing(capture: CaptureMode): Promise<RelayClient & { cookie: string }> {
    const client = await aClient(setup)
    const { cookie } = await cookieOf(client.userId)
    const answer = await setup.call('PUT', '/api/token/', {
      as: { cookie },
      body: {
        id: client.tokenId,
        name: 'a token',
        expired_time: -1,
        unlimited_quota: true,
        capture,
      },
    })
    expect(answer.json['success']).toBe(true)
    return { ...client, cookie }
  }

  const bodyOf = (requestId: string) =>
    setup.database.read
      .selectFrom('log_bodies')
      .selectAll()
      .where('request_id', '=', requestId)
      .executeTakeFirst()

  /** Reads the log row after its texts are stored. */
  async function read(requestId: string, as: { cookie: string }, path = '/api/log/self') {
    await eventually(() => bodyOf(requestId), `the texts of ${requestId}`)
    const { log } = await bookedCall(setup, requestId)
    return Object((await setup.call('GET', `${path}/${log.id}`, { as })).data)
  }

  const question = (content: string) => chatBody(model, { messages: [{ role: 'user', content }] })

  test('nothing is captured by default', async () => {
    const client = await aClient(setup)
    const answer = await post(setup, client, question('plain'))
    const { log } = await bookedCall(setup, requestIdOf(answer))
    // A call of another token, stored after the first one would have been.
    const keeper = await aCapturing('full')
    const kept = requestIdOf(await post(setup, keeper, question('kept')))
    await eventually(() => bodyOf(kept), 'the texts')
    expect(await bodyOf(requestIdOf(answer))).toBeUndefined()
    const row = await setup.call('GET', `/api/log/${log.id}`, { as: admin })
    expect(row.data).toMatchObject({ has_body: false, request: '', response: '' })
  })

  test('full: request and response, byte for byte', async () => {
    const client = await aCapturing('full')
    const body = JSON.stringify(question(`你好 ${SECRET}`), null, 1)
    const answer = await post(setup, client, body)
    const row = await read(requestIdOf(answer), client)
    expect(row).toMatchObject({ has_body: true, request: body, response: answer.text })
  })

  test('full, streamed: the text of the response', async () => {
    const client = await aCapturing('full')
    const answer = await stream(setup, client, question('count'))
    const row = await read(requestIdOf(answer), client)
    expect(row.response).toBe(textOf(answer.text()))
    expect(row.response.length).toBeGreaterThan(0)
  })

  const parameters = { type: 'object', properties: { city: { type: 'string' } } }
  test.each([
    ['/v1/chat/completions', { function: { name: 'weather', parameters } }, 'messages'],
    ['/v1/responses', { name: 'weather', parameters }, 'input'],
    ['/v1/messages', { name: 'weather', input_schema: parameters }, 'messages'],
  ])('full, streamed, %s: the tool call on its own line', async (path, tool, member) => {
    const client = await aCapturing('full')
    const tools = [path === '/v1/messages' ? tool : { type: 'function', ...tool }]
    const asked = [{ role: 'user', content: 'use the tool' }]
    const body = { model, tools, [member]: asked, max_tokens: 100 }
    const answer = await stream(setup, client, body, { path })
    const { response } = await read(requestIdOf(answer), client)
    expect(response).toMatch(/^\[tool: weather\] \{"city":\s*"forty-two"\}$/m)
  })

  test('for a converted call, the client’s request and response', async () => {
    const client = await aCapturing('full')
    for (const words of ['', 'json-when-stream']) {
      const converted = aModel(words)
      await aRoute(setup, converted, { type: 14, words })
      const body = chatBody(converted)
      const whole = await post(setup, client, body)
      const kept = await read(requestIdOf(whole), client)
      expect(kept).toMatchObject({ request: JSON.stringify(body), response: whole.text })
      const streamed = await stream(setup, client, body)
      const { request, response } = await read(requestIdOf(streamed), client)
      expect(request).toBe(JSON.stringify({ stream: true, ...body }))
      expect(response).toBe(textOf(streamed.text()))
      expect(response.length).toBeGreaterThan(0)
    }
  })

  test('for audio, its type and size', async () => {
    const client = await aCapturing('full')
    const body = { model, input: 'hello, you', voice: 'a' }
    const answer = await post(setup, client, body, { path: '/v1/audio/speech' })
    const { request, response } = await read(requestIdOf(answer), client)
    expect(request).toBe(JSON.stringify(body))
    expect(response).toBe('[audio/mpeg, 256 bytes]')
  })

  test('redacted: the same without secrets', async () => {
    const client = await aCapturing('redacted')
    const answer = await post(setup, client, question(`use ${SECRET} please`))
    const { request } = await read(requestIdOf(answer), client)
    expect(request).toContain('use [redacted] please')
    expect(request).not.toContain(SECRET)
  })

  test('metadata: settings and sizes, no content', async () => {
    const client = await aCapturing('metadata')
    const body = { ...question('words of mine'), temperature: 0.5 }
    const answer = await post(setup, client, body)
    const row = await read(requestIdOf(answer), client)
    expect(JSON.parse(row.request)).toEqual({
      bytes: JSON.stringify(body).length,
      model,
      messages: { items: 1 },
      temperature: 0.5,
    })
    expect(JSON.parse(row.response)).toEqual({ bytes: Buffer.byteLength(answer.text) })
  })

  test('a long text is cut at the configured limit', async () => {
    const client = await aCapturing('full')
    await setup.app.options.set('LogBodyKilobytesMax', '1')
    const answer = await post(setup, client, question('long '.repeat(2000)))
    await setup.app.options.set('LogBodyKilobytesMax', '64')
    const { request } = await read(requestIdOf(answer), client)
    // The latest message is at the end.
    expect(request).toMatch(/^\{"model".*… \[\d+ bytes left out\] ….*\}$/)
    expect(Buffer.byteLength(request)).toBeLessThan(1100)
  })

  test('the operator can disable it for all tokens', async () => {
    const client = await aCapturing('full')
    await setup.app.options.set('LogBodyKilobytesMax', '0')
    const off = requestIdOf(await post(setup, client, question('off')))
    await setup.app.options.set('LogBodyKilobytesMax', '64')
    const on = requestIdOf(await post(setup, client, question('on')))
    await eventually(() => bodyOf(on), 'the texts')
    expect(await bodyOf(off)).toBeUndefined()
  })

  test('deleting a token deletes its capture mode', async () => {
    const client = await aCapturing('full')
    const modes = () =>
      setup.database.read
        .selectFrom('token_captures')
        .select('mode')
        .where('token_id', '=', client.tokenId)
        .execute()
    expect(await modes()).toEqual([{ mode: 'full' }])
    await setup.call('DELETE', `/api/token/${client.tokenId}`, { as: client })
    expect(await modes()).toEqual([])
  })

  test('the owner can disable it, effective with the next call', async () => {
    const client = await aCapturing('full')
    const token = () => setup.call('GET', `/api/token/${client.tokenId}`, { as: client })
    expect((await token()).data).toMatchObject({ capture: 'full' })
    const body = { id: client.tokenId, name: 'a token', expired_time: -1, unlimited_quota: true }
    // A client that does not send the member changes nothing.
    await setup.call('PUT', '/api/token/', { as: client, body })
    expect((await token()).data).toMatchObject({ capture: 'full' })
    await setup.call('PUT', '/api/token/', { as: client, body: { ...body, capture: 'off' } })
    expect((await token()).data).toMatchObject({ capture: 'off' })
    const off = requestIdOf(await post(setup, client, question('off')))
    const keeper = await aCapturing('full')
    const on = requestIdOf(await post(setup, keeper, question('on')))
    await eventually(() => bodyOf(on), 'the texts')
    expect(await bodyOf(off)).toBeUndefined()
  })

  describe('access to captured texts', () => {
    let requestId: string
    let owner: RelayClient & { cookie: string }

    beforeAll(async () => {
      owner = await aCapturing('full')
      requestId = requestIdOf(await post(setup, owner, question('between us')))
    })

    const audits = (userId = owner.userId) =>
      setup.database.read
        .selectFrom('audit')
        .selectAll()
        .where('action', '=', 'log.read_body')
        .where('target_id', '=', userId)
        .execute()

    test('lists do not contain them', async () => {
      await read(requestId, owner)
      const list = await setup.call('GET', `/api/log/?request_id=${requestId}`, { as: admin })
      expect(list.data).toMatchObject([{ has_body: true, request: '', response: '' }])
      expect(list.text).not.toContain('between us')
    })

    test('an admin can search them, which is audited', async () => {
      const searches = () =>
        setup.database.read
          .selectFrom('audit')
          .select(['actor_id', 'new_values'])
          .where('action', '=', 'log.search_body')
          .execute()
      await setup.call('GET', '/api/log/?model_name=any', { as: admin })
      await setup.call('GET', '/api/log/self/?request=between', { as: owner })
      expect(await searches()).toEqual([])
      const found = await setup.call('GET', '/api/log/?request=between+us', { as: admin })
      expect(found.data).toMatchObject([{ request_id: requestId }])
      expect(await searches()).toEqual([
        { actor_id: admin.id, new_values: expect.stringContaining('between us') },
      ])
    })

    test('their owner can read them without audit, an admin with audit', async () => {
      expect((await read(requestId, owner)).request).toContain('between us')
      expect(await audits()).toEqual([])
      expect((await read(requestId, admin, '/api/log')).request).toContain('between us')
      expect(await audits()).toMatchObject([{ actor_id: admin.id }])
    })

    test('an admin can read own texts without audit', async () => {
      const sender = await aCapturing('full')
      const id = requestIdOf(await post(setup, sender, question('to myself')))
      await updateUser(setup.database.write, sender.userId, { role: Role.admin })
      expect((await read(id, sender, '/api/log')).request).toContain('to myself')
      expect(await audits(sender.userId)).toEqual([])
    })

    test('another user cannot read them', async () => {
      const { log } = await bookedCall(setup, requestId)
      const stranger = await aUser(setup)
      const answer = await setup.call('GET', `/api/log/self/${log.id}`, { as: stranger })
      expect(answer.json['success']).toBe(false)
      expect(answer.text).not.toContain('between us')
    })

    test('an export contains them if requested', async () => {
      const path = `/api/log/self/export/?request_id=${requestId}`
      const plain = await setup.call('GET', path, { as: owner })
      expect(plain.text).not.toContain('between us')
      const full = await setup.call('GET', `${path}&bodies=true`, { as: owner })
      const [row] = JSON.parse(full.text)
      expect(row.request).toContain('between us')
      const csv = await setup.call('GET', `${path}&bodies=true&format=csv`, { as: owner })
      expect(csv.text.split('\r\n')[0]).toMatch(/"request","response"$/)
      expect(csv.text).toContain('between us')
    })
  })

  describe('searching captured texts', () => {
    const find = async (query: string, as: { cookie: string }) => {
      const answer = await setup.call('GET', `/api/log/self?${query}`, { as })
      const rows = [answer.data].flat().map((row) => Object(row))
      return { ids: rows.map((row) => row.request_id), from: answer.json['searched_from'] }
    }

    test('newest first, one day at a time, with the searched range', async () => {
      const client = await aCapturing('full')
      const sent: string[] = []
      for (const word of ['needle one', 'hay', 'needle two', 'needle three']) {
        setup.clock.advanceSeconds(43_000)
        sent.push(requestIdOf(await post(setup, client, question(word))))
        await eventually(() => bodyOf(sent.at(-1) ?? ''), 'the texts')
      }
      const first = await find('request=needle', client)
      expect(first.ids).toEqual([sent[3], sent[2]])
      expect(first.from).toEqual(expect.any(Number))
      const second = await find(`request=needle&before=${first.from}-0`, client)
      expect(second).toEqual({ ids: [sent[0]], from: undefined })
      expect(await find('p=1&request=needle', client)).toEqual(second)
      // Literally, not as a pattern, and combined with the other filters by "and".
      expect((await find('request=need%25', client)).ids).toEqual([])
      expect((await find('request=needle&model_name=other', client)).ids).toEqual([])
      const exported = await setup.call('GET', '/api/log/self/export/?request=needle', {
        as: client,
      })
      expect(
        JSON.parse(exported.text).map((row: { request_id: string }) => row.request_id),
      ).toEqual([sent[3], sent[2], sent[0]])
    })

    test('pages of ten', async () => {
      const client = await aCapturing('full')
      const sent: string[] = []
      for (let index = 0; index < 12; index += 1) {
        sent.unshift(requestIdOf(await post(setup, client, question('many'))))
      }
      for (const id of sent) await eventually(() => bodyOf(id), 'the texts')
      const first = await find('response=&request=many', client)
      expect(new Set(first.ids).size).toBe(10)
      const second = await find('response=&request=many&p=1', client)
      expect(new Set([...first.ids, ...second.ids])).toEqual(new Set(sent))
    })
  })

  test('old texts are deleted, the rows stay', async () => {
    const client = await aCapturing('full')
    const requestId = requestIdOf(await post(setup, client, question('old')))
    await eventually(() => bodyOf(requestId), 'the texts')
    while ((await deleteBodiesBefore(setup.database.write, setup.clock.nowSeconds() + 1, 3)) > 0);
    expect(await bodyOf(requestId)).toBeUndefined()
    const { log } = await bookedCall(setup, requestId)
    expect((await setup.call('GET', `/api/log/self/${log.id}`, { as: client })).data).toMatchObject(
      { has_body: false, request: '' },
    )
  })
})
