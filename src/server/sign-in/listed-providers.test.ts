import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  startOauthProvider,
  type OauthProvider,
} from '../../../tools/sign-in-providers/oauth-provider.ts'
import {
  startOidcProvider,
  type OidcPerson,
  type OidcProvider,
} from '../../../tools/sign-in-providers/oidc-provider.ts'
import { Role } from '../../contract/user.ts'
import { randomText } from '../secrets.ts'
import { secretColumns } from '../secrets/secret-columns.ts'
import { anAdmin, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestAnswer, type TestServer } from '../test/test-app.ts'
import { agree, handleCallback, leave, type Visitor } from '../test/visitor.ts'
import { findUser, updateUser } from '../user/user-store.ts'
import { showIdentity } from './identity-store.ts'

forEachDatabase('providers of the option SignInProviders', (open) => {
  let server: TestServer
  let root: TestUser
  let corp: OidcProvider
  let club: OidcProvider
  let linuxdo: OauthProvider
  let discord: OauthProvider

  beforeAll(async () => {
    server = await startTestServer(open)
    root = await aUser(server, { role: Role.root })
    corp = await startOidcProvider([`${server.url}/oauth/oidc/corp`])
    club = await startOidcProvider([`${server.url}/oauth/oidc/club`])
    linuxdo = await startOauthProvider('linuxdo')
    discord = await startOauthProvider('discord')
  })
  afterAll(async () => {
    await server.close()
    await Promise.all([corp.close(), club.close(), linuxdo.close(), discord.close()])
  })
  beforeEach(async () => {
    expect((await save(providers())).json).toMatchObject({ success: true })
  })

  const oidcEntry = ({ url, clientId, clientSecret }: OidcProvider, title: string) => ({
    title,
    issuer: url,
    client_id: clientId,
    client_secret: clientSecret,
  })
  const providers = (over: object = {}): Record<string, Record<string, unknown>> => ({
    corp: { ...oidcEntry(corp, 'Corp'), color: 'blue', ...over },
    club: oidcEntry(club, '俱乐部'),
    linuxdo: {
      client_id: linuxdo.clientId,
      client_secret: linuxdo.clientSecret,
      authorization_endpoint: `${linuxdo.url}/oauth2/authorize`,
      token_endpoint: `${linuxdo.url}/oauth2/token`,
      userinfo_endpoint: `${linuxdo.url}/api/user`,
    },
    discord: {
      client_id: discord.clientId,
      client_secret: discord.clientSecret,
      authorization_endpoint: `${discord.url}/oauth2/authorize`,
      token_endpoint: `${discord.url}/api/oauth2/token`,
      userinfo_endpoint: `${discord.url}/api/users/@me`,
    },
  })
  const put = (value: string, as = root, language = 'zh') =>
    server.call('PUT', '/api/option/', {
      as,
      body: { key: 'SignInProviders', value },
      headers: { 'accept-language': language },
    })
  const save = (value: object) => put(JSON.stringify(value))
  const listedOptions = async (as: TestUser) => {
    const { data } = await server.call('GET', '/api/option/', { as })
    const rows = [data].flat()
    return Object(rows.find((row) => Object(row).key === 'SignInProviders')).value
  }
  const status = async () => Object((await server.call('GET', '/api/status')).data)
  const stored = (answer: TestAnswer) => findUser(server.database.read, Object(answer.data).id)
  const accounts = async (as: Visitor) =>
    (await server.call('GET', '/api/oauth/accounts', { as: as as TestUser })).data

  async function signIn(provider: string, choice: string, visitor: Visitor = {}) {
    const left = await leave(server, visitor, `provider=${encodeURIComponent(provider)}`)
    const key = provider.startsWith('oidc/') ? 'login_hint' : 'as'
    const members = await agree(server, left, `${key}=${choice}`)
    return handleCallback(server, visitor, { provider, members })
  }
  const someone = (provider: OidcProvider, person: OidcPerson = {}): string => {
    const sub = `sub-${randomText(6)}`
    provider.people.set(sub, { name: 'Alice', ...person })
    return sub
  }

  test('two OpenID Connect providers with the same subject are two people', async () => {
    const sub = someone(corp)
    club.people.set(sub, { name: 'Bob' })
    const atCorp = await signIn('oidc/corp', sub)
    const atClub = await signIn('oidc/club', sub)
    expect(atCorp.data).toMatchObject({ display_name: 'Alice' })
    expect(atClub.data).toMatchObject({ display_name: 'Bob' })
    expect((await signIn('oidc/corp', sub)).data).toMatchObject({ id: Object(atCorp.data).id })
    expect(await stored(atCorp)).toMatchObject({
      username: `corp_${Object(atCorp.data).id}`,
      oidc_id: '',
    })
  })

  test('the status lists them without client ids and secrets', async () => {
    const data = await status()
    expect(data).toMatchObject({
      linuxdo_oauth: true,
      linuxdo_client_id: linuxdo.clientId,
      discord_oauth: true,
      discord_client_id: discord.clientId,
    })
    expect(data.gatehouse.sign_in_providers).toEqual([
      { provider: 'oidc/corp', title: 'Corp', icon: 'C', color: 'blue' },
      { provider: 'oidc/club', title: '俱乐部', icon: '俱', color: '' },
      { provider: 'linuxdo', title: 'LinuxDO', icon: 'L', color: 'orange' },
      { provider: 'discord', title: 'Discord', icon: 'D', color: 'purple' },
    ])
    expect(JSON.stringify(data)).not.toContain(corp.clientSecret)
  })

  test('LinuxDO: signs in, links and unlinks', async () => {
    linuxdo.people.set('neo', {
      id: 77,
      username: 'neo',
      name: 'Neo',
      trust_level: 2,
      active: true,
    })
    const first = await signIn('linuxdo', 'neo')
    expect(first.data).toMatchObject({ display_name: 'Neo', username: 'neo' })
    linuxdo.people.set('trinity', { id: 78, username: 'trinity', active: true })
    const user = await aUser(server)
    expect((await signIn('linuxdo', 'trinity', user)).json).toEqual({
      success: true,
      message: 'bind',
    })
    expect(await accounts(user)).toEqual([{ provider: 'linuxdo', label: 'trinity' }])
    expect((await signIn('linuxdo', 'trinity', await aUser(server))).message).toContain(
      'LinuxDO 账户已被绑定',
    )
    const gone = await server.call('DELETE', '/api/oauth/linuxdo', { as: user })
    expect(gone.json).toEqual({ success: true, message: '' })
    expect(await accounts(user)).toEqual([])
  })

  test('Discord: signs in with the verified email address', async () => {
    const email = `${randomText(6)}@example.com`
    discord.people.set('wumpus', {
      id: '80351110224678912',
      username: 'wumpus',
      global_name: 'Wumpus',
      verified: true,
      email,
    })
    const first = await signIn('discord', 'wumpus')
    expect(await stored(first)).toMatchObject({ display_name: 'Wumpus', email })
    expect((await signIn('discord', 'wumpus')).data).toMatchObject({ id: Object(first.data).id })
  })

  test.each([
    ['missing', {}],
    ['a word', { id: 'x' }],
    ['inexact', { id: 1e20 }],
    ['of a suspended account', { id: 79, active: false }],
  ])('an id that is %s is rejected', async (_what, person) => {
    linuxdo.people.set('odd', person)
    expect((await signIn('linuxdo', 'odd')).message).toContain('无法确认身份')
  })

  test('the only way to sign in cannot be unlinked', async () => {
    const sub = someone(corp)
    const visitor: Visitor = {}
    const answer = await signIn('oidc/corp', sub, visitor)
    const cookie = String(answer.headers['set-cookie']).match(/session=[^;]+/)?.[0] ?? ''
    const kept = await server.call('DELETE', '/api/oauth/oidc/corp', { as: { cookie } })
    expect(kept.message).toContain('唯一的登录方式')
  })

  describe('an administrator', () => {
    const identities = (as: TestUser, { id }: TestUser) =>
      server.call('GET', `/api/user/${id}/identities`, { as })
    const unlink = (as: TestUser, { id }: TestUser, provider: string) =>
      server.call('DELETE', `/api/user/${id}/identities?provider=${encodeURIComponent(provider)}`, {
        as,
      })

    async function linkedUser(): Promise<{ user: TestUser; sub: string }> {
      const user = await aUser(server)
      const sub = someone(corp)
      await signIn('oidc/corp', sub, user)
      linuxdo.people.set('switch', { id: 90_000 + user.id, username: 'switch', active: true })
      await signIn('linuxdo', 'switch', user)
      // Adopted from One API, and not used here yet.
      await showIdentity(server.database.write, { provider: 'github', label: 'octo' }, user.id)
      return { user, sub }
    }

    test('sees the external accounts of a user by their labels', async () => {
      const { user, sub } = await linkedUser()
      const { data } = await identities(await anAdmin(server), user)
      const linked_at = expect.toSatisfy((seconds) => Number(seconds) > 1e9)
      expect(data).toHaveLength(3)
      expect(data).toEqual(
        expect.arrayContaining([
          { provider: 'github', label: 'octo', linked_at: 0 },
          { provider: 'oidc/corp', label: sub, linked_at },
          { provider: 'linuxdo', label: 'switch', linked_at },
        ]),
      )
      // As in the own list; the stored ids are not sent.
      expect(JSON.stringify(data)).not.toContain(corp.url)
      expect(JSON.stringify(data)).not.toContain(String(90_000 + user.id))
    })

    test('unlinks one, which ends the sessions and cannot sign in again', async () => {
      const { user, sub } = await linkedUser()
      const admin = await anAdmin(server)
      expect((await unlink(admin, user, 'oidc/corp')).json).toEqual({ success: true, message: '' })
      expect((await server.call('GET', '/api/user/self', { as: user })).status).toBe(401)
      const later = await signIn('oidc/corp', sub)
      expect(Object(later.data).id).not.toBe(user.id)
      expect((await unlink(admin, user, 'github')).json).toMatchObject({ success: true })
      expect(await findUser(server.database.read, user.id)).toMatchObject({ github_id: '' })
      expect((await identities(admin, user)).data).toMatchObject([{ provider: 'linuxdo' }])
      expect((await unlink(admin, user, 'github')).message).toContain('没有找到该记录')
      const { data } = await server.call('GET', '/api/audit/?action=user.unlink', { as: root })
      expect(data).toContainEqual(
        expect.objectContaining({
          actor_id: admin.id,
          target_id: user.id,
          before: { provider: 'oidc/corp', account: sub },
          after: null,
        }),
      )
    })

    test('needs a higher role and a recent proof of identity', async () => {
      const { user } = await linkedUser()
      const admin = await anAdmin(server)
      const { write } = server.database
      expect((await identities(await aUser(server), user)).json['success']).toBe(false)
      expect((await unlink(await aUser(server), user, 'linuxdo')).json['success']).toBe(false)
      await updateUser(write, user.id, { role: Role.admin })
      for (const answer of [await identities(admin, user), await unlink(admin, user, 'linuxdo')]) {
        expect(answer.json['success']).toBe(false)
      }
      await showIdentity(write, { provider: 'github', label: 'own' }, admin.id)
      expect((await unlink(admin, admin, 'github')).json['success']).toBe(false)
      await updateUser(write, user.id, { role: Role.user })
      await write
        .updateTable('sessions')
        .set({ verified_at: 1 })
        .where('user_id', '=', admin.id)
        .execute()
      expect((await unlink(admin, user, 'linuxdo')).json).toMatchObject({
        code: 'VERIFICATION_REQUIRED',
      })
      expect((await identities(admin, user)).data).toHaveLength(3)
    })
  })

  test('a provider that is off or removed rejects all requests', async () => {
    const browser: Visitor = {}
    const left = await leave(server, browser, 'provider=oidc%2Fcorp')
    const members = await agree(server, left, `login_hint=${someone(corp)}`)
    await save(providers({ enabled: false }))
    expect((await leave(server, {}, 'provider=oidc%2Fcorp')).message).toContain('未开启')
    const late = await handleCallback(server, browser, { provider: 'oidc/corp', members })
    expect(late.message).toContain('未开启通过 Corp 登录')
    expect((await leave(server, {}, 'provider=oidc%2Fnobody')).message).toContain('未开启')
    expect((await status()).gatehouse.sign_in_providers).toHaveLength(3)
  })

  describe('the option', () => {
    test('secrets are never sent, and an empty one keeps the stored one', async () => {
      const shown = String(await listedOptions(root))
      expect(JSON.parse(shown).corp).toMatchObject({ title: 'Corp', client_secret: '' })
      for (const { clientSecret } of [corp, discord]) expect(shown).not.toContain(clientSecret)
      expect((await put(shown)).json['success']).toBe(true)
      expect((await signIn('oidc/corp', someone(corp))).data).toMatchObject({
        display_name: 'Alice',
      })
      const { data } = await server.call('GET', '/api/audit/?action=option.update', { as: root })
      expect(JSON.stringify(data)).not.toMatch(/oidc-secret|discord-secret|linuxdo-secret/)
    })

    test('a secret is not kept when the address moves to another host', async () => {
      const moved = providers({ issuer: 'https://evil.example', client_secret: '' })
      expect((await save(moved)).message).toContain('「corp」的 client_secret 需要填写')
      const endpoint = { token_endpoint: 'https://evil.example/token', client_secret: '' }
      expect((await save(providers(endpoint))).message).toContain('client_secret')
    })

    test('only root sees and changes it', async () => {
      const admin = await anAdmin(server)
      expect(await listedOptions(admin)).toBeUndefined()
      expect((await put('{}', admin)).json['success']).toBe(false)
    })

    test.each([
      ['[]', 'JSON 对象', 'must be a JSON object'],
      ['{"A b":{}}', '名称「A b」', 'the name “A b”'],
      ['{"corp":1}', '「corp」需要 JSON 对象', '“corp” must be a JSON object'],
      ['{"corp":{"titel":"x"}}', '「corp」的 titel', 'titel of “corp”'],
      ['{"corp":{"title":1}}', '「corp」的 title', 'title of “corp”'],
      ['{"corp":{"enabled":"yes"}}', '「corp」的 enabled', 'enabled of “corp”'],
      ['{"corp":{"title":"x","issuer":"ftp://x"}}', '「corp」的 issuer', 'issuer of “corp”'],
      ['{"corp":{"title":"x"}}', '「corp」的 client_id', 'client_id of “corp”'],
      [
        '{"other":{"title":"x","client_id":"x","client_secret":"y"}}',
        '「other」的 issuer',
        'issuer of “other”',
      ],
      [
        '{"discord":{"client_id":"x","client_secret":"y","rules":[{"claim":"id","equals":"1"}]}}',
        '「discord」的 rules[0]',
        'rules[0] of “discord”',
      ],
    ])('%s is rejected with its place', async (value, zh, en) => {
      const before = await listedOptions(root)
      expect((await put(value)).message).toContain(zh)
      expect((await put(value, root, 'en')).message).toContain(en)
      expect(await listedOptions(root)).toBe(before)
    })
  })

  test('a text with its secrets counts as a secret at rest', () => {
    expect(secretColumns['options.value'].isSecret('SignInProviders')).toBe(true)
    expect(secretColumns['options.value'].isSecret('SystemName')).toBe(false)
  })

  describe('rules', () => {
    const rules = [
      { claim: 'groups', contains: 'paying', group: 'vip' },
      { claim: 'groups', contains: 'staff', group: 'svip', role: 'admin' },
      { claim: 'groups', contains: 'ghosts', group: 'no-such-group' },
    ]

    test('give groups at each sign-in, and take back only what they name', async () => {
      await save(providers({ rules }))
      const sub = someone(corp, { groups: ['paying', 'ghosts'] })
      const first = await signIn('oidc/corp', sub)
      expect(await stored(first)).toMatchObject({ group: 'vip', role: Role.user })
      await server.app.options.set('GroupRatio', '{"default":1,"vip":1,"svip":1,"own":1}')
      await updateUser(server.database.write, Object(first.data).id, { group: 'vip,own' })
      corp.people.set(sub, { groups: ['staff'] })
      await signIn('oidc/corp', sub)
      expect(await stored(first)).toMatchObject({ group: 'svip,own', role: Role.user })
      corp.people.set(sub, {})
      await signIn('oidc/corp', sub)
      expect(await stored(first)).toMatchObject({ group: 'own' })
    })

    test('make administrators only if the provider may, and take the role back', async () => {
      await save(providers({ rules, allow_admin: true }))
      const sub = someone(corp, { groups: ['staff'] })
      const first = await signIn('oidc/corp', sub)
      expect(first.data).toMatchObject({ role: Role.admin })
      expect(await stored(first)).toMatchObject({ role: Role.admin })
      const { data } = await server.call('GET', '/api/audit/?action=user.update', { as: root })
      expect([data].flat()[0]).toMatchObject({
        actor_name: 'oidc/corp',
        after: { role: Role.admin, group: 'svip' },
      })
      corp.people.set(sub, { groups: [] })
      const later = await signIn('oidc/corp', sub)
      expect(later.data).toMatchObject({ role: Role.user })
      expect(await stored(first)).toMatchObject({ role: Role.user, group: 'default' })
    })
  })
})
