import { afterAll, beforeAll, expect, test } from 'vitest'
import { api } from '../../../contract/api.ts'
import { AUDIT_ACTIONS } from '../../../contract/audit.ts'
import type { Endpoint } from '../../../contract/endpoint.ts'
import { Role } from '../../../contract/user.ts'
import { isOptionKey } from '../../../contract/option/options.ts'
import { operationOf } from '../../test/described-answer.ts'
import { addressOf } from '../../test/endpoint-call.ts'
import {
  aChannel,
  aRedemption,
  aToken,
  aUser,
  PASSWORD,
  type TestUser,
} from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'

/** Example body of an endpoint in the API description. */
function shownBody(endpoint: Endpoint): Record<string, unknown> {
  const { example, examples } = Object(Object(operationOf(endpoint)['requestBody']).content)[
    'application/json'
  ]
  return { ...(example ?? examples[endpoint.options.name].value) }
}

/** Example data of a response in the API description. */
const shownData = (endpoint: Endpoint): unknown =>
  Object(operationOf(endpoint)['responses'])[200].content['application/json'].example.data

// A copied example must work after its ids are replaced.
forEachDatabase('examples of bodies', (open) => {
  let server: TestServer
  let root: TestUser
  let ids: Record<'user' | 'token' | 'channel' | 'redemption', number>

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root, quota: 1_000_000 })
    ids = {
      user: (await aUser(server, { username: '李雷', quota: 500_000 })).id,
      token: (await aToken(server, root.id)).id,
      channel: await aChannel(server, { base_url: 'http://127.0.0.1:9' }),
      redemption: (await aRedemption(server, root.id)).id,
    }
  })
  afterAll(() => server.close())

  const { user, token, limit, channel, channelBatch, route, redemption, option, price } = api
  const rows: [Endpoint, (own: typeof ids) => object][] = [
    [user.create, () => ({})],
    [user.login, () => ({})],
    [user.update, ({ user: id }) => ({ id })],
    [user.updateSelf, () => ({})],
    [user.topUp, ({ user: id }) => ({ user_id: id })],
    [user.manage, () => ({})],
    [token.create, () => ({})],
    [token.update, ({ token: id }) => ({ id })],
    [token.setStatus, ({ token: id }) => ({ id })],
    [limit.setToken, () => ({})],
    [channel.create, () => ({})],
    [channel.update, ({ channel: id }) => ({ id })],
    [channelBatch.change, ({ channel: id }) => ({ ids: [id] })],
    [channelBatch.test, ({ channel: id }) => ({ ids: [id] })],
    [channelBatch.copy, ({ channel: id }) => ({ source_id: id, ids: [id] })],
    [route.forecast, () => ({})],
    [redemption.create, () => ({})],
    [redemption.update, ({ redemption: id }) => ({ id })],
    [redemption.setStatus, ({ redemption: id }) => ({ id })],
    [option.update, () => ({})],
    [price.set, () => ({})],
  ]

  test.each(rows.map(([endpoint, own]) => [endpoint.options.name, endpoint, own] as const))(
    '%s',
    async (_name, endpoint, own) => {
      const answer = await server.call(endpoint.method, addressOf(endpoint, ids.token), {
        as: endpoint.options.access === 'anyone' ? {} : root,
        body: { ...shownBody(endpoint), ...own(ids) },
      })
      expect([answer.message, answer.json['success']]).toEqual([expect.any(String), true])
    },
  )

  test('have the described effect: the user is created, changed and disabled', async () => {
    const { data } = await server.call('GET', `/api/user/${ids.user}`, { as: root })
    expect(data).toMatchObject({ username: '李雷', group: 'vip,default' })
    const found = await server.call('GET', '/api/user/search?keyword=li.ming', { as: root })
    expect(found.data).toMatchObject([{ display_name: '李明', status: 2 }])
    const signIn = await server.call('POST', '/api/user/login', {
      as: {},
      body: { username: '李雷', password: PASSWORD },
    })
    expect(signIn.json['success']).toBe(true)
  })
})

test('examples of responses are consistent with the meaning of their members', () => {
  const { price } = Object(shownData(api.log.find))
  for (const ratio of ['model_ratio', 'completion_ratio', 'group_ratio', 'cache_ratio']) {
    expect(price[ratio]).toMatch(/^\d+(\.\d+)?$/)
  }
  expect(isOptionKey(Object(shownBody(api.option.update)).key)).toBe(true)
  expect(Object(shownData(api.audit.list))[0]).toMatchObject({
    action: expect.toSatisfy((action) => AUDIT_ACTIONS.includes(action)),
    before: { quota: expect.any(Number) },
    after: { quota: expect.any(Number) },
  })
  expect(shownData(api.user.accessToken)).toMatch(/^[0-9a-f]{32}$/)
  expect(Object.keys(Object(shownData(api.token.groups)))).toEqual(['vip'])
  expect(shownData(api.status.modelsByType)).toEqual({ '1': ['gpt-4o-mini', 'gpt-4o'] })
  expect(Object(shownData(api.channel.find))).toMatchObject({
    key: '',
    key_set: true,
    config: '{}',
  })
  expect(Object(shownData(api.user.manage))).toMatchObject({ id: 0, role: 1, status: 2 })
})

test('a list shows less of each row than the single row, and no flag that is not set', () => {
  const [listed] = [shownData(api.token.list)].flat()
  expect(listed).not.toHaveProperty('limits')
  expect(shownData(api.token.find)).toHaveProperty('limits')
  expect(shownData(api.user.self)).not.toHaveProperty('must_change_password')
})
