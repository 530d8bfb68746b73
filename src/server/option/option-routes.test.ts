import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { anAdmin, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'
import {
  isSecretOption,
  optionKeys,
  optionRows,
  type OptionKey,
} from '../../contract/option/options.ts'
import { optionSpec } from './option.ts'

forEachDatabase('option routes', (open) => {
  let server: TestServer
  let admin: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
  })
  afterAll(() => server.close())

  const list = (as: TestUser = admin) => server.call('GET', '/api/option/', { as })
  const put = (key: unknown, value: unknown, as: TestUser = admin) =>
    server.call('PUT', '/api/option/', { as, body: { key, value } })
  const valueOf = async (key: OptionKey) => {
    const rows = [(await list()).data].flat()
    return Object(rows.find((row) => Object(row).key === key)).value
  }

  test('if two admins save concurrently, the last one wins, and both are in the audit', async () => {
    const { username } = admin
    const answers = await Promise.all([put('Footer', 'one of two'), put('Footer', 'two of two')])
    expect(answers.map(({ json }) => json['success'])).toEqual([true, true])
    await server.app.options.reload()
    const stored = server.app.options.text('Footer')
    expect(['one of two', 'two of two']).toContain(stored)
    const written = await server.database.read
      .selectFrom('audit')
      .select(['new_values'])
      .where('actor_name', '=', username)
      .where('target_name', '=', 'Footer')
      .orderBy('id')
      .execute()
    expect(written.map(({ new_values }) => new_values).toSorted()).toEqual(
      ['one of two', 'two of two'].map((Footer) => JSON.stringify({ Footer })),
    )
  })

  test('the version of the prices changes only with a price', async () => {
    const live = server.app.options
    const versionWith = async (key: OptionKey, value: string) => {
      await live.set(key, value)
      return live.ratios().version
    }
    const cheap = await versionWith('ModelRatio', '{"versioned":1,"other":2}')
    expect(cheap).toMatch(/^[0-9a-f]{16}$/)
    expect(await versionWith('ModelRatio', '{"versioned":1.5,"other":2}')).not.toBe(cheap)
    expect(await versionWith('ModelRatio', '{"other":2,"versioned":1}')).toBe(cheap)
    expect(await versionWith('Footer', 'no price')).toBe(cheap)
    expect(
      await versionWith('PriceTiers', '{"versioned":[{"above":1000,"prompt":2,"completion":1}]}'),
    ).not.toBe(cheap)
    await live.set('PriceTiers', optionSpec('PriceTiers').default)
    expect(await versionWith('ModelRatio', optionSpec('ModelRatio').default)).not.toBe(cheap)
  })

  // The admin who changes the address cannot see the secret that another admin is entering for the
  // old one.
  test('a secret that is entered concurrently is not sent to the new address either', async () => {
    const live = server.app.options
    await live.set('MessagePusherAddress', 'https://push.example/')
    let moving: Promise<void> | undefined
    await live.set('MessagePusherToken', 'pusher-secret', async () => {
      moving = live.set('MessagePusherAddress', 'https://else.example/')
      await setTimeout(50)
    })
    await moving
    expect(live.text('MessagePusherAddress')).toBe('https://else.example/')
    expect(live.text('MessagePusherToken')).toBe('')
    await live.set('MessagePusherAddress', '')
  })

  test('a secret is cleared if its address changes to another host, and the audit shows it', async () => {
    await put('WeChatServerAddress', 'https://wx.example')
    await put('WeChatServerToken', 'for wx.example only')
    expect((await put('WeChatServerAddress', 'https://wx.example/v2')).json['success']).toBe(true)
    expect(server.app.options.text('WeChatServerToken')).toBe('for wx.example only')
    expect((await put('WeChatServerAddress', 'https://evil.example')).json['success']).toBe(true)
    expect(server.app.options.text('WeChatServerToken')).toBe('')
    expect((await list()).json['secrets_set']).toEqual([])
    const [last] = await server.database.read
      .selectFrom('audit')
      .select(['old_values', 'new_values'])
      .orderBy('id', 'desc')
      .limit(1)
      .execute()
    expect(JSON.parse(last?.old_values ?? '')).toHaveProperty('WeChatServerToken')
    expect(JSON.parse(last?.new_values ?? '')).toMatchObject({ WeChatServerToken: '' })
    expect(JSON.stringify(last)).not.toContain('for wx.example only')
    await put('WeChatServerAddress', '')
  })

  describe('GET /api/option/', () => {
    test('lists every option except secrets, as text', async () => {
      const answer = await list()
      const rows = [answer.data].flat().map((row) => Object(row))
      const keys = optionKeys
      expect(rows.map(({ key }) => key).toSorted()).toEqual(
        keys
          .filter((key) => !isSecretOption(key) && optionRows[key].isRootOnly !== true)
          .toSorted(),
      )
      for (const row of rows) expect(row).toEqual({ key: row.key, value: expect.any(String) })
    })

    test('a secret is only listed as set', async () => {
      expect((await list()).json['secrets_set']).toEqual([])
      await put('SMTPToken', 'hidden-mail-password')
      const answer = await list()
      expect(answer.json['secrets_set']).toEqual(['SMTPToken'])
      expect(answer.text).not.toContain('hidden-mail-password')
      // Cleared by an empty text, unlike the secrets of a channel.
      await put('SMTPToken', '')
      expect((await list()).json['secrets_set']).toEqual([])
    })
  })

  describe('PUT /api/option/', () => {
    test('stores and applies a value immediately', async () => {
      expect((await put('SystemName', '我的网关')).json).toEqual({ success: true, message: '' })
      expect(await valueOf('SystemName')).toBe('我的网关')
      const status = await server.call('GET', '/api/status')
      expect(status.data).toMatchObject({ system_name: '我的网关' })
      await put('SystemName', '')
      expect(await valueOf('SystemName')).toBe('')
    })

    test('a ratio keeps the decimals it was written with', async () => {
      const text = '{"gpt-4o":1.250,"mine":0.075}'
      await put('ModelRatio', text)
      expect(await valueOf('ModelRatio')).toBe(text)
      const prices = Object((await server.call('GET', '/api/prices', { as: admin })).data)
      expect(prices.model_ratio).toContain('"gpt-4o":1.250')
      expect(prices.model_ratio).toContain('"mine":0.075')
      expect(server.app.options.ratios().model.get('gpt-4o')).toBe('1.250')
    })

    test('groups are the names of the group ratios, sorted', async () => {
      await put('GroupRatio', '{"vip":0.5,"default":1,"basic":2}')
      const groups = await server.call('GET', '/api/group/', { as: admin })
      expect(groups.data).toEqual(['basic', 'default', 'vip'])
    })

    // The wire's own exception: here a body that does not fit is a real 400.
    test.each([
      ['a number', { key: 'RetryTimes', value: 2 }],
      ['true', { key: 'RegisterEnabled', value: true }],
      ['a list', ['RetryTimes', '2']],
      ['no JSON', '{"key":'],
      ['nothing', ''],
    ])('answers %s with 400', async (_what, body) => {
      const answer = await server.call('PUT', '/api/option/', { as: admin, body })
      expect(answer).toMatchObject({ status: 400, json: { success: false } })
      expect(answer.message).toContain('无效的参数')
    })

    test.each([
      ['an option without a name', '', 'x', '无效的参数'],
      ['an option nobody knows', 'Unknown', 'x', 'Unknown'],
      ['an option of every object', 'constructor', 'x', 'constructor'],
      ['a value that does not fit', 'RetryTimes', '-1', 'RetryTimes'],
      ['ratios that are no JSON', 'ModelRatio', '{', 'ModelRatio'],
      ['a theme nobody knows', 'Theme', 'dark', 'berry'],
      ['a switch without what it needs', 'GitHubOAuthEnabled', 'true', 'GitHubClientId'],
      ['WeChat without its server', 'WeChatAuthEnabled', 'true', 'WeChatServerAddress'],
      ['group ratios without a group', 'GroupRatio', '{}', '{"default":1}'],
      ['words that are no domains', 'EmailDomainWhitelist', 'not a domain', 'example.com'],
      ['mailed codes without a mail server', 'EmailVerificationEnabled', 'true', 'SMTPServer'],
      ['a human check without keys', 'TurnstileCheckEnabled', 'true', 'TurnstileSiteKey'],
      ['no value where there must be one', 'RetryTimes', undefined, 'RetryTimes'],
      ['no key', undefined, '2', ''],
    ])('refuses %s and keeps what was', async (_what, key, value, sentence) => {
      const before = (await list()).json
      const answer = await put(key, value)
      expect(answer).toMatchObject({ status: 200, json: { success: false } })
      expect(answer.message).toContain(sentence)
      expect((await list()).json).toEqual(before)
    })

    test('a switch can be turned on when its prerequisite is set', async () => {
      await put('GitHubClientId', 'id')
      expect((await put('GitHubOAuthEnabled', 'true')).json['success']).toBe(true)
      expect((await server.call('GET', '/api/status')).data).toMatchObject({ github_oauth: true })
      await put('GitHubOAuthEnabled', 'false')
    })

    test('domains cannot be restricted with an empty allow-list', async () => {
      await put('EmailDomainWhitelist', '')
      const refused = await put('EmailDomainRestrictionEnabled', 'true')
      expect(refused.message).toContain('EmailDomainWhitelist')
      await put('EmailDomainWhitelist', 'example.com')
      expect((await put('EmailDomainRestrictionEnabled', 'true')).json['success']).toBe(true)
    })

    test('the prerequisite of an active switch cannot be emptied', async () => {
      const refused = await put('EmailDomainWhitelist', '')
      expect(refused.json['success']).toBe(false)
      expect(refused.message).toContain('邮箱域名白名单')
      expect(await valueOf('EmailDomainWhitelist')).toBe('example.com')
      await put('EmailDomainRestrictionEnabled', 'false')
      expect((await put('EmailDomainWhitelist', '')).json['success']).toBe(true)
    })

    test('a changed theme applies after the next start', async () => {
      await put('Theme', 'berry')
      expect(await valueOf('Theme')).toBe('berry')
      const status = await server.call('GET', '/api/status')
      expect(status.data).toMatchObject({ gatehouse: { theme: 'default' } })
    })

    test('THEME applies if no theme is stored', async () => {
      const other = await startTestServer(open, { THEME: 'air' })
      const status = await other.call('GET', '/api/status')
      expect(status.data).toMatchObject({ gatehouse: { theme: 'air' } })
      await other.close()
    })

    test('a stored value survives a restart', async () => {
      await put('About', '# 关于')
      await server.app.options.reload()
      expect((await server.call('GET', '/api/about')).data).toBe('# 关于')
    })
  })
})

forEachDatabase('OPTIONS_MIN_ROLE=100', (open) => {
  test('allows only root to change settings', async () => {
    const server = await startTestServer(open, { OPTIONS_MIN_ROLE: '100' })
    const admin = await anAdmin(server)
    const root = await aUser(server, { role: Role.root })
    const body = { key: 'RetryTimes', value: '3' }
    for (const as of [admin, root]) {
      const success = as === root
      const read = await server.call('GET', '/api/option/', { as })
      const written = await server.call('PUT', '/api/option/', { as, body })
      expect([read, written]).toMatchObject([
        { status: 200, json: { success } },
        { status: 200, json: { success } },
      ])
    }
    expect((await server.call('GET', '/api/status')).data).toMatchObject({
      gatehouse: { options_min_role: 100 },
    })
    await server.close()
  })
})
