import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Refusal } from '../../contract/errors.ts'
import { QUOTA_MAX } from '../../contract/quota.ts'
import { userApi } from '../../contract/user-api.ts'
import {
  DISPLAY_NAME_LENGTH_MAX,
  GROUP_NAME_LENGTH_MAX,
  Role,
  USERNAME_LENGTH_MAX,
} from '../../contract/user.ts'
import { NO_OBJECTS, ODD_MEMBERS, TOO_MUCH } from '../test/corpora/bodies.ts'
import { NUMBERS, STORED_NUMBERS } from '../test/corpora/numbers.ts'
import {
  LOOK_ALIKES,
  STORED_TEXTS,
  TEXTS,
  textsAround,
  UNREADABLE_TEXTS,
} from '../test/corpora/texts.ts'
import { expectPlainAnswer } from '../test/expect-plain-answer.ts'
import { anAdmin, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase, onSqlite } from '../test/for-each-database.ts'
import { forEachValue } from '../test/for-each-value.ts'
import { acceptedBody } from '../test/parse-call.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import { findUser } from './user-store.ts'
import { fieldRefusal, quotaRefusal, rankRefusal, usernameRefusal } from './user.ts'

/** Names that users cannot choose for themselves. */
const INVISIBLE = /\p{C}/u

const isName = (what: string, text: string): boolean =>
  [...text].length <= USERNAME_LENGTH_MAX &&
  text === text.trim() &&
  !INVISIBLE.test(text) &&
  !UNREADABLE_TEXTS.has(what)
const isDisplayName = (what: string, text: string): boolean =>
  [...text].length <= DISPLAY_NAME_LENGTH_MAX && !UNREADABLE_TEXTS.has(what)
const isQuota = (value: number | null): value is number =>
  value !== null && value >= 0 && value <= QUOTA_MAX

const PASSWORDS: readonly (readonly [what: string, password: string, fits: boolean])[] = [
  ['seven characters', 'a'.repeat(7), false],
  ['eight', 'a'.repeat(8), true],
  ['seven wide ones', '密'.repeat(7), false],
  ['72 bytes', '密'.repeat(24), true],
  ['73 bytes', `${'密'.repeat(24)}a`, false],
  ['a mebibyte', 'a'.repeat(2 ** 20), false],
  ['the default one', '123456', false],
  ['spaces', ' '.repeat(8), true],
  ['emoji', '👩'.repeat(8), true],
]

describe('what may be written of a user, by its shape and its rules', () => {
  const ofSelf = (members: string, rule: typeof fieldRefusal = fieldRefusal) =>
    acceptedBody(userApi.updateSelf, `{${members}}`, rule)
  const byAdmin = (
    members: string,
    rule: (body: NonNullable<Awaited<ReturnType<typeof anyUpdate>>>) => Refusal | null,
  ) => acceptedBody(userApi.update, `{"id":7,${members}}`, rule)
  const anyUpdate = (members: string) =>
    acceptedBody(userApi.update, `{"id":7,${members}}`, () => null)

  test('a name that shows all that is in it', async () => {
    await forEachValue(TEXTS, async (what, text) => {
      const body = await ofSelf(
        `"username":${JSON.stringify(text)}`,
        (fields) => fieldRefusal(fields) ?? usernameRefusal(fields.username ?? ''),
      )
      expect(body?.username).toBe(isName(what, text) ? text : undefined)
    })
    await forEachValue(textsAround(USERNAME_LENGTH_MAX), async (_what, text, fits) => {
      expect((await ofSelf(`"username":"${text}"`)) !== null).toBe(fits)
    })
  })

  test('a display name', async () => {
    await forEachValue(TEXTS, async (what, text) => {
      const members = `"display_name":${JSON.stringify(text)}`
      const expected = isDisplayName(what, text) ? text : undefined
      expect((await ofSelf(members))?.display_name).toBe(expected)
      expect((await byAdmin(members, fieldRefusal))?.display_name).toBe(expected)
    })
    await forEachValue(textsAround(DISPLAY_NAME_LENGTH_MAX), async (_what, text, fits) => {
      expect((await ofSelf(`"display_name":"${text}"`)) !== null).toBe(fits)
    })
  })

  test('a password that is not a default', () =>
    forEachValue(PASSWORDS, async (_what, password, fits) => {
      const members = `"password":${JSON.stringify(password)}`
      expect((await ofSelf(members)) !== null).toBe(fits)
      expect((await byAdmin(members, fieldRefusal)) !== null).toBe(fits)
    }))

  test('a quota that the books can hold', () =>
    forEachValue(NUMBERS, async (_what, json, value) => {
      const body = await byAdmin(`"quota":${json}`, ({ quota = 0 }) => quotaRefusal(quota))
      expect(body === null ? null : Number(body.quota) + 0).toBe(isQuota(value) ? value : null)
    }))

  test('a role and a status that exist, below the own one', () =>
    forEachValue(NUMBERS, async (_what, json, value) => {
      const admin = { id: 1, role: Role.admin }
      const target = { id: 7, role: Role.user, status: 1 }
      const isFine = value === 0 || value === 1
      for (const member of ['role', 'status']) {
        const body = await byAdmin(`"${member}":${json}`, (change) =>
          rankRefusal(admin, target, change),
        )
        // Only admins disable users.
        const isDisabling = member === 'status' && value === 2
        expect([member, body !== null]).toEqual([member, isFine || isDisabling])
      }
    }))
})

/** Profiles by users and edits by admins: stored completely, or not at all. */
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

  test('any name of one’s own', () =>
    forEachValue(
      [...STORED_TEXTS, ...TEXTS.filter(([what]) => LOOK_ALIKES.has(what))],
      async (what, text) => {
        user = await aUser(server)
        const { isDone, row } = await updateSelf(`"username":${JSON.stringify(text)}`)
        expect(isDone).toBe(isName(what, text) && !LOOK_ALIKES.has(what))
        // Nothing is no change.
        if (isDone) expect(row?.username).toBe(text || user.username)
        await server.database.write.deleteFrom('users').where('id', '=', user.id).execute()
      },
    ))

  test('any display name, by self and by an admin', () =>
    forEachValue(STORED_TEXTS, async (what, text) => {
      for (const change of [updateSelf, update]) {
        const { isDone, row } = await change(`"display_name":${JSON.stringify(text)}`)
        expect(isDone).toBe(isDisplayName(what, text))
        const isCleared = text === '' && change === updateSelf
        if (isDone) expect(row?.display_name).toBe(isCleared ? user.username : text)
      }
    }))

  describe('a password', () => {
    test('that fits is taken', () =>
      forEachValue(PASSWORDS, async (_what, password, fits) => {
        // Another password ends the sessions.
        user = await aUser(server)
        for (const change of [updateSelf, update]) {
          expect((await change(`"password":${JSON.stringify(password)}`)).isDone).toBe(fits)
        }
      }))

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
    test('any quota', () =>
      forEachValue(STORED_NUMBERS, async (_what, json, value) => {
        const before = await stored()
        const { isDone, row } = await update(`"quota":${json}`)
        expect(isDone).toBe(isQuota(value))
        expect(row?.quota).toBe(isQuota(value) ? value + 0 : before?.quota)
      }))

    test('any quota of a top-up', () =>
      forEachValue(STORED_NUMBERS, async (_what, json, value) => {
        user = await aUser(server, { quota: 500 })
        const body = `{"user_id":${user.id},"quota":${json}}`
        const { isDone, row } = await sent('POST', '/api/topup', body)
        const fits = value !== null && value >= 0 && value + 500 <= QUOTA_MAX
        expect(isDone).toBe(fits)
        expect(row?.quota).toBe(fits ? value + 500 : 500)
      }))

    test('any role and any status', () =>
      forEachValue(STORED_NUMBERS, async (_what, json, value) => {
        for (const member of ['role', 'status']) {
          const { isDone, row } = await update(`"${member}":${json}`)
          expect([member, isDone]).toEqual([member, value === 0 || value === 1])
          expect(row).toMatchObject({ role: 1, status: 1 })
        }
      }))

    test.each([0, 1, 2, 9, 10, 11, 99, 100, 101])('role %i, by root', async (role) => {
      const { isDone, row } = await update(`"role":${role}`, root)
      expect(isDone).toBe([0, 1, 10, 100].includes(role))
      expect(row?.role).toBe(isDone && role > 0 ? role : 1)
      // The ledger is compared at the end, so there must be no other root.
      await server.database.write.deleteFrom('sessions').where('user_id', '=', user.id).execute()
    })

    test('of an unknown id', () =>
      forEachValue(STORED_NUMBERS, async (_what, json, value) => {
        if (value !== null && value > 0 && (await stored(value)) !== undefined) return
        const body = `{"id":${json},"display_name":"x"}`
        expect((await sent('PUT', '/api/user/', body)).isDone).toBe(false)
      }))
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

  test('an admin writes no address', () =>
    forEachValue(STORED_TEXTS, async (what, text) => {
      const { isDone } = await update(`"email":${JSON.stringify(text)}`)
      expect(isDone).toBe(what === 'nothing')
    }))

  describe('who is managed, and how', () => {
    const manage = (username: string, action: string) =>
      sent('POST', '/api/user/manage', JSON.stringify({ username, action }), root)

    // Another root user cannot be changed, the one named root either.
    test('no user whose name is only similar', () =>
      forEachValue(STORED_TEXTS, async (_what, text) => {
        expect((await manage(text, 'enable')).isDone).toBe(false)
      }))

    test('a user by the complete name', async () => {
      expect((await manage(user.username, 'enable')).isDone).toBe(true)
    })
  })

  describe('a user whose name is longer than allowed', () => {
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

/** Tests that do not depend on the database. */
onSqlite('hostile bodies for users', (open) => {
  let server: TestServer
  let root: TestUser
  let user: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
    user = await aUser(server, { quota: 500 })
  })
  afterAll(() => server.close())
  afterEach(() => {
    expect(server.faults.splice(0)).toEqual([])
  })

  const stored = () => findUser(server.database.read, user.id)
  const isDone = (method: string, path: string, body: string | Buffer, as = root) =>
    expectPlainAnswer((headers) => server.call(method, path, { as, body, headers }))

  test.each([
    ['PUT', '/api/user/self'],
    ['POST', '/api/user/'],
    ['PUT', '/api/user/'],
    ['POST', '/api/user/manage'],
    ['POST', '/api/topup'],
  ])('%s %s takes objects only', async (method, path) => {
    const before = await stored()
    await forEachValue(NO_OBJECTS, async (_what, body) => {
      expect(await isDone(method, path, body, user)).toBe(false)
      expect(await isDone(method, path, body)).toBe(false)
    })
    expect(await stored()).toEqual(before)
  })

  test('unknown members change nothing, or are too many', () =>
    forEachValue(ODD_MEMBERS, async (what, members) => {
      const before = await stored()
      const fits = !TOO_MUCH.has(what)
      const byAdmin = `{"id":${user.id},"display_name":"odd",${members}}`
      expect(await isDone('PUT', '/api/user/', byAdmin)).toBe(fits)
      expect(await stored()).toEqual(fits ? { ...before, display_name: 'odd' } : before)
      const own = `{"display_name":"own",${members},"role":100,"quota":1,"id":1}`
      expect(await isDone('PUT', '/api/user/self', own, user)).toBe(fits)
      expect(await stored()).toEqual(fits ? { ...before, display_name: 'own' } : before)
    }))

  test('no action but those that exist', () =>
    forEachValue(
      [
        ...TEXTS,
        ...['PROMOTE', ' promote', 'promote\n', 'promote,delete'].map(
          (action) => [action, action] as const,
        ),
      ],
      async (_what, action) => {
        const before = await stored()
        const body = JSON.stringify({ username: user.username, action })
        expect(await isDone('POST', '/api/user/manage', body)).toBe(false)
        expect(await stored()).toEqual(before)
      },
    ))
})
