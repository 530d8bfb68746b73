import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { TEXTS } from '../test/corpora/texts.ts'
import { expectPlainAnswer } from '../test/expect-plain-answer.ts'
import { aChannel, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

forEachDatabase('groups of tokens', (open) => {
  let server: TestServer
  let user: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    await server.app.options.set('GroupRatio', '{"default":1,"vip":0.8,"svip":2.50}')
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    await server.app.options.set('UserUsableGroups', '{"vip":"快","gone":"no ratio"}')
    user = await aUser(server)
  })

  const call = (method: string, path: string, body?: unknown, as: TestUser = user) =>
    server.call(method, path, { as, body })
  const made = async (body: object): Promise<number> =>
    Object((await call('POST', '/api/token/', body)).data).id
  const groupOf = async (id: number) => Object((await call('GET', `/api/token/${id}`)).data).group
  const refusal = (group: string) => errorText('token_group_not_allowed', 'zh', { group })

  test('a user can choose own groups and usable groups with a ratio', async () => {
    expect((await call('GET', '/api/user/self/groups')).data).toEqual({
      default: { ratio: 1, desc: '', own: true },
      vip: { ratio: 0.8, desc: '快', own: false },
    })
    const several = await aUser(server, { group: 'svip,unknown' })
    expect((await call('GET', '/api/user/self/groups', undefined, several)).data).toEqual({
      svip: { ratio: 2.5, desc: '', own: true },
      unknown: { ratio: 1, desc: '', own: true },
      vip: { ratio: 0.8, desc: '快', own: false },
    })
  })

  test('a group is stored with a token, changed and removed; lists contain it', async () => {
    const id = await made({ name: 'a', group: 'vip' })
    expect(await groupOf(id)).toBe('vip')
    expect((await call('GET', '/api/token/')).data).toEqual([
      expect.objectContaining({ group: 'vip' }),
    ])
    await call('PUT', '/api/token/', { id, name: 'renamed' })
    expect(await groupOf(id)).toBe('vip')
    await call('PUT', '/api/token/', { id, group: 'default' })
    expect(await groupOf(id)).toBe('default')
    await call('PUT', '/api/token/', { id, group: '' })
    expect(await groupOf(id)).toBe('')
    expect(await groupOf(await made({ name: 'b' }))).toBe('')
    await made({ name: 'c', group: 'vip' })
    const found = await call('GET', '/api/token/search?keyword=vip')
    expect(found.data).toEqual([expect.objectContaining({ name: 'c', group: 'vip' })])
  })

  test.each(['svip', 'gone', 'VIP', ' vip', 'default,vip'])('%s is rejected', async (group) => {
    const answer = await call('POST', '/api/token/', { group })
    expect(answer).toMatchObject({ message: refusal(group), json: { success: false } })
    const id = await made({})
    expect((await call('PUT', '/api/token/', { id, group })).message).toBe(refusal(group))
    expect(await groupOf(id)).toBe('')
  })

  test('a token whose group is no longer usable can be changed, but not set to it again', async () => {
    const id = await made({ group: 'vip' })
    await server.app.options.set('UserUsableGroups', '{}')
    const kept = await call('PUT', '/api/token/', { id, name: 'still there', group: 'vip' })
    expect([kept.message, await groupOf(id)]).toEqual(['', 'vip'])
    await call('PUT', '/api/token/', { id, group: '' })
    expect((await call('PUT', '/api/token/', { id, group: 'vip' })).message).toBe(refusal('vip'))
  })

  test('the group is deleted with its token', async () => {
    const id = await made({ group: 'vip' })
    await call('DELETE', `/api/token/${id}`)
    const rows = await server.database.read
      .selectFrom('token_groups')
      .selectAll()
      .where('token_id', '=', id)
      .execute()
    expect(rows).toEqual([])
  })

  test('models are listed for a group that the user may choose', async () => {
    await aChannel(server, { models: 'for-vips', group: 'vip' })
    await aChannel(server, { models: 'for-all', group: 'default' })
    const modelsOf = (query: string) => call('GET', `/api/user/available_models${query}`)
    expect((await modelsOf('')).data).toEqual(['for-all'])
    expect((await modelsOf('?group=vip')).data).toEqual(['for-vips'])
    expect((await modelsOf('?group=svip')).message).toBe(refusal('svip'))
  })

  // The error repeats the text.
  const texts = TEXTS.filter(([, text]) => !/undefined|\[object/.test(text))
  test.each(texts)('as a group: %s', async (_what, text) => {
    const isMade = await expectPlainAnswer((headers) =>
      server.call('POST', '/api/token/', { as: user, body: { group: text }, headers }),
    )
    expect(isMade).toBe(text === '')
  })

  test.each([
    ['{}', true],
    ['{"vip":"","a b":"x"}', true],
    ['{"vip":', '不是有效的 JSON'],
    ['["vip"]', 'JSON 对象'],
    ['null', 'JSON 对象'],
    ['{"vip":0.8}', 'JSON 对象'],
    [`{"vip":"${'长'.repeat(200)}"}`, true],
    [`{"vip":"${'长'.repeat(201)}"}`, '最多 200 个字符'],
    ['{"vip":"two\\nlines"}', '一行文字'],
    ['{"vip,svip":"x"}', '逗号'],
    ['{"":"x"}', '名称'],
    ['{"__proto__":"x"}', true],
  ])('the option %j is saved, or rejected with a message: %s', async (text, expected) => {
    const saved = server.app.options.set('UserUsableGroups', text)
    if (expected === true) await saved
    else await expect(saved.catch((error) => Object(error).text('zh'))).resolves.toContain(expected)
  })
})
