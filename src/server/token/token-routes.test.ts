import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { NEVER_EXPIRES, TokenStatus } from '../../contract/token.ts'
import { aSettledCall, aToken, aUser, type TestUser } from '../test/factories.ts'
import { forEachDatabase } from '../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../test/test-app.ts'

forEachDatabase('token routes', (open) => {
  let server: TestServer
  let user: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    user = await aUser(server, { quota: 1000 })
  })

  const call = (method: string, path: string, body?: unknown, as: TestUser = user) =>
    server.call(method, path, { as, body })
  const stored = async (id: number) => Object((await call('GET', `/api/token/${id}`)).data)

  describe('POST /api/token/', () => {
    test('creates a token and returns it with its key', async () => {
      const answer = await call('POST', '/api/token/', {
        name: 'mine',
        expired_time: NEVER_EXPIRES,
        remain_quota: 500,
        unlimited_quota: false,
        models: 'gpt-4o',
        subnet: '10.0.0.0/8',
      })
      expect(answer).toMatchObject({ status: 200, json: { success: true, message: '' } })
      expect(answer.data).toEqual({
        id: expect.any(Number),
        user_id: user.id,
        key: expect.stringMatching(/^[0-9A-Za-z]{48}$/),
        status: TokenStatus.enabled,
        name: 'mine',
        created_time: server.clock.nowSeconds(),
        accessed_time: server.clock.nowSeconds(),
        expired_time: NEVER_EXPIRES,
        remain_quota: 500,
        unlimited_quota: false,
        used_quota: 0,
        models: 'gpt-4o',
        subnet: '10.0.0.0/8',
        capture: 'off',
        group: '',
        key_shown_once: false,
        last_ip: '',
        previous_key_until: 0,
        limits: expect.objectContaining({ time_zone: 'UTC' }),
      })
      const found = await stored(Object(answer.data).id)
      expect(found).toEqual(answer.data)
    })

    test('each answer with one token has all of it, and lists all but the limits', async () => {
      const body = { name: 'whole', group: 'default', capture: 'full' }
      const made = Object((await call('POST', '/api/token/', body)).data)
      expect(made).toMatchObject({ group: 'default', capture: 'full' })
      const { limits, ...listed } = made
      expect(limits).toMatchObject({ time_zone: 'UTC' })
      const search = await call('GET', '/api/token/search?keyword=whole')
      expect(search.data).toEqual([listed])
      expect(await call('GET', `/api/token/${made.id}`)).toMatchObject({ data: made })
      const change = { ...listed, name: 'still whole' }
      const updated = await call('PUT', '/api/token/', change)
      expect(updated.data).toEqual({ ...made, name: 'still whole' })
      const stop = { id: made.id, status: TokenStatus.disabled }
      expect((await call('PUT', '/api/token/?status_only=true', stop)).data).toEqual({
        ...made,
        name: 'still whole',
        status: TokenStatus.disabled,
      })
    })

    test('an empty object creates a token that never expires and has no quota', async () => {
      expect((await call('POST', '/api/token/', {})).data).toMatchObject({
        name: '',
        expired_time: NEVER_EXPIRES,
        remain_quota: 0,
        models: '',
      })
    })

    test('expiry 0 means never; a new token may already be expired', async () => {
      const zero = await call('POST', '/api/token/', { expired_time: 0 })
      expect(zero.data).toMatchObject({ expired_time: NEVER_EXPIRES })
      const past = await call('POST', '/api/token/', { expired_time: 1 })
      expect(past.data).toMatchObject({ expired_time: 1, status: TokenStatus.enabled })
    })

    // Clients must not be able to set these members.
    test('ignores members that the server sets', async () => {
      const { data } = await call('POST', '/api/token/', {
        id: 1,
        user_id: 1,
        key: 'k'.repeat(48),
        status: 2,
        used_quota: -100,
        created_time: 1,
      })
      expect(data).toMatchObject({ user_id: user.id, status: 1, used_quota: 0 })
      expect(Object(data).key).not.toBe('k'.repeat(48))
    })

    test.each([
      ['a name of 31 characters', { name: '令'.repeat(31) }, '30'],
      ['a bad subnet', { subnet: '10.0.0.0' }, '10.0.0.0'],
      ['a negative quota', { remain_quota: -2 }, '额度'],
      ['a number in quotes', { remain_quota: '5' }, 'remain_quota'],
      ['a fraction', { remain_quota: 0.5 }, 'remain_quota'],
      ['a list of models', { models: ['gpt-4o'] }, 'models'],
    ])('rejects %s and creates nothing', async (_what, body, sentence) => {
      const answer = await call('POST', '/api/token/', body)
      expect(answer).toMatchObject({ status: 200, json: { success: false } })
      expect(answer.message).toContain(sentence)
      expect((await call('GET', '/api/token/?p=0')).data).toEqual([])
    })

    test('the error is in the caller’s language', async () => {
      const answer = await server.call('POST', '/api/token/', {
        as: user,
        body: { name: 'n'.repeat(31) },
        headers: { 'accept-language': 'en-US,en;q=0.9' },
      })
      expect(answer.message).toBe('A token name can have at most 30 characters')
    })
  })

  describe('GET /api/token/', () => {
    test('ten per page, newest first, with the total', async () => {
      for (let index = 0; index < 11; index += 1) {
        await aToken(server, user.id, { name: `token ${index}` })
      }
      const first = await call('GET', '/api/token/?p=0')
      expect(first.headers['x-total-count']).toBe('11')
      const names = [first.data].flat().map((row) => Object(row).name)
      expect(names).toEqual(Array.from({ length: 10 }, (_, index) => `token ${10 - index}`))
      expect((await call('GET', '/api/token/?p=1')).data).toMatchObject([{ name: 'token 0' }])
      expect((await call('GET', '/api/token/?p=2')).data).toEqual([])
    })

    test('ordered by remaining quota: unlimited tokens first', async () => {
      await aToken(server, user.id, { name: 'little', remain_quota: 1 })
      await aToken(server, user.id, { name: 'unlimited', remain_quota: 0, unlimited_quota: true })
      await aToken(server, user.id, { name: 'much', remain_quota: 100 })
      const answer = await call('GET', '/api/token/?p=0&order=remain_quota')
      expect([answer.data].flat().map((row) => Object(row).name)).toEqual([
        'unlimited',
        'much',
        'little',
      ])
    })

    test('ordered by used quota', async () => {
      const used = await aToken(server, user.id, { name: 'used', unlimited_quota: true })
      await aToken(server, user.id, { name: 'unused' })
      await aSettledCall(server, { userId: user.id, tokenId: used.id, cost: 7 })
      const answer = await call('GET', '/api/token/?p=0&order=used_quota')
      expect(answer.data).toMatchObject([
        { name: 'used', used_quota: 7 },
        { name: 'unused', used_quota: 0 },
      ])
    })

    test('an unknown order is the default', async () => {
      await aToken(server, user.id)
      const answer = await call('GET', '/api/token/?p=abc&order=key')
      expect(answer.json['success']).toBe(true)
      expect(answer.data).toHaveLength(1)
    })
  })

  describe('GET /api/token/search', () => {
    test('by a part of the name in any case, or by an end of the key', async () => {
      for (const name of ['Alpha', 'alphabet', 'beta', '100%', '100x']) {
        await aToken(server, user.id, { name })
      }
      const names = async (keyword: string) => {
        const { data } = await call(
          'GET',
          `/api/token/search?keyword=${encodeURIComponent(keyword)}`,
        )
        return [data].flat().map((row) => Object(row).name)
      }
      expect(await names('ALPHA')).toEqual(['alphabet', 'Alpha'])
      expect(await names('lpha')).toEqual(['alphabet', 'Alpha'])
      expect(await names('bet')).toEqual(['beta', 'alphabet'])
      // Input is not a pattern.
      expect(await names('100%')).toEqual(['100%'])
      expect(await names('_eta')).toEqual([])
      expect(await names('')).toHaveLength(5)
      await aToken(server, user.id, { name: 'keyed', key: 'QwEr5TyUiOp1'.padEnd(44, 'x') + 'AsDf' })
      for (const shown of ['sk-QwEr…AsDf', 'sk-QwEr', 'QwEr5', 'AsDf']) {
        expect(await names(shown)).toEqual(['keyed'])
      }
      for (const inside of ['UiOp1', 'Df', 'sk-']) expect(await names(inside)).toEqual([])
    })
  })

  describe('PUT /api/token/', () => {
    // One API allows negative token quotas, and its consoles send the whole object back.
    test('a token with a negative quota can be renamed; its quota stays or is raised', async () => {
      const { id } = await aToken(server, user.id, { remain_quota: -500 })
      const kept = await call('PUT', '/api/token/', { id, name: 'b', remain_quota: -500 })
      expect(kept.data).toMatchObject({ name: 'b', remain_quota: -500 })
      const seen = { id, name: 'c', remain_quota: -400, remain_quota_was: -400 }
      expect((await call('PUT', '/api/token/', seen)).data).toMatchObject({ remain_quota: -500 })
      const lower = await call('PUT', '/api/token/', { id, remain_quota: -501 })
      expect(lower.json).toMatchObject({ success: false })
      const raised = await call('PUT', '/api/token/', { id, remain_quota: 5 })
      expect(raised.data).toMatchObject({ remain_quota: 5 })
    })

    test('writes all six members, missing ones as zero, and leaves the status', async () => {
      const token = await aToken(server, user.id, {
        name: 'before',
        remain_quota: 100,
        models: 'gpt-4o',
        status: TokenStatus.disabled,
      })
      const answer = await call('PUT', '/api/token/', { id: token.id, name: 'after', status: 1 })
      expect(answer.data).toMatchObject({
        id: token.id,
        key: token.key,
        name: 'after',
        status: TokenStatus.disabled,
        expired_time: 0,
        remain_quota: 0,
        models: '',
      })
    })

    test('with the quota that was seen, points spent meanwhile stay spent', async () => {
      const token = await aToken(server, user.id, { remain_quota: 100 })
      await aSettledCall(server, { userId: user.id, tokenId: token.id, cost: 30 })
      const body = { id: token.id, remain_quota: 150, remain_quota_was: 100 }
      expect((await call('PUT', '/api/token/', body)).data).toMatchObject({
        remain_quota: 120,
        used_quota: 30,
      })
    })

    test('without it, the given quota applies', async () => {
      const token = await aToken(server, user.id, { remain_quota: 100 })
      await aSettledCall(server, { userId: user.id, tokenId: token.id, cost: 30 })
      const answer = await call('PUT', '/api/token/', { id: token.id, remain_quota: 150 })
      expect(answer.data).toMatchObject({ remain_quota: 150 })
    })

    test.each([
      ['expired', { status: TokenStatus.expired, expired_time: 1 }, '过期'],
      ['exhausted', { status: TokenStatus.exhausted, remain_quota: 0 }, '用尽'],
    ])('rejects enabling a token that is %s', async (_what, over, sentence) => {
      const token = await aToken(server, user.id, over)
      const status = { id: token.id, status: TokenStatus.enabled }
      const full = await call('PUT', '/api/token/', { ...status, name: 'changed' })
      expect(full.message).toContain(sentence)
      const alone = await call('PUT', '/api/token/?status_only=true', status)
      expect(alone.message).toContain(sentence)
      expect(await stored(token.id)).toMatchObject({ name: 'a token', status: over.status })
    })

    test('an exhausted token can be enabled after its quota is raised', async () => {
      const token = await aToken(server, user.id, { status: TokenStatus.exhausted })
      await call('PUT', '/api/token/', { id: token.id, expired_time: -1, remain_quota: 5 })
      const answer = await call('PUT', '/api/token/?status_only=true', { id: token.id, status: 1 })
      expect(answer.data).toMatchObject({ status: TokenStatus.enabled, remain_quota: 5 })
    })
  })

  describe('PUT /api/token/?status_only', () => {
    test('changes only the status', async () => {
      const row = await aToken(server, user.id, { remain_quota: 100, models: 'gpt-4o' })
      const { id, key, name, models, subnet, expired_time, created_time } = row
      const token = { id, key, name, models, subnet, expired_time, created_time }
      await aSettledCall(server, { userId: user.id, tokenId: token.id, cost: 40 })
      const answer = await call('PUT', '/api/token/?status_only=true', {
        id: token.id,
        status: TokenStatus.disabled,
        name: 'ignored',
        // Toggling the status must never write back an old balance.
        remain_quota: 100,
      })
      expect(answer.data).toMatchObject({
        ...token,
        status: TokenStatus.disabled,
        remain_quota: 60,
        used_quota: 40,
      })
      expect(await stored(token.id)).toMatchObject({
        status: 2,
        remain_quota: 60,
        models: 'gpt-4o',
      })
    })

    test('any value of the query member counts; an empty one does not', async () => {
      const token = await aToken(server, user.id, { name: 'kept' })
      await call('PUT', '/api/token/?status_only=false', { id: token.id, status: 2 })
      expect(await stored(token.id)).toMatchObject({ name: 'kept', status: 2 })
      await call('PUT', '/api/token/?status_only=', { id: token.id, name: 'renamed' })
      expect(await stored(token.id)).toMatchObject({ name: 'renamed', status: 2 })
    })

    // Scripts write statuses other than the console's two; the owner can undo any of them.
    test.each([
      [TokenStatus.expired, '已过期'],
      [TokenStatus.exhausted, '已用尽'],
      [0, '已被禁用'],
      [5, '已被禁用'],
      [-1, '已被禁用'],
    ])('status %i is stored and blocks the token until it is enabled', async (status, reason) => {
      const { id, key } = await aToken(server, user.id, { unlimited_quota: true })
      const models = () =>
        server.call('GET', '/v1/models', { headers: { authorization: `Bearer sk-${key}` } })
      expect((await models()).status).toBe(200)
      const answer = await call('PUT', '/api/token/?status_only=true', { id, status })
      expect(answer.data).toMatchObject({ id, status })
      expect(await stored(id)).toMatchObject({ status })
      const refused = await models()
      expect([refused.status, refused.text]).toEqual([401, expect.stringContaining(reason)])
      await call('PUT', '/api/token/?status_only=true', { id, status: TokenStatus.enabled })
      expect((await models()).status).toBe(200)
    })

    test.each([
      ['a name that is too long', { name: '令'.repeat(31) }, '30'],
      ['a bad subnet', { subnet: '10.0.0.0' }, '10.0.0.0'],
      ['no status', { status: undefined }, 'status'],
    ])('rejects %s in the body', async (_what, over, sentence) => {
      const { id } = await aToken(server, user.id)
      const body = { id, status: TokenStatus.disabled, ...over }
      const answer = await call('PUT', '/api/token/?status_only=true', body)
      expect(answer.json).toEqual({ success: false, message: expect.stringContaining(sentence) })
      expect(await stored(id)).toMatchObject({ status: TokenStatus.enabled })
    })
  })

  describe('DELETE /api/token/:id', () => {
    test('deletes it; the second request finds nothing', async () => {
      const token = await aToken(server, user.id, { remain_quota: 10 })
      expect((await call('DELETE', `/api/token/${token.id}/`)).json).toEqual({
        success: true,
        message: '',
      })
      expect((await call('DELETE', `/api/token/${token.id}`)).json['success']).toBe(false)
      expect((await call('GET', `/api/token/${token.id}`)).json['success']).toBe(false)
    })

    test('an id is never reused', async () => {
      const token = await aToken(server, user.id)
      await call('DELETE', `/api/token/${token.id}`)
      const next = await call('POST', '/api/token/', {})
      expect(Object(next.data).id).toBeGreaterThan(token.id)
    })
  })

  // Another user's token is not found, so its existence is not revealed.
  describe('another user’s token', () => {
    test.each([
      ['GET', 'find', (id: number) => [`/api/token/${id}`]],
      ['PUT', 'update', (id: number) => ['/api/token/', { id, name: 'mine now' }]],
      ['PUT', 'status', (id: number) => ['/api/token/?status_only=1', { id, status: 2 }]],
      ['DELETE', 'delete', (id: number) => [`/api/token/${id}`]],
    ] as const)('%s (%s) is not found, even for admins', async (method, _what, input) => {
      const token = await aToken(server, user.id, { name: 'theirs', remain_quota: 5 })
      for (const role of [1, 10, 100]) {
        const other = await aUser(server, { role })
        const [path, body] = input(token.id)
        const missing = input(999_999)
        const answer = await call(method, String(path), body, other)
        const unknown = await call(method, String(missing[0]), missing[1], other)
        expect(answer.json).toEqual(unknown.json)
        expect(answer.json['success']).toBe(false)
      }
      expect(await stored(token.id)).toMatchObject({ name: 'theirs', status: 1, remain_quota: 5 })
    })

    test('is in no list and no search', async () => {
      await aToken(server, user.id, { name: 'theirs' })
      const other = await aUser(server, { role: 100 })
      for (const path of ['/api/token/', '/api/token/search?keyword=theirs']) {
        expect((await call('GET', path, undefined, other)).data).toEqual([])
      }
    })
  })
})
