import { once } from 'node:events'
import http from 'node:http'
import { json as jsonOf } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { anAccessToken, aToken, aUser, PASSWORD, type TestUser } from '../test/factories.ts'
import { forEachDatabase, type DatabaseLocation } from '../test/for-each-database.ts'
import { mailThrough, startMailbox } from '../test/mailbox.ts'
import { startTestServer, type TestCaller, type TestServer } from '../test/test-app.ts'
import { expectWithinASecond } from '../test/within-a-second.ts'
import { findUser } from '../user/user-store.ts'

/**
 * On PostgreSQL two processes share the database; on SQLite a single process takes both roles.
 * Access revoked on one must end on the other, for all ways to authenticate.
 */
forEachDatabase('revoked access', (open) => {
  let location: DatabaseLocation
  let told: TestServer
  let other: TestServer
  let root: TestUser
  let user: TestUser
  let accessToken: string
  let key: string
  beforeAll(async () => {
    location = await open()
    told = await startTestServer(() => Promise.resolve(location))
    other =
      location.engine === 'postgres' ? await startTestServer(() => Promise.resolve(location)) : told
    root = await aUser(told, { role: Role.root })
  })
  afterAll(async () => {
    if (other !== told) await other.close()
    await told.close()
  })
  beforeEach(async () => {
    user = await aUser(told, { role: Role.admin, quota: 1000 })
    accessToken = await anAccessToken(told, user.id)
    key = (await aToken(told, user.id, { unlimited_quota: true })).key
    // Fills the caches of both processes.
    expect(await ways()).toEqual({ cookie: true, accessToken: true, key: true, admin: true })
  })

  const opens = async (as: TestCaller, path = '/api/user/self'): Promise<boolean> =>
    (await other.call('GET', path, { as })).json['success'] === true

  /** Ways to authenticate that work on the other process. */
  async function ways() {
    const models = await other.call('GET', '/v1/models', {
      headers: { authorization: `Bearer sk-${key}` },
    })
    return {
      cookie: await opens({ cookie: user.cookie }),
      accessToken: await opens({ accessToken }),
      key: models.status === 200,
      admin: await opens({ accessToken }, '/api/user/'),
    }
  }

  async function expectSoon(expected: Partial<Awaited<ReturnType<typeof ways>>>): Promise<void> {
    await expectWithinASecond(async () => expect(await ways()).toMatchObject(expected))
  }

  const manage = (action: string) =>
    told.call('POST', '/api/user/manage', { as: root, body: { username: user.username, action } })

  const NOTHING = { cookie: false, accessToken: false, key: false, admin: false }

  test('a ban ends all access; lifting it restores all but the sessions', async () => {
    await manage('disable')
    await expectSoon(NOTHING)
    await manage('enable')
    await expectSoon({ cookie: false, accessToken: true, key: true })
  })

  test('deleting a user ends all access', async () => {
    await manage('delete')
    await expectSoon(NOTHING)
  })

  test('deleting the own account ends all access', async () => {
    await told.call('DELETE', '/api/user/self', { as: user })
    await expectSoon(NOTHING)
  })

  test('a demotion removes the rights, not the access', async () => {
    await manage('demote')
    await expectSoon({ admin: false, accessToken: true, key: true })
  })

  test('a new password ends the other sessions and the access token', async () => {
    const body = { username: user.username, password: PASSWORD }
    const signedIn = await other.call('POST', '/api/user/login', { body })
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? ''
    await told.call('PUT', '/api/user/self', { as: { cookie }, body: { password: 'password-2' } })
    await expectSoon({ cookie: false, accessToken: false, key: true })
    expect(await opens({ cookie })).toBe(true)
  })

  test('a password set by an administrator ends them too', async () => {
    const body = { id: user.id, password: 'password-2' }
    await told.call('PUT', '/api/user/', { as: root, body })
    await expectSoon({ cookie: false, accessToken: false, key: true })
  })

  test('a session that is being created with the old password is invalid', async () => {
    const before = await findUser(told.database.read, user.id)
    await told.call('PUT', '/api/user/', {
      as: root,
      body: { id: user.id, password: 'password-2' },
    })
    await expect(
      other.app.sessions.start(user.id, false, { comparedWith: before }),
    ).rejects.toMatchObject({
      code: 'wrong_credentials',
    })
    await manage('disable')
    const banned = await findUser(told.database.read, user.id)
    await expect(
      other.app.sessions.start(user.id, false, { comparedWith: banned }),
    ).rejects.toMatchObject({
      code: 'wrong_credentials',
    })
  })

  test.each([
    ['a token', 'POST', '/api/token/', { name: 'late' }],
    ['a password', 'PUT', '/api/user/self', { password: 'password-3' }],
    ['a code', 'POST', '/api/redemption/', { name: 'late', quota: 1, count: 1 }],
  ])(
    'a request whose body arrives after the revocation gets no %s',
    async (_what, method, path, body) => {
      const late = holdBack(other.url, { method, path, cookie: user.cookie ?? '', body })
      await late.isWaiting
      await told.call('PUT', '/api/user/', {
        as: root,
        body: { id: user.id, password: 'password-2' },
      })
      expect(await late.finish()).toMatchObject({ success: false })
      const body2 = { username: user.username, password: 'password-2' }
      expect((await other.call('POST', '/api/user/login', { body: body2 })).json['success']).toBe(
        true,
      )
    },
  )

  test('signing out ends the session', async () => {
    await told.call('GET', '/api/user/logout', { as: user })
    await expectSoon({ cookie: false, accessToken: true })
  })

  test('a new access token revokes the old one', async () => {
    await told.call('GET', '/api/user/token', { as: user })
    await expectSoon({ cookie: true, accessToken: false })
  })

  describe('codes mailed by one process', () => {
    test('are accepted by the other, once', async () => {
      const mailbox = await startMailbox()
      await mailThrough(told, mailbox)
      const email = `either-${user.username}@example.test`
      await told.call('GET', `/api/verification?email=${email}`)
      const text = (await mailbox.next()).parsed.text ?? ''
      const [code = ''] = /^[2-9A-Z]{6}$/m.exec(text) ?? []
      const path = `/api/oauth/email/bind?email=${email}&code=${code}`
      const answers = await Promise.all([
        other.call('GET', path, { as: user }),
        told.call('GET', path, { as: root }),
      ])
      expect(answers.map(({ json }) => json['success']).toSorted()).toEqual([false, true])
      await mailbox.close()
    })
  })
})

/** Sends a request whose last byte is sent on demand; resolves to the response. */
function holdBack(
  url: string,
  { method, path, cookie, body }: { method: string; path: string; cookie: string; body: object },
) {
  const text = JSON.stringify(body)
  const headers = { cookie, 'content-type': 'application/json', 'content-length': text.length }
  const request = http.request(url + path, { method, headers })
  const answered = once(request, 'response')
  return {
    isWaiting: new Promise<void>((resolve, reject) => {
      request.write(text.slice(0, -1), (error) => (error ? reject(error) : resolve()))
    }),
    async finish(): Promise<unknown> {
      request.end(text.slice(-1))
      const [response] = await answered
      return jsonOf(response)
    },
  }
}
