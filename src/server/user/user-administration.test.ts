import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { randomText } from '../secrets.ts'
import {
  anAccessToken,
  anAdmin,
  aSettledCall,
  aToken,
  aUser,
  PASSWORD,
  type TestUser,
} from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'
import { manageUser } from './administration.ts'
import { bindIdentity, identityOwner } from '../sign-in/identity-store.ts'
import { findUser, findUsersByEmail } from './user-store.ts'

forEachDatabase('user administration', (open) => {
  let server: TestServer
  let root: TestUser
  let admin: TestUser
  let user: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    admin = await anAdmin(server)
    user = await aUser(server, { quota: 1000 })
  })

  const call = (method: string, path: string, body?: unknown, as: TestUser | null = user) =>
    server.call(method, path, { ...(as === null ? {} : { as }), body })
  const self = async (as: TestUser = user) =>
    Object((await call('GET', '/api/user/self', undefined, as)).data)
  const stored = async (id: number) =>
    Object((await call('GET', `/api/user/${id}`, undefined, root)).data)
  const login = (username: string, password = PASSWORD) =>
    call('POST', '/api/user/login', { username, password }, null)
  const cookieOf = (answer: TestAnswer) => [answer.headers['set-cookie']].flat()[0] ?? ''
  const isSignedIn = async (as: TestUser) =>
    (await call('GET', '/api/user/self', undefined, as)).json['success'] === true

  describe('reading users', () => {
    test('the list has ten users per page, newest first, without deleted ones', async () => {
      const deleted = await aUser(server, { status: UserStatus.deleted })
      for (let index = 0; index < 11; index += 1) await aUser(server)
      const first = await call('GET', '/api/user/?p=0', undefined, admin)
      const ids = [first.data].flat().map((row) => Object(row).id)
      expect(ids).toHaveLength(10)
      expect(ids).toEqual(ids.toSorted((a, b) => b - a))
      expect(ids).not.toContain(deleted.id)
      expect(Number(first.headers['x-total-count'])).toBeGreaterThan(11)
      const second = await call('GET', '/api/user/?p=1', undefined, admin)
      expect([second.data].flat().map((row) => Object(row).id)[0]).toBeLessThan(ids.at(-1) ?? 0)
    })

    test.each(['quota', 'used_quota', 'request_count'])('ordered by %s', async (order) => {
      const rich = await aUser(server, { quota: 1_000_000_000 })
      const token = await aToken(server, rich.id, { unlimited_quota: true })
      const first = async () =>
        Object(
          [(await call('GET', `/api/user/?p=0&order=${order}`, undefined, admin)).data].flat()[0],
        )
      const { [order]: most = 0 } = await first()
      const calls = order === 'request_count' ? Number(most) + 1 : 1
      const cost = order === 'used_quota' ? Number(most) + 1 : 1
      for (let index = 0; index < calls; index += 1) {
        await aSettledCall(server, { userId: rich.id, tokenId: token.id, cost })
      }
      // Descending; the first root user has the most quota.
      expect(await first()).toMatchObject(
        order === 'quota' ? { username: 'root' } : { id: rich.id },
      )
    })

    test('search finds by id and by parts of name, display name and email, but no deleted user', async () => {
      const word = randomText(8)
      const named = await aUser(server, { username: `${word}1` })
      const mailed = await aUser(server, { email: `${word.toUpperCase()}@b.c` })
      const gone = await aUser(server, { username: `${word}2`, status: UserStatus.deleted })
      const find = async (keyword: string) => {
        const { data } = await call(
          'GET',
          `/api/user/search?keyword=${encodeURIComponent(keyword)}`,
          undefined,
          admin,
        )
        return [data].flat().map((row) => Object(row).id)
      }
      expect(await find(word)).toEqual([mailed.id, named.id])
      expect(await find(String(gone.id))).not.toContain(gone.id)
      expect(await find(String(named.id))).toContain(named.id)
      expect(await find(`${word.slice(2)}@b`)).toEqual([mailed.id])
      expect(await find('%')).toEqual([])
    })

    test('an admin sees users of a lower role, but no equals and not itself', async () => {
      const peer = await anAdmin(server)
      const look = async (id: number, as: TestUser) =>
        (await call('GET', `/api/user/${id}`, undefined, as)).json['success']
      expect(await look(user.id, admin)).toBe(true)
      expect(await look(peer.id, admin)).toBe(false)
      expect(await look(admin.id, admin)).toBe(false)
      expect(await look(root.id, admin)).toBe(false)
      expect(await look(root.id, root)).toBe(true)
      expect(await look(999_999, root)).toBe(false)
    })
  })

  describe('POST /api/user/', () => {
    const create = (body: unknown, as = admin) => call('POST', '/api/user/', body, as)

    test('creates an ordinary user with the bonus and a first token', async () => {
      await server.app.options.set('QuotaForNewUser', '777')
      const username = randomText(8)
      const answer = await create({
        username,
        password: 'password-2',
        role: 1,
        quota: 1e9,
        group: 'svip',
        email: 'a@b.c',
      })
      await server.app.options.set('QuotaForNewUser', '0')
      expect(answer.json).toEqual({ success: true, message: '' })
      const cookie = cookieOf(await login(username, 'password-2')).split(';')[0] ?? ''
      const created = { ...user, username, cookie }
      expect(await self(created)).toMatchObject({
        username,
        display_name: username,
        role: 1,
        status: 1,
        quota: 777,
        group: 'default',
        email: '',
      })
      expect((await call('GET', '/api/token/', undefined, created)).data).toMatchObject([
        { name: 'default', unlimited_quota: true, expired_time: -1 },
      ])
      expect((await call('GET', '/api/log/self', undefined, created)).data).toMatchObject([
        { type: 4, content: '新用户注册赠送 ＄0.001554 额度' },
      ])
    })

    test.each([
      ['no password', { username: 'someone' }],
      ['no name', { password: 'password-2' }],
      ['an empty name', { username: '', password: 'password-2' }],
      ['a long name', { username: 'n'.repeat(13), password: 'password-2' }],
      ['a short password', { username: 'someone', password: 'short' }],
      ['a role like one’s own', { username: 'someone', password: 'password-2', role: 10 }],
    ])('rejects %s', async (_what, body) => {
      expect((await create(body)).json['success']).toBe(false)
      expect((await login('someone', 'password-2')).json['success']).toBe(false)
    })

    test('of ten parallel requests for one name one succeeds and the others get a clear error', async () => {
      const username = randomText(8)
      const answers = await Promise.all(
        Array.from({ length: 10 }, () => create({ username, password: 'password-2' })),
      )
      expect(answers.filter(({ json }) => json['success'] === true)).toHaveLength(1)
      for (const { status } of answers) expect(status).toBe(200)
      expect(server.faults).toEqual([])
    })

    test('rejects a name that is taken', async () => {
      const answer = await create({ username: user.username, password: 'password-2' })
      expect(answer.message).toBe(`用户名「${user.username}」已被使用`)
    })
  })

  describe('PUT /api/user/', () => {
    const update = (body: Record<string, unknown>, as = admin) =>
      call('PUT', '/api/user/', { id: user.id, ...body }, as)

    test('writes the given members and leaves the others', async () => {
      await update({ display_name: 'Shown', group: 'vip, default' })
      await update({ email: 'a@b.c' })
      expect(await stored(user.id)).toMatchObject({
        username: user.username,
        display_name: 'Shown',
        group: 'vip,default',
        email: 'a@b.c',
        quota: 1000,
        role: 1,
        status: 1,
      })
      await update({ email: '', group: '', quota: 0 })
      expect(await stored(user.id)).toMatchObject({ email: '', group: 'default', quota: 0 })
    })

    test('a change of quota is logged; sending the same value back is not', async () => {
      await update({ quota: 1000 })
      expect((await call('GET', '/api/log/self?type=3')).data).toEqual([])
      await update({ quota: 1500 })
      expect((await call('GET', '/api/log/self?type=3')).data).toMatchObject([
        { content: '管理员将用户额度从 ＄0.002000 额度修改为 ＄0.003000 额度' },
      ])
    })

    // One API allows negative balances, and its consoles send the whole object back.
    test('a user with a negative balance can be renamed, and stays negative until points are granted', async () => {
      const move = (points: number) =>
        server.database.write
          .updateTable('users')
          .set((eb) => ({ quota: eb('quota', '+', points) }))
          .where('id', '=', user.id)
          .execute()
      await move(-1500)
      expect((await update({ display_name: 'Shown', quota: -500 })).json['success']).toBe(true)
      expect(await stored(user.id)).toMatchObject({ display_name: 'Shown', quota: -500 })
      expect((await update({ quota: -400 })).json['success']).toBe(false)
      expect((await update({ quota: 5 })).json['success']).toBe(true)
      expect(await stored(user.id)).toMatchObject({ quota: 5 })
      await move(1500)
    })

    test('with the quota that was seen, points spent meanwhile stay spent', async () => {
      const token = await aToken(server, user.id, { unlimited_quota: true })
      await aSettledCall(server, { userId: user.id, tokenId: token.id, cost: 300 })
      await update({ quota: 5000, quota_was: 1000 })
      expect(await stored(user.id)).toMatchObject({
        quota: 4700,
        used_quota: 300,
        request_count: 1,
      })
      await update({ quota: 0, quota_was: 5000 })
      expect(await stored(user.id)).toMatchObject({ quota: 0 })
    })

    test('counters and other users’ secrets cannot be written', async () => {
      const before = await stored(user.id)
      await update({
        used_quota: 0,
        request_count: 99,
        access_token: 'f'.repeat(32),
        inviter_id: 5,
        aff_code: 'mine',
        github_id: 'x',
      })
      expect(await stored(user.id)).toEqual(before)
    })

    test.each([
      ['a negative quota', { quota: -1 }],
      ['a role nobody has', { role: 50 }],
      ['a role like one’s own', { role: 10 }],
      ['a role above one’s own', { role: 100 }],
      ['a status that does not exist', { status: 7 }],
      ['deleting by the back door', { status: 3 }],
      ['no id', { id: 0 }],
      ['an unknown id', { id: 999_999 }],
      ['an address with a line break', { email: 'a@b\nBcc: c' }],
    ])('rejects %s', async (_what, body) => {
      const before = await stored(user.id)
      expect((await update(body)).json['success']).toBe(false)
      expect(await stored(user.id)).toEqual(before)
    })

    test('a group list is limited in characters', async () => {
      const names = Array.from({ length: 20 }, (_, index) => `${'组'.repeat(29)}${index}`)
      await update({ group: names.join(', ') })
      expect(await stored(user.id)).toMatchObject({ group: names.join(',') })
      for (const group of [[...names, 'one more'].join(','), '组'.repeat(33)]) {
        expect((await update({ group })).message).toContain('分组最多 20 个')
      }
      await update({ group: ' a,,b ,a, __proto__' })
      expect(await stored(user.id)).toMatchObject({ group: 'a,b,__proto__' })
    })

    test('root can neither demote nor disable itself, with any other members in the body', async () => {
      for (const over of [{ role: 1 }, { role: 10 }, { status: 2 }, { status: 3 }]) {
        const body = { id: root.id, display_name: 'gone', ...over }
        expect((await update(body, root)).json['success']).toBe(false)
      }
      expect(await stored(root.id)).toMatchObject({ role: 100, status: 1 })
      expect(await stored(root.id)).not.toMatchObject({ display_name: 'gone' })
      const echo = { id: root.id, display_name: 'Root', role: 100, status: 1 }
      expect((await update(echo, root)).json['success']).toBe(true)
    })

    // A second super admin must not be able to remove the first.
    test('a root user can read but not change another root user', async () => {
      const second = await aUser(server, { role: Role.root })
      const before = await stored(root.id)
      const name = { username: root.username }
      const refused = [
        ...[
          { role: 1 },
          { status: 2 },
          { display_name: 'x' },
          { quota: 5 },
          { password: 'longer-8' },
        ].map((body) => update({ id: root.id, ...body }, second)),
        ...['disable', 'enable', 'demote', 'promote', 'delete'].map((action) =>
          call('POST', '/api/user/manage', { ...name, action }, second),
        ),
        call('DELETE', `/api/user/${root.id}`, undefined, second),
        call('POST', '/api/topup', { user_id: root.id, quota: 5 }, second),
        call('POST', '/api/topup', { user_id: root.id, quota: 5 }, admin),
      ]
      for (const answer of await Promise.all(refused)) expect(answer.json['success']).toBe(false)
      const look = await call('GET', `/api/user/${root.id}`, undefined, second)
      expect(look.data).toEqual(before)
      const own = { id: second.id, display_name: 'Second' }
      expect((await update(own, second)).json['success']).toBe(true)
      const topUp = { user_id: second.id, quota: 5 }
      expect((await call('POST', '/api/topup', topUp, second)).json['success']).toBe(true)
    })

    test('an admin can change neither equals nor root', async () => {
      const peer = await anAdmin(server)
      for (const id of [peer.id, root.id, admin.id]) {
        expect((await update({ id, display_name: 'x' })).json['success']).toBe(false)
      }
      expect((await update({ id: peer.id, role: 1 }, root)).json['success']).toBe(true)
      expect(await stored(peer.id)).toMatchObject({ role: 1 })
    })

    test.each([
      ['disabling', { status: 2 }],
      ['a new password', { password: 'password-3' }],
    ])('%s ends the user’s sessions', async (_what, body) => {
      await update(body)
      expect(await isSignedIn(user)).toBe(false)
    })

    test('lowering the role ends the user’s sessions', async () => {
      await update({ id: admin.id, role: 1 }, root)
      expect(await isSignedIn(admin)).toBe(false)
    })
  })

  describe('POST /api/user/manage', () => {
    const manage = (target: TestUser, action: string, as = admin) =>
      call('POST', '/api/user/manage', { username: target.username, action }, as)

    test('root promotes and demotes; the response has role and status', async () => {
      expect((await manage(user, 'promote', root)).data).toMatchObject({
        id: 0,
        role: 10,
        status: 1,
      })
      expect(await stored(user.id)).toMatchObject({ role: 10 })
      expect((await manage(user, 'demote', root)).data).toMatchObject({ role: 1, status: 1 })
      expect(await isSignedIn(user)).toBe(false)
    })

    test('disabling takes effect immediately, for cookies and access tokens', async () => {
      const accessToken = await anAccessToken(server, user.id)
      expect((await manage(user, 'disable')).data).toMatchObject({ role: 1, status: 2 })
      expect(await isSignedIn(user)).toBe(false)
      const answer = await server.call('GET', '/api/user/self', { as: { accessToken } })
      expect(answer).toMatchObject({ status: 200, json: { success: false } })
      expect((await login(user.username)).json['success']).toBe(false)
      expect((await manage(user, 'enable')).data).toMatchObject({ status: 1 })
      expect((await login(user.username)).json['success']).toBe(true)
    })

    // The response gives the reason, not an expired session.
    test('a disabled user’s session gets the reason once; enabling does not revive it', async () => {
      const other = { ...user, cookie: `session=${await server.app.sessions.start(user.id, true)}` }
      await manage(user, 'disable')
      const ask = () => call('GET', '/api/user/self', undefined, user)
      const told = await ask()
      expect(told).toMatchObject({ status: 200, message: errorText('user_disabled', 'zh') })
      expect(String(told.headers['set-cookie'])).toMatch(/^session=;/)
      expect((await ask()).status).toBe(401)
      await manage(user, 'enable')
      expect(await isSignedIn(user)).toBe(false)
      expect(await isSignedIn(other)).toBe(false)
    })

    test('deleting frees the name and keeps the ledger', async () => {
      const accessToken = await anAccessToken(server, user.id)
      expect((await manage(user, 'delete')).data).toMatchObject({ status: 3 })
      expect(await stored(user.id)).toMatchObject({
        status: 3,
        quota: 1000,
        username: expect.stringMatching(/^deleted_[0-9a-f]{32}$/),
      })
      const answer = await server.call('GET', '/api/user/self', { as: { accessToken } })
      expect(answer.json['success']).toBe(false)
      const again = await aUser(server, { username: user.username })
      expect(again.id).toBeGreaterThan(user.id)
    })

    test('a deleted user cannot return in any way', async () => {
      const email = `${randomText(8)}@example.test`
      const gone = await aUser(server, { quota: 1000, email })
      const { key } = await aToken(server, gone.id, { unlimited_quota: true })
      await server.database.write
        .transaction()
        .execute((trx) =>
          bindIdentity(
            trx,
            { provider: 'github', subject: `${gone.id}`, label: 'gone' },
            { userId: gone.id, nowSeconds: 0 },
          ),
        )
      await manage(gone, 'delete')
      const before = await findUser(server.database.read, gone.id)
      const named = { ...gone, username: before?.username ?? '' }
      for (const action of ['enable', 'promote', 'demote', 'disable', 'delete']) {
        const answer = await manage(named, action, root)
        expect(answer.message, `${action}`).toBe(errorText('user_not_found', 'zh'))
      }
      const changes = [{ status: 1 }, { username: 'revived' }, { quota: 5 }, { email: 'a@b.c' }]
      for (const change of changes) {
        const answer = await call('PUT', '/api/user/', { id: gone.id, ...change }, root)
        expect(answer.message).toBe(errorText('not_found', 'zh'))
      }
      const again = await call('DELETE', `/api/user/${gone.id}`, undefined, root)
      expect(again.message).toBe(errorText('not_found', 'zh'))
      await call('POST', '/api/topup', { user_id: gone.id, quota: 5 }, root)
      expect(await findUser(server.database.read, gone.id)).toEqual(before)
      expect(before).toMatchObject({ email: '', github_id: '', quota: 1000 })
      const relay = await server.call('GET', '/v1/models', {
        headers: { authorization: `Bearer sk-${key}` },
      })
      expect(relay.status).toBe(403)
      // The former identity may belong to another user now.
      const { read } = server.database
      expect(await identityOwner(read, { provider: 'github', subject: `${gone.id}` })).toBe(
        undefined,
      )
      expect(await findUsersByEmail(read, email)).toEqual([])
    })

    test('an admin who was banned during the request can change nothing', async () => {
      const row = await findUser(server.database.read, admin.id)
      if (row === undefined) throw new Error('there is no such admin')
      const actor = {
        user: row,
        id: row.id,
        role: row.role,
        sessionHash: '',
        mustChangePassword: false,
        verifiedAtSeconds: 0,
      }
      await manage(admin, 'disable', root)
      const late = { actor, address: '', requestId: '' }
      const { username } = user
      await expect(
        manageUser(server.app, late, { username, action: 'disable' }),
      ).rejects.toMatchObject({ code: 'user_disabled' })
      expect(await stored(user.id)).toMatchObject({ status: UserStatus.enabled })
    })

    test('root cannot be changed', async () => {
      for (const action of ['disable', 'delete', 'demote', 'promote']) {
        expect((await manage(root, action, root)).json['success'], `${action}`).toBe(false)
        expect((await manage(root, action)).json['success'], `${action}`).toBe(false)
      }
      expect(await stored(root.id)).toMatchObject({ role: 100, status: 1 })
    })

    test.each([
      ['no name', { action: 'disable' }],
      ['an empty name, which is nobody and not root', { username: '', action: 'disable' }],
      ['an unknown name', { username: 'nobody', action: 'disable' }],
      ['an unknown action', { username: 'root', action: 'banish' }],
      ['an action of every object', { username: 'root', action: 'constructor' }],
    ])('rejects %s', async (_what, body) => {
      const answer = await call('POST', '/api/user/manage', body, root)
      expect(answer).toMatchObject({ status: 200, json: { success: false } })
    })
  })

  describe('POST /api/topup', () => {
    const topUp = (body: object, as = admin) => call('POST', '/api/topup', body, as)

    test('adds quota, with the remark as log text', async () => {
      const answer = await topUp({ user_id: user.id, quota: 5000, remark: '订单 12' })
      expect(answer.json).toEqual({ success: true, message: '' })
      await topUp({ user_id: user.id, quota: 100_000 })
      expect(await stored(user.id)).toMatchObject({ quota: 106_000 })
      expect((await call('GET', '/api/log/self?type=1')).data).toMatchObject([
        { content: '通过 API 充值 ＄0.200000 额度', quota: 100_000 },
        { content: '订单 12', quota: 5000 },
      ])
    })

    test.each([
      ['a negative amount', { quota: -1 }],
      ['more than there is', { quota: 2 ** 51 }],
      ['what makes the balance too large', { quota: QUOTA_MAX }],
      ['a fraction', { quota: 0.5 }],
      ['a remark of 501 characters', { quota: 1, remark: 'x'.repeat(501) }],
    ])('rejects %s', async (_what, body) => {
      const answer = await topUp({ user_id: user.id, ...body })
      expect(answer).toMatchObject({ status: 200, json: { success: false } })
      expect(await stored(user.id)).toMatchObject({ quota: 1000 })
      expect((await call('GET', '/api/log/self?type=1')).data).toEqual([])
      expect(server.faults).toEqual([])
    })

    // Payment scripts rely on this.
    test('for an unknown user it succeeds and books nothing', async () => {
      expect((await topUp({ user_id: 999_999, quota: 5 })).json['success']).toBe(true)
    })

    test.each([
      ['no user', { quota: 5 }],
      ['a member of another name', { userId: 1, quota: 5 }],
      ['a user 0', { user_id: 0, quota: 5 }],
      ['no amount', { user_id: 1 }],
    ])('a top-up with %s is rejected, so that no payment is lost', async (_what, body) => {
      expect((await topUp(body)).message).toBe(errorText('invalid_parameter', 'zh'))
    })

    test('is not allowed for ordinary users', async () => {
      const answer = await topUp({ user_id: user.id, quota: 5 }, user)
      expect(answer.message).toBe(errorText('role_too_low', 'zh'))
    })
  })

  describe('DELETE /api/user/:id', () => {
    test('deletes users of a lower role and returns an envelope', async () => {
      const answer = await call('DELETE', `/api/user/${user.id}`, undefined, admin)
      expect(answer.json).toEqual({ success: true, message: '' })
      expect(await stored(user.id)).toMatchObject({ status: 3 })
      expect(await isSignedIn(user)).toBe(false)
    })

    test('root cannot delete root, and equals cannot be deleted', async () => {
      const remove = async (id: number, as: TestUser) =>
        (await call('DELETE', `/api/user/${id}`, undefined, as)).json['success']
      expect(await remove(root.id, root)).toBe(false)
      expect(await remove(root.id, admin)).toBe(false)
      expect(await remove(admin.id, admin)).toBe(false)
      expect(await remove(999_999, root)).toBe(false)
    })
  })
})
