import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { AUDIT_SECRET } from '../../contract/audit.ts'
import { Role } from '../../contract/user.ts'
import { randomText } from '../secrets.ts'
import { anAdmin, aRedemption, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'

forEachDatabase('the audit', (open) => {
  let server: TestServer
  let root: TestUser
  let admin: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
    admin = await anAdmin(server)
  })
  afterAll(() => server.close())

  const call = (method: string, path: string, body?: unknown, as: TestUser = admin) =>
    server.call(method, path, { as, ...(body === undefined ? {} : { body }) })
  const entries = async (query = '') =>
    [(await call('GET', `/api/audit/${query}`, undefined, root)).data]
      .flat()
      .map((row) => Object(row))
  const newest = async () => (await entries())[0]

  /** Expects that this request wrote the newest row. */
  async function expectAudited(answer: TestAnswer, row: object) {
    expect(answer.json).toMatchObject({ success: true, message: '' })
    expect(await newest()).toEqual({
      id: expect.any(Number),
      created_at: server.clock.nowSeconds(),
      actor_id: admin.id,
      actor_name: admin.username,
      address: '127.0.0.1',
      request_id: answer.headers['x-oneapi-request-id'],
      target_id: expect.any(Number),
      target_name: expect.any(String),
      prev_hash: expect.any(String),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      ...row,
    })
  }

  describe('records actor, change, address and request id', () => {
    test('of a new user', async () => {
      const username = randomText(8)
      const answer = await call('POST', '/api/user/', { username, password: 'password-2' })
      await expectAudited(answer, {
        action: 'user.create',
        target_name: username,
        before: null,
        after: { username, display_name: username },
      })
    })

    test('of a changed user: the changed members, the masked password, the booked quota', async () => {
      const user = await aUser(server, { quota: 1000 })
      const answer = await call('PUT', '/api/user/', {
        id: user.id,
        username: user.username,
        display_name: 'Shown',
        group: 'vip',
        password: 'password-9',
        quota: 5000,
        quota_was: 900,
      })
      await expectAudited(answer, {
        action: 'user.update',
        target_id: user.id,
        target_name: user.username,
        before: {
          display_name: user.username,
          group: 'default',
          password: AUDIT_SECRET,
          quota: 1000,
        },
        after: { display_name: 'Shown', group: 'vip', password: AUDIT_SECRET, quota: 5100 },
      })
    })

    test.each([
      ['disable', { status: 1 }, { status: 2 }],
      ['enable', { status: 2 }, { status: 1 }],
    ])('%s', async (action, before, after) => {
      const user = await aUser(server, before)
      const answer = await call('POST', '/api/user/manage', { username: user.username, action })
      const target = { target_id: user.id, target_name: user.username }
      await expectAudited(answer, { action: `user.${action}`, ...target, before, after })
    })

    test('of a deleted user, with its former name', async () => {
      const user = await aUser(server, { quota: 7 })
      const body = { username: user.username, action: 'delete' }
      await expectAudited(await call('POST', '/api/user/manage', body), {
        action: 'user.delete',
        target_name: user.username,
        before: expect.objectContaining({ username: user.username, quota: 7, role: 1 }),
        after: null,
      })
    })

    // Otherwise an admin could grant itself points unnoticed.
    test('of granted points, also to the actor or an unknown user', async () => {
      const grant = (userId: number, remark?: string) =>
        call('POST', '/api/topup', { user_id: userId, quota: 5, remark })
      await expectAudited(await grant(admin.id, 'gift'), {
        action: 'user.top_up',
        target_id: admin.id,
        target_name: admin.username,
        before: null,
        after: { quota: 5, remark: 'gift', credited: true },
      })
      await expectAudited(await grant(999_999), {
        action: 'user.top_up',
        target_id: 999_999,
        target_name: '',
        before: null,
        after: { quota: 5, remark: '', credited: false },
      })
    })

    test('of codes: created without their texts, changed, disabled, deleted', async () => {
      const made = await call('POST', '/api/redemption/', { name: 'gift', quota: 5, count: 2 })
      await expectAudited(made, {
        action: 'redemption.create',
        target_name: 'gift',
        before: null,
        after: { name: 'gift', quota: 5, count: 2, ids: [expect.any(Number), expect.any(Number)] },
      })
      const { id } = await aRedemption(server, admin.id, { name: 'old', quota: 5 })
      const target = { target_id: id, target_name: 'old', action: 'redemption.update' }
      const body = { id, name: 'old', quota: 6 }
      await expectAudited(await call('PUT', '/api/redemption/', body), {
        ...target,
        before: { quota: 5 },
        after: { quota: 6 },
      })
      const off = { id, status: 2 }
      await expectAudited(await call('PUT', '/api/redemption/?status_only=true', off), {
        ...target,
        before: { status: 1 },
        after: { status: 2 },
      })
      await expectAudited(await call('DELETE', `/api/redemption/${id}`), {
        ...target,
        action: 'redemption.delete',
        before: expect.objectContaining({ quota: 6, status: 2, key: AUDIT_SECRET }),
        after: null,
      })
    })

    test('of channels: keys and secrets of the configuration masked', async () => {
      const name = randomText(8)
      const config = JSON.stringify({ region: 'eu', sk: 'very secret' })
      const body = { type: 1, name, key: 'sk-upstream', models: 'm', group: 'default', config }
      await call('POST', '/api/channel/', body)
      const made = await newest()
      expect(made).toMatchObject({ action: 'channel.create', target_name: name, before: null })
      expect(made.after).toMatchObject({ key: AUDIT_SECRET, config: { sk: AUDIT_SECRET } })
      const change = { id: made.target_id, status: 2 }
      await expectAudited(await call('PUT', '/api/channel/', change), {
        action: 'channel.update',
        target_name: name,
        before: { status: 1 },
        after: { status: 2 },
      })
      await expectAudited(await call('DELETE', `/api/channel/${made.target_id}`), {
        action: 'channel.delete',
        target_id: made.target_id,
        target_name: name,
        before: expect.objectContaining({ key: AUDIT_SECRET }),
        after: null,
      })
      expect(JSON.stringify(await entries())).not.toContain('very secret')
    })

    test('of settings, by changed member; secrets masked', async () => {
      const set = (key: string, value: string) => call('PUT', '/api/option/', { key, value })
      await set('GroupRatio', '{"default":1,"vip":1}')
      await expectAudited(await set('GroupRatio', '{"default":1,"vip":2}'), {
        action: 'option.update',
        target_id: 0,
        target_name: 'GroupRatio',
        before: { GroupRatio: { vip: 1 } },
        after: { GroupRatio: { vip: 2 } },
      })
      await expectAudited(await set('SMTPToken', 'secret'), {
        action: 'option.update',
        target_name: 'SMTPToken',
        before: { SMTPToken: '' },
        after: { SMTPToken: AUDIT_SECRET },
      })
    })

    test('but no change of rejected requests or without a change', async () => {
      const user = await aUser(server)
      const changes = async () =>
        (await entries()).filter(({ action }) => action !== 'call.refuse')[0]
      const before = await newest()
      await call('POST', '/api/user/manage', { username: 'root', action: 'delete' })
      await call('POST', '/api/user/manage', { username: user.username, action: 'enable' })
      await call('PUT', '/api/user/', { id: user.id, display_name: user.username, quota: 0 })
      await call('PUT', '/api/user/', { id: user.id, display_name: 'x', username: 'root' })
      await call('DELETE', '/api/redemption/999999')
      expect(await changes()).toEqual(before)
    })
  })

  describe('GET /api/audit/', () => {
    test('is for root only', async () => {
      expect((await call('GET', '/api/audit/')).json['success']).toBe(false)
    })

    test('continues after the last row of a page, even if rows are added meanwhile', async () => {
      const user = await aUser(server)
      const flip = (count: number) =>
        Array.from({ length: count }, (_, index) => (index % 2 === 0 ? 'disable' : 'enable'))
      for (const action of flip(24)) {
        await call('POST', '/api/user/manage', { username: user.username, action })
      }
      const mine = `target=${user.username}`
      const first = await entries(`?${mine}`)
      expect(first).toHaveLength(10)
      await call('POST', '/api/user/manage', { username: user.username, action: 'disable' })
      const { created_at, id } = first.at(-1)
      const second = await entries(`?${mine}&p=7&before=${created_at}-${id}`)
      expect(second.map((row) => row.id)).toEqual(
        Array.from({ length: 10 }, (_, index) => id - 1 - index),
      )
      expect((await entries(`?${mine}&p=2`)).length).toBe(5)
      expect((await entries(`?${mine}&p=3`)).length).toBe(0)
    })

    test('filters by actor, target, action or its noun, and time', async () => {
      const other = await anAdmin(server)
      const user = await aUser(server)
      const disable = { username: user.username, action: 'disable' }
      await call('POST', '/api/user/manage', disable, other)
      server.clock.advanceSeconds(100)
      const body = { user_id: user.id, quota: 5 }
      await call('POST', '/api/topup', body, other)
      const actions = async (query: string) => (await entries(query)).map((row) => row.action)
      const both = ['user.top_up', 'user.disable']
      expect(await actions(`?actor=${other.username}`)).toEqual(both)
      expect(await actions(`?actor=${other.id}`)).toEqual(both)
      expect(await actions(`?target=${user.id}`)).toEqual(both)
      expect(await actions(`?actor=${other.username}&action=user`)).toEqual(both)
      expect(await actions(`?actor=${other.username}&action=user.top_up`)).toEqual(['user.top_up'])
      expect(await actions(`?actor=${other.username}&action=redemption`)).toEqual([])
      expect(await actions(`?actor=${other.username}&action=use`)).toEqual([])
      const now = server.clock.nowSeconds()
      const mine = `?actor=${other.username}`
      expect(await actions(`${mine}&start_timestamp=${now}`)).toEqual(['user.top_up'])
      expect(await actions(`${mine}&end_timestamp=${now - 1}`)).toEqual(['user.disable'])
      expect(await actions(`${mine}%25`)).toEqual([])
    })

    test('rejects an invalid position', async () => {
      expect((await call('GET', '/api/audit/?before=x', undefined, root)).json['success']).toBe(
        false,
      )
    })
  })
})
