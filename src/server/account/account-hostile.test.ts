import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { USERNAME_LENGTH_MAX } from '../../contract/user.ts'
import { NO_OBJECTS, ODD_MEMBERS, TOO_MUCH } from '../test/corpora/bodies.ts'
import { wrongAccessTokens, wrongCookies } from '../test/corpora/identities.ts'
import { LOOK_ALIKES, STORED_TEXTS, TEXTS, UNREADABLE_TEXTS } from '../test/corpora/texts.ts'
import { expectPlainAnswer } from '../test/expect-plain-answer.ts'
import { anAccessToken, aToken, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase, onSqlite } from '../test/for-each-database.ts'
import { forEachValue } from '../test/for-each-value.ts'
import { mailThrough, startMailbox, type Mailbox } from '../test/mailbox.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

/** Hostile input to sign-in, registration and password reset. */
forEachDatabase('hostile visitors', (open) => {
  let server: TestServer
  let mailbox: Mailbox

  beforeAll(async () => {
    server = await startTestServer(open)
    mailbox = await startMailbox()
    await mailThrough(server, mailbox)
    await aUser(server, { email: 'known@example.test' })
  })
  afterAll(async () => {
    await server.close()
    await mailbox.close()
  })
  afterEach(() => {
    expect(server.faults.splice(0)).toEqual([])
  })

  const send = (path: string, body: unknown) =>
    expectPlainAnswer((headers) => server.call('POST', path, { body, headers }))
  const users = async () =>
    server.database.read.selectFrom('users').selectAll().orderBy('id').execute()
  const text = (members: Record<string, string>) => JSON.stringify(members)

  describe('signing in', () => {
    test('as anybody, with any password', () =>
      forEachValue(STORED_TEXTS, async (_what, word) => {
        // Ten wrong passwords of one account would shut it out.
        const { username } = await aUser(server)
        for (const body of [
          { username: word, password: PASSWORD },
          { username, password: word },
        ]) {
          expect(await send('/api/user/login', text(body))).toBe(false)
        }
      }))

    test('over a session ends that one', async () => {
      const { cookie, username } = await aUser(server)
      const body = { username, password: PASSWORD }
      await server.call('POST', '/api/user/login', { as: { cookie }, body })
      expect((await server.call('GET', '/api/user/self', { as: { cookie } })).status).toBe(401)
    })
  })

  describe('registering', () => {
    const register = async (members: string) => {
      const before = await users()
      const isMade = await send('/api/user/register', `{"password":"${PASSWORD}",${members}}`)
      const after = await users()
      expect(after.slice(0, before.length)).toEqual(before)
      expect(after.length - before.length).toBe(isMade ? 1 : 0)
      return { isMade, made: isMade ? after.at(-1) : undefined }
    }

    // Names are those of `user-hostile.test.ts`.
    test('as anybody who is not there yet', () =>
      forEachValue(
        [...STORED_TEXTS, ...TEXTS.filter(([what]) => LOOK_ALIKES.has(what))],
        async (what, name) => {
          const { isMade, made } = await register(`"username":${JSON.stringify(name)}`)
          const isName =
            name !== '' &&
            name === name.trim() &&
            [...name].length <= USERNAME_LENGTH_MAX &&
            !/\p{C}/u.test(name) &&
            !UNREADABLE_TEXTS.has(what)
          const isFree = !LOOK_ALIKES.has(what)
          expect(isMade).toBe(isName && isFree)
          if (!isMade) return
          expect(made).toMatchObject({ username: name, display_name: name, role: 1 })
        },
      ))

    test('invited by anything', () =>
      forEachValue(STORED_TEXTS, async (what, code) => {
        const { isMade, made } = await register(
          `"username":"i${STORED_TEXTS.findIndex(([name]) => name === what)}","aff_code":${JSON.stringify(code)}`,
        )
        const isText = !['the character 0', 'half a character', '64 KiB', 'a mebibyte'].includes(
          what,
        )
        expect(isMade).toBe(isText)
        if (isMade) expect(made?.inviter_id).toBe(0)
      }))
  })

  test('resetting with anything', () =>
    forEachValue(STORED_TEXTS, async (_what, value) => {
      const wrong = [
        { email: 'known@example.test', token: value },
        { email: value, token: 'f'.repeat(32) },
      ]
      for (const body of wrong) expect(await send('/api/user/reset', text(body))).toBe(false)
    }))

  describe('credentials', () => {
    test('that are not an access token: 200 and one sentence', async () => {
      const owner = await aUser(server)
      // As the product makes them.
      const { data } = await server.call('GET', '/api/user/token', { as: owner })
      const good = String(data)
      const self = (authorization: string) =>
        server.call('GET', '/api/user/self', { headers: { authorization } })
      expect((await self(good)).data).toMatchObject({ id: owner.id })
      for (const [what, header] of wrongAccessTokens(good)) {
        // All digits: there is no other case.
        if (header === good) continue
        const answer = await self(header)
        expect([what, answer.status, answer.message]).toEqual([
          what,
          200,
          errorText('access_token_invalid', 'zh'),
        ])
      }
    })

    test('that are not a session: 401', async () => {
      const { cookie } = await aUser(server)
      for (const [what, wrong] of wrongCookies(cookie.slice('session='.length))) {
        const answer = await server.call('GET', '/api/user/self', { as: { cookie: wrong } })
        expect([what, answer.status]).toEqual([what, 401])
      }
      // The framework uses the first of two cookies with the same name; their values are never
      // mixed.
      const two = await server.call('GET', '/api/user/self', {
        as: { cookie: `session=made.up; ${cookie}` },
      })
      expect([200, 401]).toContain(two.status)
    })

    test('of the relay open nothing here, and the other way round', async () => {
      const owner = await aUser(server)
      const { key } = await aToken(server, owner.id, { unlimited_quota: true })
      for (const authorization of [key, `sk-${key}`, `Bearer sk-${key}`]) {
        const answer = await server.call('GET', '/api/user/self', { headers: { authorization } })
        expect(answer.message).toBe(errorText('access_token_invalid', 'zh'))
      }
      const accessToken = await anAccessToken(server, owner.id)
      const authorization = `Bearer ${accessToken}`
      const models = await server.call('GET', '/v1/models', { headers: { authorization } })
      expect(models.status).toBe(401)
    })

    test('in the address count for nothing', async () => {
      const owner = await aUser(server)
      const token = await anAccessToken(server, owner.id)
      for (const query of ['access_token', 'token', 'api-key', 'session', 'authorization']) {
        const answer = await server.call('GET', `/api/user/self?${query}=${token}`)
        expect([query, answer.status]).toEqual([query, 401])
      }
    })
  })
})

/** Tests that do not depend on the database. */
onSqlite('hostile visitors’ bodies and addresses', (open) => {
  let server: TestServer
  let mailbox: Mailbox
  let user: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    mailbox = await startMailbox()
    await mailThrough(server, mailbox)
    user = await aUser(server, { email: 'known@example.test' })
  })
  afterAll(async () => {
    await server.close()
    await mailbox.close()
  })
  afterEach(() => {
    expect(server.faults.splice(0)).toEqual([])
  })

  const send = (path: string, body: unknown) =>
    expectPlainAnswer((headers) => server.call('POST', path, { body, headers }))
  const get = (path: string) =>
    expectPlainAnswer((headers) => server.call('GET', path, { headers }))

  test.each(['/api/user/login', '/api/user/register', '/api/user/reset'])(
    'POST %s takes objects only',
    (path) =>
      forEachValue(NO_OBJECTS, async (_what, body) => expect(await send(path, body)).toBe(false)),
  )

  test('unknown members raise no rights, and their number is limited', () =>
    forEachValue(ODD_MEMBERS, async (what, members) => {
      const body = `{"username":"${user.username}","password":"${PASSWORD}",${members}}`
      expect(await send('/api/user/login', body)).toBe(!TOO_MUCH.has(what))
      if (!TOO_MUCH.has(what)) {
        const answer = await server.call('POST', '/api/user/login', { body })
        expect(answer.data).toMatchObject({ id: user.id, role: 1 })
      }
      const username = `odd${ODD_MEMBERS.findIndex(([odd]) => odd === what)}`
      const more = '"role":100,"quota":5,"status":3,"id":1,"group":"vip"'
      await send(
        '/api/user/register',
        `{"username":"${username}","password":"${PASSWORD}",${more},${members}}`,
      )
      const made = await server.database.read
        .selectFrom('users')
        .selectAll()
        .where('username', '=', username)
        .executeTakeFirst()
      const plain = { username, role: 1, quota: 0, status: 1, group: 'default' }
      if (TOO_MUCH.has(what)) expect(made).toBeUndefined()
      else expect(made).toMatchObject(plain)
    }))

  const WRONG_ADDRESSES = [
    ...TEXTS.map(([, address]) => address).filter((address) => address.length < 4000),
    'a@b@c',
    '"a b"@x.example',
    'a@[127.0.0.1]',
    'a@x.example;b@x.example',
    'a@x.example,b@x.example',
    '<a@x.example>',
    'A <a@x.example>',
    'a@x.example\r\nBcc: b@x.example',
    'a@x.example\u0000',
    `${'a'.repeat(250)}@x.example`,
    '@x.example',
    'a@',
    'a b@x.example',
  ].filter((address) => address.isWellFormed())

  describe.each(['/api/verification', '/api/reset_password'])('mail by %s', (path) => {
    beforeEach(() => {
      mailbox.mails.length = 0
    })

    test('is not sent to an invalid address', () =>
      forEachValue(
        WRONG_ADDRESSES.map((address) => [address] as const),
        async (address) => {
          expect(await get(`${path}?email=${encodeURIComponent(address)}`)).toBe(false)
          await server.app.background.idle()
          expect(mailbox.mails).toEqual([])
        },
      ))

    test('an address given twice counts once, and the first', async () => {
      const query = 'email=known@example.test&email=other@example.test&email[]=third@example.test'
      expect(await get(`${path}?${query}`)).toBe(true)
      await server.app.background.idle()
      const receivers = mailbox.mails.flatMap((mail) => mail.receivers)
      expect(receivers.filter((address) => address !== 'known@example.test')).toEqual([])
    })

    test('links lead to the configured address for every requested host', async () => {
      await server.app.options.set('ServerAddress', 'https://gate.example')
      const headers = { host: 'evil.localhost', 'x-forwarded-host': 'evil.example' }
      await server.call('GET', `${path}?email=known@example.test`, { headers })
      await server.app.background.idle()
      expect(mailbox.mails).toHaveLength(1)
      expect(mailbox.mails[0]?.raw).not.toContain('evil')
      await server.app.options.set('ServerAddress', '')
    })
  })
})
