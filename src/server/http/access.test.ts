import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { Access, Endpoint } from '../../contract/endpoint.ts'
import { errorText, type ErrorCode } from '../../contract/errors.ts'
import { Role, UserStatus } from '../../contract/user.ts'
import { addressOf, labelledEndpoints, mayEndCaller } from '../test/endpoint-call.ts'
import { anAccessToken, aUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { forEachValue } from '../test/for-each-value.ts'
import { startTestServer, type TestCaller, type TestServer } from '../test/test-app.ts'
import { SESSION_COOKIE } from './sessions.ts'

/** Callers of the tests. */
interface Knocker {
  role: number
  status?: number
  mustChangePassword?: boolean
  by: 'cookie' | 'access token'
}

const KNOCKERS: Record<string, Knocker | 'nobody' | 'wrong access token' | 'forged cookie'> = {
  nobody: 'nobody',
  'a wrong access token': 'wrong access token',
  'a forged cookie': 'forged cookie',
  'a user': { role: Role.user, by: 'cookie' },
  'a user by access token': { role: Role.user, by: 'access token' },
  'an admin': { role: Role.admin, by: 'cookie' },
  'an admin by access token': { role: Role.admin, by: 'access token' },
  root: { role: Role.root, by: 'cookie' },
  'a banned root': { role: Role.root, status: UserStatus.disabled, by: 'cookie' },
  'a banned root by access token': {
    role: Role.root,
    status: UserStatus.disabled,
    by: 'access token',
  },
  'a deleted admin': { role: Role.admin, status: UserStatus.deleted, by: 'cookie' },
  'root with the default password': { role: Role.root, mustChangePassword: true, by: 'cookie' },
}

const NEEDED: Record<Access, number> = { anyone: 0, user: 1, admin: 10, root: 100 }

/**
 * Returns the refusal that the contract declares for this caller; null if the call reaches its
 * handler.
 */
function expectedRefusal(
  { options }: Endpoint,
  knocker: (typeof KNOCKERS)[string],
): ErrorCode | null {
  if (options.access === 'anyone') return null
  if (knocker === 'nobody' || knocker === 'forged cookie') return 'not_signed_in'
  if (knocker === 'wrong access token') return 'access_token_invalid'
  const { role, status = UserStatus.enabled, mustChangePassword = false } = knocker
  if (mustChangePassword && options.duringPasswordChange !== true) return 'password_change_required'
  if (status !== UserStatus.enabled) return 'user_disabled'
  return role < NEEDED[options.access] ? 'role_too_low' : null
}

/** Callers whose session ends with the first refusal. */
const isOut = (knocker: (typeof KNOCKERS)[string]): boolean =>
  typeof knocker === 'object' && knocker.status !== undefined

const REFUSALS: readonly ErrorCode[] = [
  'not_signed_in',
  'access_token_invalid',
  'password_change_required',
  'user_disabled',
  'role_too_low',
  'cross_site',
]

/** Properties that decide about access; endpoints with the same properties are equivalent. */
const gateOf = ({ method, options }: Endpoint): string =>
  JSON.stringify([
    method === 'GET',
    options.access,
    options.raisedBy,
    options.changesState,
    options.duringPasswordChange,
    options.answer,
    options.bodyClass,
  ])

/** One endpoint for each kind of gate: sessions and tokens are looked up alike for all of them. */
const ofEachGate = [...Map.groupBy(labelledEndpoints, ([, endpoint]) => gateOf(endpoint)).values()]
  .map(([first]) => first)
  .filter((row) => row !== undefined)

forEachDatabase('access', (open, engine) => {
  let server: TestServer

  beforeAll(async () => {
    server = await startTestServer(open)
  })
  afterAll(() => server.close())

  async function callerOf(knocker: (typeof KNOCKERS)[string]): Promise<TestCaller> {
    if (knocker === 'nobody') return {}
    if (knocker === 'wrong access token') return { accessToken: 'f'.repeat(32) }
    if (knocker === 'forged cookie') return { cookie: `${SESSION_COOKIE}=made-up.signature` }
    const { role, status, mustChangePassword, by } = knocker
    const user = await aUser(server, {
      role,
      ...(status === undefined ? {} : { status }),
      ...(mustChangePassword === undefined ? {} : { mustChangePassword }),
    })
    return by === 'cookie' ? user : { accessToken: await anAccessToken(server, user.id) }
  }

  const endpoints = engine === 'sqlite' ? labelledEndpoints : ofEachGate

  test.each(Object.entries(KNOCKERS))('%s is admitted as the contract declares', async (...row) => {
    const [, knocker] = row
    const shared = await callerOf(knocker)
    await forEachValue(endpoints, async (_label, endpoint) => {
      const isEnded = mayEndCaller(endpoint) || isOut(knocker)
      const as = isEnded ? await callerOf(knocker) : shared
      const body = endpoint.options.body === undefined ? undefined : {}
      const answer = await server.call(endpoint.method, addressOf(endpoint), {
        as,
        ...(body === undefined ? {} : { body }),
      })
      const met = REFUSALS.find((code) => answer.message === errorText(code, 'zh')) ?? null
      expect(met).toBe(expectedRefusal(endpoint, knocker))
      // For a requested file the status code reports the error.
      const isByStatus = endpoint.options.answer === 'stream' && met === 'access_token_invalid'
      expect(answer.status === 401).toBe(met === 'not_signed_in' || isByStatus)
      if (met !== null) expect(answer.json).toEqual({ success: false, message: answer.message })
    })
  })

  // Role and status are those of this moment, not those of signing in.
  test('a demoted admin is an ordinary user with its next call', async () => {
    const admin = await aUser(server, { role: Role.admin })
    const list = () => server.call('GET', '/api/channel/', { as: admin })
    expect((await list()).json['success']).toBe(true)
    await server.database.write
      .updateTable('users')
      .set({ role: Role.user })
      .where('id', '=', admin.id)
      .execute()
    expect((await list()).message).toBe(errorText('role_too_low', 'zh'))
  })

  test('a session ends after thirty days', async () => {
    const user = await aUser(server)
    const self = async () => (await server.call('GET', '/api/user/self', { as: user })).status
    server.clock.advanceSeconds(30 * 86_400 - 1)
    expect(await self()).toBe(200)
    server.clock.advanceSeconds(1)
    expect(await self()).toBe(401)
  })

  test('an expired session with a good access token is the access token’s', async () => {
    const user = await aUser(server)
    const accessToken = await anAccessToken(server, user.id)
    const cookie = `${SESSION_COOKIE}=made-up.signature`
    const answer = await server.call('GET', '/api/user/self', { as: { cookie, accessToken } })
    expect(answer.data).toMatchObject({ id: user.id })
  })
})

forEachDatabase('the operator hears', (open) => {
  test('of calls that are refused for who makes them, and nothing of what was sent', async () => {
    const server = await startTestServer(open, { CRITICAL_RATE_LIMIT: '1' })
    const heard: unknown[] = []
    vi.spyOn(server.app.trace, 'warn').mockImplementation((facts: unknown) => {
      const { requestId, ...rest } = Object(facts)
      expect(requestId).toMatch(/^\d{20,}$/)
      heard.push(rest)
    })
    const as = await aUser(server)
    const wrong = { accessToken: 'f'.repeat(32) }
    await server.call('GET', '/api/user/?keyword=sk-hidden', { as })
    await server.call('GET', '/api/user/self', { as: wrong })
    await server.call('GET', '/api/user/token', { as, headers: { origin: 'https://else.example' } })
    // Signed in no longer, or not yet: everybody's first call is one of these.
    await server.call('GET', '/api/user/self')
    for (let call = 0; call < 2; call += 1) {
      await server.call('POST', '/api/user/reset', { body: { email: 'a@b.example', token: 'x' } })
    }
    const from = { method: 'GET', address: '127.0.0.1' }
    const posted = { ...from, method: 'POST', path: '/api/user/reset' }
    expect(heard).toEqual([
      { ...from, code: 'role_too_low', path: '/api/user/' },
      { ...from, code: 'access_token_invalid', path: '/api/user/self' },
      { ...from, code: 'cross_site', path: '/api/user/token' },
      { ...posted, code: 'reset_link_invalid' },
      { ...posted, code: 'too_many_critical_calls' },
    ])
    await server.close()
  })
})
