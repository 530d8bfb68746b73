import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  startForgingOidcProvider,
  type Forgery,
  type ForgingOidcProvider,
} from '../../../tools/sign-in-providers/forging-oidc-provider.ts'
import {
  startOidcProvider,
  type OidcPerson,
  type OidcProvider,
} from '../../../tools/sign-in-providers/oidc-provider.ts'
import { randomText } from '../secrets.ts'
import { errorText } from '../../contract/errors.ts'
import { Role } from '../../contract/user.ts'
import { anAdmin, aUser } from '../test/factories.ts'
import { forEachDatabase, onSqlite } from '../test/for-each-database.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'
import { agree, handleCallback, cookieOf, leave, type Visitor } from '../test/visitor.ts'
import { findUser, updateUser } from '../user/user-store.ts'

const QUERY = 'provider=oidc'
const ENDPOINTS = ['OidcAuthorizationEndpoint', 'OidcTokenEndpoint', 'OidcUserinfoEndpoint']

async function useProvider(
  { app }: TestServer,
  {
    clientId,
    clientSecret,
    wellKnown,
  }: Pick<OidcProvider, 'clientId' | 'clientSecret' | 'wellKnown'>,
): Promise<void> {
  await app.options.set('OidcClientId', clientId)
  await app.options.set('OidcWellKnown', wellKnown)
  await app.options.set('OidcClientSecret', clientSecret)
  await app.options.set('OidcEnabled', 'true')
}

forEachDatabase('signing in with OpenID Connect', (open) => {
  let server: TestServer
  let provider: OidcProvider
  let subject: string

  beforeAll(async () => {
    server = await startTestServer(open)
    provider = await startOidcProvider([`${server.url}/oauth/oidc`])
  })
  afterAll(async () => {
    await server.close()
    await provider.close()
  })
  beforeEach(async () => {
    await useProvider(server, provider)
    subject = `sub-${randomText(6)}`
    provider.people.set(subject, { name: 'Alice' })
  })

  const signIn = async (visitor: Visitor = {}, as = subject): Promise<TestAnswer> => {
    const left = await leave(server, visitor, QUERY)
    const members = await agree(server, left, `login_hint=${as}`)
    return handleCallback(server, visitor, { provider: 'oidc', members })
  }
  const newcomer = (person: OidcPerson): string => {
    const sub = `sub-${randomText(6)}`
    provider.people.set(sub, person)
    return sub
  }
  const stored = (answer: TestAnswer) => findUser(server.database.read, Object(answer.data).id)

  test('the whole flow: challenge, nonce, exchange, ID token, user', async () => {
    const left = await leave(server, {}, QUERY)
    const asked = new URL(String(left.json['authorize_url'])).searchParams
    expect(Object.fromEntries(asked)).toMatchObject({
      client_id: provider.clientId,
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: `${server.url}/oauth/oidc`,
      state: left.data,
      code_challenge_method: 'S256',
      nonce: expect.stringMatching(/^.{20,}$/),
    })
    const first = await signIn()
    expect(first.data).toMatchObject({ display_name: 'Alice' })
    expect(await stored(first)).toMatchObject({ oidc_id: subject, password: '' })
    expect((await signIn()).data).toMatchObject({ id: Object(first.data).id })
  })

  test('binds for a signed-in user', async () => {
    const user = await aUser(server)
    expect((await signIn(user)).json).toEqual({ success: true, message: 'bind' })
    expect((await signIn()).data).toMatchObject({ id: user.id })
    expect((await signIn(await aUser(server))).message).toContain('已被绑定')
  })

  test('uses the preferred name if it is valid and free', async () => {
    const name = randomText(8)
    const wished = await signIn({}, newcomer({ preferred_username: name }))
    expect(wished.data).toMatchObject({ username: name })
    for (const preferred_username of [name, 'root', 'a'.repeat(13), 'a b', 'a\nb', '<b>x']) {
      const answer = await signIn({}, newcomer({ preferred_username }))
      expect(answer.data).toMatchObject({ username: `oidc_${Object(answer.data).id}` })
    }
  })

  // With an unverified address a user could receive mail and password resets of another person.
  test('does not store an email address that is unverified or taken', async () => {
    const email = `${randomText(6)}@example.com`
    const unproven = await signIn({}, newcomer({ email, email_verified: false }))
    expect(await stored(unproven)).toMatchObject({ email: '' })
    // Many providers do not report it.
    const unsaid = await signIn({}, newcomer({ email: `1${email}` }))
    expect(await stored(unsaid)).toMatchObject({ email: `1${email}` })
    const proven = await signIn({}, newcomer({ email, email_verified: true }))
    expect(await stored(proven)).toMatchObject({ email })
    const second = await signIn({}, newcomer({ email, email_verified: true }))
    expect(await stored(second)).toMatchObject({ email: '' })
    expect(Object(second.data).id).not.toBe(Object(proven.data).id)
  })

  test('of parallel new users with one address only one gets it', async () => {
    const email = `${randomText(6)}@example.com`
    const answers = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const visitor: Visitor = {}
        const left = await leave(server, visitor, QUERY)
        const members = await agree(server, left, `login_hint=${newcomer({ email })}`)
        return { visitor, members }
      }),
    ).then((trips) =>
      Promise.all(
        trips.map(({ visitor, members }) =>
          handleCallback(server, visitor, { provider: 'oidc', members }),
        ),
      ),
    )
    const kept = await Promise.all(answers.map(async (answer) => (await stored(answer))?.email))
    expect(kept.toSorted()).toEqual(['', '', '', '', '', email])
  })

  test('does not store an invalid email address', async () => {
    for (const email of ['no address', 'a@b.c\nBcc: d@e.f', `${'a'.repeat(47)}@b.c`]) {
      const answer = await signIn({}, newcomer({ email, email_verified: true }))
      expect(await stored(answer)).toMatchObject({ email: '' })
    }
  })

  test('the user denied access', async () => {
    const visitor: Visitor = {}
    const left = await leave(server, visitor, QUERY)
    const members = await agree(server, left, 'login_hint=nobody')
    const answer = await handleCallback(server, visitor, { provider: 'oidc', members })
    expect(answer.message).toContain('没有授权')
  })

  test('a code without its PKCE verifier is rejected', async () => {
    const members = await agree(server, await leave(server, {}, QUERY), `login_hint=${subject}`)
    const thief: Visitor = {}
    const { data: state } = await leave(server, thief, QUERY)
    const answer = await handleCallback(server, thief, {
      provider: 'oidc',
      members: { ...members, state: String(state) },
    })
    expect(answer.message).toMatch(/不接受|无法确认身份/)
    expect(cookieOf(answer, 'session')).toBeUndefined()
  })

  test('a response with another issuer is rejected', async () => {
    const visitor: Visitor = {}
    const members = await agree(
      server,
      await leave(server, visitor, QUERY),
      `login_hint=${subject}`,
    )
    const answer = await handleCallback(server, visitor, {
      provider: 'oidc',
      members: { ...members, iss: 'https://another.example' },
    })
    expect(answer.message).toContain('无法确认身份')
  })

  test('supports consoles for One API: no provider, challenge or nonce, only code and state', async () => {
    const visitor: Visitor = {}
    const { data } = await leave(server, visitor, '')
    const address = new URL(`${provider.url}/auth`)
    address.search = new URLSearchParams({
      client_id: provider.clientId,
      redirect_uri: `${server.url}/oauth/oidc`,
      response_type: 'code',
      scope: 'openid profile email',
      state: String(data),
    }).toString()
    const left = { json: { authorize_url: address.href } } as unknown as TestAnswer
    const { code = '', state = '' } = await agree(server, left, `login_hint=${subject}`)
    const answer = await handleCallback(server, visitor, {
      provider: 'oidc',
      members: { code, state },
    })
    expect(answer.data).toMatchObject({ display_name: 'Alice' })
  })

  test('an unreachable provider is reported before the redirect', async () => {
    await useProvider(server, {
      ...provider,
      wellKnown: 'http://127.0.0.1:9/.well-known/openid-configuration',
    })
    expect((await leave(server, {}, QUERY)).message).toContain('无法连接')
  })

  // An administrator could set a document that impersonates a colleague's issuer.
  test.each([
    ['of another issuer', 'https://another.example', '', false],
    ['with a path more', '{url}/realm', '', false],
    ['with a template', '{url}/{tenantid}/v2.0', '/common/v2.0', false],
    ['of its own issuer', '{url}', '', true],
    ['with a slash at the end', '{url}/', '', true],
    ['of an issuer with a path', '{url}/realm', '/realm', true],
  ])('a discovery document %s', async (_what, issuer, place, isTaken) => {
    const forger = await startForgingOidcProvider()
    const path = '/.well-known/openid-configuration'
    const metadata = await (await fetch(forger.url + path)).json()
    const body = { ...Object(metadata), issuer: issuer.replace('{url}', forger.url) }
    forger.trouble(place + path, { body })
    await useProvider(server, { ...forger, wellKnown: forger.url + place + path })
    const answer = await leave(server, {}, QUERY)
    expect(answer.json['success']).toBe(isTaken)
    if (!isTaken) expect(answer.message).toContain('签发者不一致')
    expect(answer.text).not.toContain('another.example')
    await forger.close()
  })

  describe('with endpoints and no discovery document, as in One API', () => {
    beforeEach(async () => {
      const { options } = server.app
      await options.set('OidcWellKnown', '')
      await options.set('OidcAuthorizationEndpoint', `${forger.url}/authorize`)
      await options.set('OidcTokenEndpoint', `${forger.url}/token`)
      await options.set('OidcUserinfoEndpoint', `${forger.url}/userinfo`)
      // The secret is not kept when endpoints move to another host.
      await options.set('OidcClientSecret', provider.clientSecret)
    })
    let forger: ForgingOidcProvider
    beforeAll(async () => {
      forger = await startForgingOidcProvider()
    })
    afterAll(async () => {
      const { options } = server.app
      for (const key of ENDPOINTS) await options.set(key, '')
      await forger.close()
    })
    const arrive = async (visitor: Visitor = {}) => {
      const { data } = await leave(server, visitor, QUERY)
      const members = { code: 'any', state: String(data) }
      return handleCallback(server, visitor, { provider: 'oidc', members })
    }

    test('the userinfo response identifies the user', async () => {
      const first = await arrive()
      expect(await stored(first)).toMatchObject({ oidc_id: 'forged-person' })
      expect((await arrive()).data).toMatchObject({ id: Object(first.data).id })
      const exchange = forger.seen().find(({ url }) => url.pathname === '/token')
      expect(exchange?.body).toMatchObject({
        grant_type: 'authorization_code',
        code: 'any',
        client_secret: provider.clientSecret,
        redirect_uri: `${server.url}/oauth/oidc`,
        code_verifier: expect.stringMatching(/^.{43}$/),
      })
    })

    // The userinfo endpoint identifies the user, and administrators may set it.
    test('an administrator can neither sign in nor bind', async () => {
      const first = await arrive()
      const { id } = Object(first.data)
      await updateUser(server.database.write, id, { role: Role.admin })
      const answer = await arrive()
      expect(answer.message).toBe(
        errorText('external_admin_unproven', 'zh', { providerZh: ' OIDC ', providerEn: 'OIDC' }),
      )
      expect(cookieOf(answer, 'session')).toBeUndefined()
      await server.database.write.deleteFrom('external_identities').execute()
      expect((await arrive(await anAdmin(server))).message).toContain('未配置发现地址')
      await server.database.write.deleteFrom('external_identities').execute()
      await updateUser(server.database.write, id, { role: Role.user })
    })

    // One API never reads the discovery document, so an adopted address may have been invalid for
    // years.
    test.each([
      ['is not there', '/.well-known/nothing', null],
      ['is a page', '/.well-known/openid-configuration', 'not-json'],
    ] as const)('falls back to the endpoints if the document %s', async (_what, path, trouble) => {
      await server.database.write.deleteFrom('external_identities').execute()
      forger.trouble(path, trouble)
      await server.app.options.set('OidcWellKnown', `${forger.url}${path}`)
      expect((await arrive()).json).toMatchObject({ success: true })
      expect((await arrive()).json).toMatchObject({ success: true })
      forger.trouble(path, null)
    })

    test('does not fall back if the document is wrong', async () => {
      const path = '/.well-known/openid-configuration'
      forger.trouble(path, { body: { issuer: '' } })
      await server.app.options.set('OidcWellKnown', `${forger.url}${path}`)
      expect((await leave(server, {}, QUERY)).message).toContain('无法确认身份')
      forger.trouble(path, null)
    })

    // Users would sign in as other identities, with weaker checks.
    test('does not fall back if users have signed in with the document’s issuer', async () => {
      for (const key of ENDPOINTS) await server.app.options.set(key, '')
      await useProvider(server, provider)
      expect((await signIn()).json).toMatchObject({ success: true })
      await server.app.options.set('OidcWellKnown', `${forger.url}/.well-known/nothing`)
      await server.app.options.set('OidcAuthorizationEndpoint', `${forger.url}/authorize`)
      await server.app.options.set('OidcTokenEndpoint', `${forger.url}/token`)
      await server.app.options.set('OidcUserinfoEndpoint', `${forger.url}/userinfo`)
      expect((await leave(server, {}, QUERY)).message).toContain('无法确认身份')
    })

    // Another issuer may use the same subject for another person.
    test('the same subject at another issuer is another person', async () => {
      const here = await arrive()
      provider.people.set('forged-person', { name: 'Not Forged' })
      for (const key of ENDPOINTS) await server.app.options.set(key, '')
      await useProvider(server, provider)
      expect(Object((await signIn({}, 'forged-person')).data).id).not.toBe(Object(here.data).id)
    })
  })
})

onSqlite('an OpenID Connect provider with forged responses', (open) => {
  let server: TestServer
  let forger: ForgingOidcProvider

  beforeAll(async () => {
    server = await startTestServer(open)
    forger = await startForgingOidcProvider()
    await useProvider(server, forger)
  })
  afterAll(async () => {
    await server.close()
    await forger.close()
  })

  const arrive = async (forgery: Forgery) => {
    const visitor: Visitor = {}
    const left = await leave(server, visitor, QUERY)
    forger.nonce = new URL(String(left.json['authorize_url'])).searchParams.get('nonce') ?? ''
    forger.forgery = forgery
    const members = { code: 'any', state: String(left.data) }
    return handleCallback(server, visitor, { provider: 'oidc', members })
  }

  test('is accepted if nothing is forged', async () => {
    expect((await arrive({})).data).toMatchObject({ display_name: 'Forged' })
  })

  const past = Math.floor(Date.now() / 1000) - 7200
  test.each<[string, Forgery]>([
    ['another nonce', { claims: { nonce: 'another' } }],
    ['no nonce', { without: ['nonce'] }],
    ['another audience', { claims: { aud: 'another-client' } }],
    [
      'an audience of two without a party',
      { claims: { aud: ['forged-client', 'another'], azp: 'another' } },
    ],
    ['another issuer', { claims: { iss: 'https://another.example' } }],
    ['no issuer', { without: ['iss'] }],
    ['no signature', { header: { alg: 'none' } }],
    ['a signature of the shared secret’s kind', { header: { alg: 'HS256' } }],
    ['a signature of another key', { otherKey: true }],
    ['an unknown key', { header: { kid: 'unknown' } }],
    ['a time that is over', { claims: { iat: past - 60, exp: past } }],
    ['no end', { without: ['exp'] }],
    ['no subject', { without: ['sub'] }],
    ['an empty subject', { claims: { sub: '' } }],
    ['a subject that is a number', { claims: { sub: 5 } }],
    ['no token at all', { noToken: true }],
    ['a userinfo answer about somebody else', { userinfoSub: 'somebody-else' }],
  ])('%s: sign-in fails', async (_what, forgery) => {
    const answer = await arrive(forgery)
    expect(answer).toMatchObject({ status: 200, json: { success: false } })
    expect(answer.message).toContain('无法确认身份')
    expect(cookieOf(answer, 'session')).toBeUndefined()
  })

  test.each([
    ['/token', 'fault', '无法连接'],
    ['/token', 'cut', '无法连接'],
    ['/token', 'not-json', '无法确认身份'],
    ['/token', 'huge', '无法确认身份'],
    ['/userinfo', 'fault', '无法连接'],
    ['/userinfo', 'no-object', '无法确认身份'],
  ] as const)('%s: %s', async (path, trouble, sentence) => {
    forger.trouble(path, trouble)
    const answer = await arrive({})
    forger.trouble(path, null)
    expect(answer.message).toContain(sentence)
    expect(answer.text).not.toMatch(/secret|stumbled|127\.0\.0\.1/)
  })
})
