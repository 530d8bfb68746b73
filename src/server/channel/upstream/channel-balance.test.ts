import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { channelTypesInListOrder } from '../../../contract/channel-types.ts'
import { ChannelStatus } from '../../../contract/channel.ts'
import { aChannel, anAdmin, type TestUser } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { startHeldUpstream } from '../../test/held-upstream.ts'
import { eventually } from '../../test/relay-setup.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'
import { statusAfterBalance, typesWithBalance } from './channel-balance.ts'

/** Responses of the upstream by address without query; a number is a status. */
type Answers = Record<string, unknown>

interface Asked {
  url: string
  authorization: string
  apiKey: string
}

/** An upstream with only the given responses. */
async function startUpstream() {
  let answers: Answers = {}
  let asked: Asked[] = []
  const server = http.createServer((request, response) => {
    const { authorization = '', 'api-key': apiKey = '' } = request.headers
    asked.push({ url: request.url ?? '', authorization, apiKey: String(apiKey) })
    const answer = answers[(request.url ?? '').split('?')[0] ?? '']
    if (typeof answer === 'number') response.writeHead(answer, { location: '/elsewhere' })
    else if (answer === undefined) response.writeHead(404)
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on TCP has an address object.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    answer(next: Answers) {
      answers = next
      asked = []
    },
    asked: () => asked,
    close: () => server.close(),
  }
}

/** Shapes from the providers' own documentation. */
const DOCUMENTED: Record<number, { answers: Answers; balance: number; asked: Partial<Asked>[] }> = {
  1: {
    answers: {
      '/v1/dashboard/billing/subscription': {
        object: 'billing_subscription',
        has_payment_method: true,
        hard_limit_usd: 20,
      },
      '/v1/dashboard/billing/usage': { object: 'list', total_usage: 450 },
    },
    balance: 15.5,
    asked: [
      { url: '/v1/dashboard/billing/subscription', authorization: 'Bearer sk-balance' },
      { url: '/v1/dashboard/billing/usage?start_date=2027-01-01&end_date=2027-01-15' },
    ],
  },
  8: {
    answers: {
      '/v1/dashboard/billing/subscription': { has_payment_method: false, hard_limit_usd: 5.1 },
      '/v1/dashboard/billing/usage': { total_usage: 10 },
    },
    balance: 5,
    // Without a payment method usage is not counted per month.
    asked: [{}, { url: '/v1/dashboard/billing/usage?start_date=2026-10-07&end_date=2027-01-15' }],
  },
  4: {
    answers: { '/dashboard/billing/credit_grants': { total_available: 12.34 } },
    balance: 12.34,
    asked: [{ authorization: 'Bearer sk-balance' }],
  },
  5: {
    answers: { '/sb-api/user/status': { data: { credit: '123400' } } },
    balance: 123_400,
    asked: [{ url: '/sb-api/user/status?api_key=sk-balance' }],
  },
  10: {
    answers: {
      '/api/report/getUserOverview': { success: true, message: '', data: { totalPoints: 500_000 } },
    },
    balance: 500_000,
    asked: [{ apiKey: 'sk-balance', authorization: '' }],
  },
  12: {
    answers: { '/dashboard/billing/credit_grants': { total_remaining: 3 } },
    balance: 3,
    asked: [{ authorization: 'Bearer sk-balance' }],
  },
  13: {
    answers: { '/dashboard/billing/credit_grants': { total_available: 42 } },
    balance: 42,
    asked: [{ authorization: 'Bearer sk-balance' }],
  },
  20: {
    answers: { '/v1/credits': { data: { total_credits: 100.5, total_usage: 25.75 } } },
    balance: 74.75,
    asked: [{ authorization: 'Bearer sk-balance' }],
  },
  25: {
    answers: {
      '/v1/users/me/balance': {
        code: 0,
        status: true,
        data: { available_balance: 49.58, voucher_balance: 46.58, cash_balance: 3 },
      },
    },
    balance: 49.58,
    asked: [{ authorization: 'Bearer sk-balance' }],
  },
  36: {
    answers: {
      '/user/balance': {
        is_available: true,
        balance_infos: [
          { currency: 'USD', total_balance: '1.00' },
          { currency: 'CNY', total_balance: '110.00', granted_balance: '10.00' },
        ],
      },
    },
    balance: 110,
    asked: [{ authorization: 'Bearer sk-balance' }],
  },
  44: {
    answers: {
      '/v1/user/info': { code: 20_000, status: true, data: { totalBalance: '88.88' } },
    },
    balance: 88.88,
    asked: [{ authorization: 'Bearer sk-balance' }],
  },
}

forEachDatabase('balances', (open) => {
  let server: TestServer
  let upstream: Awaited<ReturnType<typeof startUpstream>>
  let admin: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    upstream = await startUpstream()
    admin = await anAdmin(server)
  })
  afterAll(async () => {
    await server.close()
    upstream.close()
  })
  beforeEach(async () => {
    await server.database.write.deleteFrom('channels').execute()
  })

  const get = (path: string) => server.call('GET', path, { as: admin })
  const stored = async (id: number) => Object((await get(`/api/channel/${id}`)).data)
  const aCase = (type: number, over: object = {}) =>
    aChannel(server, { type, key: 'sk-balance', base_url: upstream.url, ...over })
  const refresh = (id: number) => get(`/api/channel/update_balance/${id}`)

  describe('GET /api/channel/update_balance/:id', () => {
    test.each(Object.entries(DOCUMENTED))('type %s', async (type, { answers, balance, asked }) => {
      upstream.answer(answers)
      const id = await aCase(Number(type))
      const answer = await refresh(id)
      expect(answer.json).toEqual({ success: true, message: '', balance })
      expect(upstream.asked()).toMatchObject(asked)
      expect(await stored(id)).toMatchObject({
        balance,
        balance_updated_time: server.clock.nowSeconds(),
      })
    })

    test('an address that ends in a version leads to the same paths', async () => {
      for (const type of [1, 36, 44]) {
        upstream.answer(DOCUMENTED[type]?.answers ?? {})
        const id = await aCase(type, { base_url: `${upstream.url}/v1` })
        expect((await refresh(id)).json).toMatchObject({ balance: DOCUMENTED[type]?.balance })
      }
    })

    test.each([3, 14, 24, 33, 43, 50, 999])('type %i is reported as unsupported', async (type) => {
      upstream.answer({})
      const id = await aCase(type)
      const answer = await refresh(id)
      expect(answer.json).toEqual({ success: false, message: expect.stringContaining('余额查询') })
      expect(upstream.asked()).toEqual([])
    })

    // A wrong balance is worse than an old one.
    test.each<[string, number, unknown, string]>([
      ['a page', 4, '<html>', '无法解析'],
      ['an empty object', 4, {}, '余额'],
      ['a text that is no number', 4, { total_available: 'plenty' }, '余额'],
      ['a number beyond all numbers', 4, '{"total_available":1e999}', '余额'],
      ['an answer that says no', 10, { success: false, message: 'no' }, '余额'],
      ['a redirect', 4, 302, '302'],
      ['a fault', 4, 500, '500'],
      ['a wrong key', 4, 401, '401'],
      ['eleven megabytes', 4, 'x'.repeat(11 * 2 ** 20), '无法解析'],
    ])('%s changes nothing', async (_what, type, answered, sentence) => {
      const id = await aCase(type)
      await server.database.write
        .updateTable('channels')
        .set({ balance: 7, balance_updated_time: 5 })
        .where('id', '=', id)
        .execute()
      const path = type === 10 ? '/api/report/getUserOverview' : '/dashboard/billing/credit_grants'
      upstream.answer({ [path]: answered })
      const answer = await refresh(id)
      expect(answer).toMatchObject({ status: 200, json: { success: false } })
      expect(answer.message).toContain(sentence)
      expect(await stored(id)).toMatchObject({ balance: 7, balance_updated_time: 5 })
      expect(upstream.asked()).toHaveLength(1)
    })

    test('an account in dollars is not shown as yuan', async () => {
      upstream.answer({
        '/user/balance': { balance_infos: [{ currency: 'USD', total_balance: '9.00' }] },
      })
      expect((await refresh(await aCase(36))).message).toContain('USD')
      for (const [type, base_url] of [
        [25, 'https://api.moonshot.ai/v1'],
        [44, 'https://api.siliconflow.com'],
      ] as const) {
        expect((await refresh(await aCase(type, { base_url }))).message).toContain('USD')
      }
    })

    test('a key without access to the account’s credits reports its own remaining limit', async () => {
      const id = await aCase(20)
      upstream.answer({ '/v1/credits': 403, '/v1/key': { data: { limit_remaining: 74.5 } } })
      expect((await refresh(id)).json).toMatchObject({ success: true, balance: 74.5 })
      upstream.answer({ '/v1/credits': 403, '/v1/key': { data: { limit_remaining: null } } })
      expect((await refresh(id)).message).toContain('403')
      upstream.answer({ '/v1/credits': 500, '/v1/key': { data: { limit_remaining: 1 } } })
      expect((await refresh(id)).message).toContain('500')
      expect(await stored(id)).toMatchObject({ balance: 74.5 })
    })

    test('a key in the upstream’s reply or address is in no response', async () => {
      upstream.answer({ '/sb-api/user/status': 418 })
      const answers = [await refresh(await aCase(5))]
      upstream.answer({ '/dashboard/billing/credit_grants': 403 })
      answers.push(await refresh(await aCase(4)))
      answers.push(await refresh(await aCase(5, { base_url: 'http://127.0.0.1:9' })))
      for (const { text, json } of answers) {
        expect(json['success']).toBe(false)
        expect(text).not.toContain('sk-balance')
        expect(text).not.toContain('127.0.0.1')
      }
    })

    test('an unknown channel, and a closed port', async () => {
      expect((await refresh(999_999)).message).toBe('没有找到该记录')
      const dead = await aCase(4, { base_url: 'http://127.0.0.1:9' })
      expect((await refresh(dead)).message).toBe('无法连接上游')
      const nowhere = await aCase(8, { base_url: '' })
      expect((await refresh(nowhere)).message).toBe('请先填写接口地址')
    })
  })

  describe('GET /api/channel/update_balance', () => {
    const finished = () =>
      eventually(async () => {
        const now = Object((await get('/api/channel/update_balance/status')).data)
        return now.running === false && now
      }, 'the end of the run')

    test('reads all supported balances in the background, and counts them', async () => {
      upstream.answer({ '/dashboard/billing/credit_grants': { total_available: 5 } })
      const good = await aCase(4)
      await aCase(12)
      const other = await aCase(14)
      const answer = await get('/api/channel/update_balance')
      expect(answer.json).toEqual({ success: true, message: '' })
      expect(await finished()).toEqual({
        running: false,
        scope: 'all',
        done: 2,
        total: 2,
        failed: 1,
        first_failure: { channel: expect.any(String), message: expect.any(String) },
      })
      expect(await stored(good)).toMatchObject({ balance: 5 })
      expect(await stored(other)).toMatchObject({ balance: 0, balance_updated_time: 0 })
    })

    test('a second request during the run succeeds without another run', async () => {
      const held = await startHeldUpstream()
      await aCase(4, { base_url: held.url })
      const start = () => get('/api/channel/update_balance')
      const answers = await Promise.all([start(), start()])
      await eventually(() => held.asked() > 0, 'the question')
      answers.push(await start())
      for (const { json } of answers) expect(json).toEqual({ success: true, message: '' })
      held.release()
      expect(await finished()).toMatchObject({ done: 1, total: 1 })
      expect(held.asked()).toBe(1)
      await held.close()
    })

    test('disables a channel that was empty twice, if configured', async () => {
      upstream.answer({ '/dashboard/billing/credit_grants': { total_available: 0 } })
      const id = await aCase(4, { name: 'spent', models: 'spent-model' })
      const run = async () => {
        await get('/api/channel/update_balance')
        await finished()
        return (await stored(id)).status
      }
      expect(await run()).toBe(ChannelStatus.enabled)
      expect(await run()).toBe(ChannelStatus.enabled)
      await server.app.options.set('AutomaticDisableChannelEnabled', 'true')
      expect(await run()).toBe(ChannelStatus.autoDisabled)
      await server.app.options.set('AutomaticDisableChannelEnabled', 'false')
      expect((await get('/api/user/available_models')).data).not.toContain('spent-model')
      const { data } = await get(`/api/log/?type=4&channel=${id}`)
      expect(data).toMatchObject([{ content: `渠道「spent」（#${id}）已被自动禁用：上游余额不足` }])
    })

    test.each(['all', 'one'])('enables it when it is refilled, for a run over %s', async (by) => {
      const { options } = server.app
      upstream.answer({ '/dashboard/billing/credit_grants': { total_available: 0 } })
      const id = await aCase(4, { name: 'filled' })
      const run = async () => {
        await get('/api/channel/update_balance')
        await finished()
      }
      const ask = by === 'all' ? run : () => get(`/api/channel/update_balance/${id}`)
      await options.set('AutomaticDisableChannelEnabled', 'true')
      await run()
      await run()
      await options.set('AutomaticEnableChannelEnabled', 'true')
      await ask()
      expect((await stored(id)).status).toBe(ChannelStatus.autoDisabled)
      upstream.answer({ '/dashboard/billing/credit_grants': { total_available: 3 } })
      await ask()
      await options.set('AutomaticEnableChannelEnabled', 'false')
      await options.set('AutomaticDisableChannelEnabled', 'false')
      expect((await stored(id)).status).toBe(ChannelStatus.enabled)
      const { data } = await get(`/api/log/?type=4&channel=${id}`)
      expect(data).toMatchObject([
        { content: `渠道「filled」（#${id}）已被自动启用：上游余额已恢复` },
        {},
      ])
    })

    // Local servers return 200 for any path; this must not count as an empty balance.
    test.each<[string, unknown]>([
      ['a complaint', { error: 'Unexpected endpoint or method. Returning 200 anyway' }],
      ['an empty object', {}],
      ['a list', { object: 'list', data: [] }],
      ['null in all places', { data: null, hard_limit_usd: null, total_available: null }],
      ['a word', 'OK'],
    ])(
      'B26: a server that responds to every path with %s stays enabled',
      async (_what, answered) => {
        const places = Object.values(DOCUMENTED).flatMap(({ answers }) => Object.keys(answers))
        upstream.answer(Object.fromEntries(places.map((place) => [place, answered])))
        const ids = await Promise.all(Object.keys(DOCUMENTED).map((type) => aCase(Number(type))))
        await server.app.options.set('AutomaticDisableChannelEnabled', 'true')
        for (const _round of [1, 2]) {
          await get('/api/channel/update_balance')
          expect(await finished()).toMatchObject({ total: ids.length, failed: ids.length })
        }
        await server.app.options.set('AutomaticDisableChannelEnabled', 'false')
        for (const id of ids) {
          const { status, balance } = await stored(id)
          expect({ status, balance }).toEqual({ status: ChannelStatus.enabled, balance: 0 })
        }
      },
    )
  })
})

describe('statusAfterBalance', () => {
  const { enabled, disabled, autoDisabled } = ChannelStatus
  const empty = { type: 4, status: enabled, balance: 0, askedSeconds: 100, pausedFor: null }
  const spent = { ...empty, status: autoDisabled, pausedFor: 'balance' }
  const rules = (disables: boolean, enables: boolean) => ({ disables, enables })

  test.each([
    ['empty twice', empty, 0, autoDisabled],
    ['below zero twice', { ...empty, balance: -1 }, -2, autoDisabled],
    ['empty for the first time', { ...empty, balance: 9 }, 0, null],
    ['never asked before', { ...empty, askedSeconds: 0 }, 0, null],
    ['filled again', empty, 1, null],
    ['disabled by a person', { ...empty, status: disabled }, 0, null],
    // OpenAI no longer reports it, and compatible services return 0 for "unlimited".
    ['type 1', { ...empty, type: 1 }, 0, null],
  ])('%s', (_what, before, balance, expected) => {
    expect(statusAfterBalance(before, balance, rules(true, true))).toBe(expected)
    expect(statusAfterBalance(before, balance, rules(false, true))).toBe(null)
  })

  test.each([
    ['filled again', spent, 0.5, enabled],
    ['still empty', spent, 0, null],
    ['refused', { ...spent, pausedFor: 'refused' }, 9, null],
    ['disabled by another program', { ...spent, pausedFor: null }, 9, null],
    ['disabled by a person since', { ...spent, status: disabled }, 9, null],
  ])('for an automatically disabled channel: %s', (_what, before, balance, expected) => {
    expect(statusAfterBalance(before, balance, rules(true, true))).toBe(expected)
    expect(statusAfterBalance(before, balance, rules(true, false))).toBe(null)
  })
})

test('the console shows a balance for exactly the supported types', () => {
  const shown = channelTypesInListOrder.filter((row) => row.balance !== null)
  expect(shown.map(({ type }) => type).toSorted((a, b) => a - b)).toEqual(
    typesWithBalance.toSorted((a, b) => a - b),
  )
})
