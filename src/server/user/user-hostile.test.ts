import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { QUOTA_MAX } from '../../contract/quota.ts'
import {
  DISPLAY_NAME_LENGTH_MAX,
  GROUP_NAME_LENGTH_MAX,
  Role,
  USERNAME_LENGTH_MAX,
} from '../../contract/user.ts'
import { NO_OBJECTS, ODD_MEMBERS, TOO_MUCH } from '../test/corpora/bodies.ts'
import { NUMBERS } from '../test/corpora/numbers.ts'
import { LOOK_ALIKES, TEXTS, textsAround, UNREADABLE_TEXTS } from '../test/corpora/texts.ts'
import { expectPlainAnswer } from '../test/expect-plain-answer.ts'
import { anAdmin, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { findUser } from './user-store.ts'

/** Nobody may be called so who gives the name to himself. */
const INVISIBLE = /\p{C}/u

/** What users write about themselves and admins about users: all of it is stored, or nothing. */
forEachDatabase('hostile input to users', (open) => {
  let server: TestServer
  let root: TestUser
  let admin: TestUser
  let user: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
    admin = await anAdmin(server)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    user = await aUser(server, { quota: 500 })
  })
  afterEach(() => {
    expect(server.faults.splice(0)).toEqual([])
  })

  const stored = (id = user.id) => findUser(server.database.read, id)

  /** Sends JSON text; answers whether it was accepted, and the row. A refusal leaves it alone. */
  async function sent(method: string, path: string, body: string | Buffer, as = admin) {
    const before = await stored()
    const isDone = await expectPlainAnswer((headers) =>
      server.call(method, path, { as, body, headers }),
    )
    const row = await stored()
    if (!isDone) expect(row).toEqual(before)
    return { isDone, row }
  }
  const update = (members: string, as = admin) =>
    sent('PUT', '/api/user/', `{"id":${user.id},${members}}`, as)
  const updateSelf = (members: string) => sent('PUT', '/api/user/self', `{${members}}`, user)

  describe('a name of one’s own', () => {
    test.each(TEXTS)('%s', async (what, text) => {
      const { isDone, row } = await updateSelf(`"username":${JSON.stringify(text)}`)
      const isName =
        [...text].length <= USERNAME_LENGTH_MAX &&
        text === text.trim() &&
        !INVISIBLE.test(text) &&
        !LOOK_ALIKES.has(what) &&
        !UNREADABLE_TEXTS.has(what)
      expect(isDone).toBe(isName)
      // Nothing is no change.
      if (isDone) expect(row?.username).toBe(text || user.username)
      await server.database.write.deleteFrom('users').where('id', '=', user.id).execute()
    })

    test.each(textsAround(USERNAME_LENGTH_MAX))('%s', async (_what, text, fits) => {
      const { isDone } = await updateSelf(`"username":"${text}"`)
      expect(isDone).toBe(fits)
      await server.database.write.deleteFrom('users').where('id', '=', user.id).execute()
    })
  })

  describe.each(['self', 'admin'])('a display name, by %s', (by) => {
    const change = (members: string) => (by === 'self' ? updateSelf(members) : update(members))

    test.each(TEXTS)('%s', async (what, text) => {
      const { isDone, row } = await change(`"display_name":${JSON.stringify(text)}`)
      const fits = [...text].length <= DISPLAY_NAME_LENGTH_MAX && !UNREADABLE_TEXTS.has(what)
      expect(isDone).toBe(fits)
      const isCleared = text === '' && by === 'self'
      if (isDone) expect(row?.display_name).toBe(isCleared ? user.username : text)
    })

    test.each(textsAround(DISPLAY_NAME_LENGTH_MAX))('%s', async (_what, text, fits) => {
      expect((await change(`"display_name":"${text}"`)).isDone).toBe(fits)
    })
  })

  describe('a password', () => {
    test.each([
      ['seven characters', 'a'.repeat(7), false],
      ['eight', 'a'.repeat(8), true],
      ['seven wide ones', '密'.repeat(7), false],
      ['72 bytes', '密'.repeat(24), true],
      ['73 bytes', `${'密'.repeat(24)}a`, false],
      ['a mebibyte', 'a'.repeat(2 ** 20), false],
      ['the default one', '123456', false],
      ['spaces', ' '.repeat(8), true],
      ['emoji', '👩'.repeat(8), true],
    ])('of %s', async (_what, password, fits) => {
      for (const change of [updateSelf, update]) {
        expect((await change(`"password":${JSON.stringify(password)}`)).isDone).toBe(fits)
      }
    })

    test('counts to its last byte', async () => {
      const long = 'a'.repeat(71)
      await update(`"password":"${long}b"`)
      const login = async (password: string) =>
        (
          await server.call('POST', '/api/user/login', {
            body: { username: user.username, password },
          })
        ).json['success']
      expect([await login(`${long}b`), await login(`${long}c`), await login(long)]).toEqual([
        true,
        false,
        false,
      ])
    })
  })

  describe('figures, by an admin', () => {
    test.each(NUMBERS)('quota: %s', async (_what, json, value) => {
      const { isDone, row } = await update(`"quota":${json}`)
      const fits = value !== null && value >= 0 && value <= QUOTA_MAX
      expect(isDone).toBe(fits)
      expect(row?.quota).toBe(fits ? value + 0 : 500)
    })

    test.each(NUMBERS)('quota of a top-up: %s', async (_what, json, value) => {
      const body = `{"user_id":${user.id},"quota":${json}}`
      const { isDone, row } = await sent('POST', '/api/topup', body)
      const fits = value !== null && value >= 0 && value + 500 <= QUOTA_MAX
      expect(isDone).toBe(fits)
      expect(row?.quota).toBe(fits ? value + 500 : 500)
    })

    test.each(NUMBERS)('role: %s', async (_what, json, value) => {
      const { isDone, row } = await update(`"role":${json}`)
      expect(isDone).toBe(value === 0 || value === 1)
      expect(row?.role).toBe(1)
    })

    test.each([0, 1, 2, 9, 10, 11, 99, 100, 101])('role %i, by root', async (role) => {
      const { isDone, row } = await update(`"role":${role}`, root)
      expect(isDone).toBe([0, 1, 10, 100].includes(role))
      expect(row?.role).toBe(isDone && role > 0 ? role : 1)
      // The books are compared at the end; nobody else should be root.
      await server.database.write.deleteFrom('sessions').where('user_id', '=', user.id).execute()
    })

    test.each(NUMBERS)('status: %s', async (_what, json, value) => {
      const { isDone } = await update(`"status":${json}`)
      expect(isDone).toBe(value === 0 || value === 1)
    })

    test.each(NUMBERS)('an id: %s', async (_what, json, value) => {
      if (value !== null && value > 0 && (await stored(value)) !== undefined) return
      const body = `{"id":${json},"display_name":"x"}`
      expect((await sent('PUT', '/api/user/', body)).isDone).toBe(false)
    })
  })

  describe('groups', () => {
    const long = 'g'.repeat(GROUP_NAME_LENGTH_MAX)
    const twenty = Array.from({ length: 20 }, (_, at) => `g${at}`).join()
    test.each([
      ['a,,b', true, 'a,b'],
      [',', true, 'default'],
      [' a , b ', true, 'a,b'],
      ['a,a', true, 'a'],
      ['__proto__,constructor', true, '__proto__,constructor'],
      ['nobody-serves-this', true, 'nobody-serves-this'],
      [long, true, long],
      [`${long}g`, false, ''],
      [twenty, true, twenty],
      [`${twenty},more`, false, ''],
      ['a\u0000b', false, ''],
    ])('%j', async (group, isFine, expected) => {
      const { isDone, row } = await update(`"group":${JSON.stringify(group)}`)
      expect(isDone).toBe(isFine)
      expect(row?.group).toBe(isFine ? expected : 'default')
    })
  })

  test.each(TEXTS)('an address by an admin: %s', async (what, text) => {
    const { isDone } = await update(`"email":${JSON.stringify(text)}`)
    expect(isDone).toBe(what === 'nothing')
  })

  describe.each([
    ['PUT', '/api/user/self'],
    ['POST', '/api/user/'],
    ['PUT', '/api/user/'],
    ['POST', '/api/user/manage'],
    ['POST', '/api/topup'],
  ])('%s %s', (method, path) => {
    test.each(NO_OBJECTS)('with %s for a body', async (_what, body) => {
      expect((await sent(method, path, body)).isDone).toBe(false)
    })
  })

  test.each(ODD_MEMBERS)('members that nobody asked for: %s', async (what, members) => {
    const before = await stored()
    const { isDone, row } = await update(`"display_name":"odd",${members}`)
    const fits = !TOO_MUCH.has(what)
    expect(isDone).toBe(fits)
    expect(row).toEqual(fits ? { ...before, display_name: 'odd' } : before)
    const own = await updateSelf(`"display_name":"own",${members},"role":100,"quota":1,"id":1`)
    expect(own.isDone).toBe(fits)
    expect(own.row).toEqual(fits ? { ...before, display_name: 'own' } : before)
  })

  describe('who is managed, and how', () => {
    const manage = (username: string, action: string) =>
      sent('POST', '/api/user/manage', JSON.stringify({ username, action }), root)

    // Another root user cannot be changed, the one named root either.
    test.each(TEXTS)('somebody named %s', async (_what, text) => {
      expect((await manage(text, 'enable')).isDone).toBe(false)
    })

    test('somebody by the whole name', async () => {
      expect((await manage(user.username, 'enable')).isDone).toBe(true)
    })

    test.each(TEXTS)('the action %s', async (_what, text) => {
      expect((await manage(user.username, text)).isDone).toBe(false)
    })

    test.each(['PROMOTE', ' promote', 'promote\n', 'promote,delete'])(
      'the action %j',
      async (action) => {
        expect((await manage(user.username, action)).isDone).toBe(false)
      },
    )
  })

  describe('somebody whose name is longer than is allowed today', () => {
    test('changes the rest, and is changed by admins, without another name', async () => {
      const username = 'github_1000000'
      const change = { username, display_name: 'x'.repeat(30) }
      await server.database.write
        .updateTable('users')
        .set(change)
        .where('id', '=', user.id)
        .execute()
      const echo = `"username":"${username}","display_name":"${change.display_name}"`
      expect((await updateSelf(`${echo},"password":"${PASSWORD}"`)).isDone).toBe(true)
      expect((await update(`${echo},"group":"vip"`)).row).toMatchObject({ ...change, group: 'vip' })
      expect((await updateSelf(`"username":"${username}x"`)).isDone).toBe(false)
    })
  })
})
