import http from 'node:http'
import { text as wholeText } from 'node:stream/consumers'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { NEVER_EXPIRES } from '../../contract/token.ts'
import { knownModel } from '../channel/model-catalogue.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  chatBody,
  expectRefusal,
  post,
  startRelay,
  type RelayClient,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelaySetup } from '../test/use-relay.ts'

/** The calls that read: models, and the balance as old clients ask for it. */

let setup: RelaySetup
useRelaySetup((started) => (setup = started))

const get = (client: Pick<RelayClient, 'key'> | null, path: string) =>
  setup.call('GET', path, {
    headers: client === null ? {} : { authorization: `Bearer sk-${client.key}` },
  })

interface ModelList {
  object: string
  data: { id: string; object: string; owned_by: string; permission: unknown; root: string }[]
}
async function listed(client: RelayClient): Promise<ModelList> {
  const { status, json } = await get(client, '/v1/models')
  expect(status).toBe(200)
  // The shape that clients of OpenAI's API read.
  return json as unknown as ModelList
}
const idsOf = ({ data }: ModelList): string[] => data.map(({ id }) => id)

describe('the list of models', () => {
  test('is what the enabled channels of the owner’s groups serve, each once', async () => {
    const group = 'lister'
    const [one, two, three, four] = [aModel(), aModel(), aModel(), aModel()]
    await aRoute(setup, `gpt-4o,${one}`, { group })
    await aRoute(setup, `${one},${two}`, { group: `other,${group}` })
    await aRoute(setup, three, { group, status: 2 })
    await aRoute(setup, four, { group: 'third' })
    const client = await aClient(setup, { group })
    const list = await listed(client)
    expect(list.object).toBe('list')
    expect(idsOf(list).toSorted()).toEqual(['gpt-4o', one, two].toSorted())
    const both = await aClient(setup, { group: `${group},third` })
    expect(idsOf(await listed(both)).toSorted()).toEqual(['gpt-4o', one, two, four].toSorted())
  })

  test('is the token’s own list where it has one, served or not', async () => {
    const client = await aClient(setup, { token: { models: 'gpt-4o, nobody/serves-it' } })
    expect(idsOf(await listed(client))).toEqual(['gpt-4o', 'nobody/serves-it'])
  })

  test('describes known models in full and others as custom', async () => {
    const client = await aClient(setup, { token: { models: 'mine,gpt-4o' } })
    const { data } = await listed(client)
    expect(data.find(({ id }) => id === 'gpt-4o')).toEqual({
      id: 'gpt-4o',
      object: 'model',
      created: 1_626_777_600,
      owned_by: 'openai',
      permission: [expect.objectContaining({ object: 'model_permission', organization: '*' })],
      root: 'gpt-4o',
      parent: null,
    })
    expect(data.find(({ id }) => id === 'mine')).toMatchObject({
      owned_by: 'custom',
      permission: null,
      root: 'mine',
    })
  })

  test('requires a valid token, but no quota', async () => {
    expectRefusal(await get(null, '/v1/models'), { code: 'token_missing', status: 401 })
    expectRefusal(await get({ key: 'x'.repeat(48) }, '/v1/models'), {
      code: 'token_unknown',
      status: 401,
    })
    const poor = await aClient(setup, { quota: 0 })
    expect((await get(poor, '/v1/models')).status).toBe(200)
  })

  test.each(['/v1/models', '/v1/models/gpt-4o', '/v1/dashboard/billing/usage'])(
    '%s: a channel behind the key is for admins here, too',
    async (path) => {
      const { key } = await aClient(setup)
      expectRefusal(await get({ key: `${key}-1` }, path), {
        code: 'channel_pin_not_allowed',
        status: 403,
      })
    },
  )
})

describe('one model', () => {
  test('that we know is described, served or not', async () => {
    const client = await aClient(setup, { token: { models: 'mine' } })
    const answer = await get(client, '/v1/models/gpt-4o')
    expect(answer.json).toEqual(knownModel('gpt-4o'))
  })

  test.each(['vendor/big-model', 'vendor/family/model:free', '模型'])(
    'that this token may use is described, whatever its name: %s',
    async (name) => {
      const client = await aClient(setup, { token: { models: name } })
      for (const spelled of [encodeURIComponent(name), encodeURI(name)]) {
        const { json } = await get(client, `/v1/models/${spelled}`)
        expect(json).toMatchObject({ id: name, object: 'model', owned_by: 'custom' })
      }
      const other = await aClient(setup)
      const unknown = await get(other, `/v1/models/${encodeURIComponent(name)}`)
      expect(unknown.json).toMatchObject({ error: { code: 'model_not_found' } })
    },
  )

  test('that is unknown is an error object with status 200, as on the wire', async () => {
    const client = await aClient(setup)
    const { status, json } = await get(client, '/v1/models/nothing')
    expect(status).toBe(200)
    expect(json).toEqual({
      error: {
        message: "The model 'nothing' does not exist",
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
    })
  })

  test('whose name is not properly encoded is taken as it stands', async () => {
    const client = await aClient(setup)
    const { json } = await get(client, '/v1/models/100%')
    expect(json).toMatchObject({ error: { message: "The model '100%' does not exist" } })
  })
})

describe('the balance', () => {
  let client: RelayClient
  let model: string
  /** Remaining and used amounts: of the token, then of its owner, after one call of 18 points. */
  const TOKEN = { remain: 1000 - 18, used: 18 }
  const USER = { remain: 50_000 - 18, used: 18 }
  beforeAll(async () => {
    model = await aServedModel(setup)
    const token = { unlimited_quota: false, remain_quota: 1000, expired_time: 2_000_000_000 }
    client = await aClient(setup, { quota: 50_000, token })
    await post(setup, client, chatBody(model))
  })
  beforeEach(async () => {
    await setup.app.options.set('QuotaPerUnit', '1000')
  })

  const combinations: [string, string, typeof TOKEN, number][] = [
    ['true', 'true', TOKEN, 1000],
    ['true', 'false', TOKEN, 1],
    ['false', 'true', USER, 1000],
    ['false', 'false', USER, 1],
  ]
  test.each(combinations)(
    'with token figures %s and currency %s',
    async (ofToken, inCurrency, figures, unit) => {
      await setup.app.options.set('DisplayTokenStatEnabled', ofToken)
      await setup.app.options.set('DisplayInCurrencyEnabled', inCurrency)
      const limit = (figures.remain + figures.used) / unit
      for (const prefix of ['', '/v1']) {
        const { json } = await get(client, `${prefix}/dashboard/billing/subscription`)
        expect(json).toEqual({
          object: 'billing_subscription',
          has_payment_method: true,
          soft_limit_usd: limit,
          hard_limit_usd: limit,
          system_hard_limit_usd: limit,
          access_until: ofToken === 'true' ? 2_000_000_000 : 0,
        })
        const query = '?start_date=2026-01-01&end_date=2026-02-01'
        const usage = await get(client, `${prefix}/dashboard/billing/usage${query}`)
        expect(usage.json).toEqual({
          object: 'list',
          total_usage: (figures.used / unit) * 100,
        })
        // How clients show it.
        const balance = limit - Number(usage.json['total_usage']) / 100
        expect(balance).toBeCloseTo(figures.remain / unit, 9)
      }
    },
  )

  test('of an unlimited token has no limit, where tokens are shown', async () => {
    const free = await aClient(setup, { quota: 700 })
    for (const inCurrency of ['true', 'false']) {
      await setup.app.options.set('DisplayInCurrencyEnabled', inCurrency)
      await setup.app.options.set('DisplayTokenStatEnabled', 'true')
      const { json } = await get(free, '/dashboard/billing/subscription')
      expect(json).toMatchObject({ hard_limit_usd: 100_000_000, access_until: 0 })
    }
    await setup.app.options.set('DisplayTokenStatEnabled', 'false')
    const { json } = await get(free, '/dashboard/billing/subscription')
    expect(json).toMatchObject({ hard_limit_usd: 700 })
  })

  test('is up to date with the call just made', async () => {
    await setup.app.options.set('DisplayTokenStatEnabled', 'true')
    await setup.app.options.set('DisplayInCurrencyEnabled', 'false')
    const token = { unlimited_quota: false, remain_quota: 5000, expired_time: NEVER_EXPIRES }
    const own = await aClient(setup, { token })
    for (let calls = 1; calls <= 3; calls += 1) {
      await post(setup, own, chatBody(model))
      const { json } = await get(own, '/v1/dashboard/billing/usage')
      expect(json['total_usage']).toBe(calls * 18 * 100)
    }
  })

  test('is refused to those whose token is', async () => {
    const gone = await aClient(setup, { token: { expired_time: 1 } })
    for (const what of ['subscription', 'usage']) {
      expectRefusal(await get(gone, `/v1/dashboard/billing/${what}`), {
        code: 'token_expired',
        status: 401,
      })
    }
  })

  test('counts among the calls that are limited by address, and the relay does not', async () => {
    const limited = await startRelay(undefined, { GLOBAL_API_RATE_LIMIT: '3' })
    const own = await aClient(limited)
    const headers = { authorization: `Bearer ${own.key}` }
    const statuses: number[] = []
    for (let call = 0; call < 5; call += 1) {
      const path = '/v1/dashboard/billing/usage'
      const answer = await limited.call('GET', path, { headers })
      statuses.push(answer.status)
      if (answer.status !== 429) continue
      expect(answer.text).toBe('')
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
    }
    expect(statuses).toEqual([200, 200, 200, 429, 429])
    const quick = await aServedModel(limited)
    expect((await post(limited, own, chatBody(quick))).status).toBe(200)
    await limited.close()
  })
})

describe('other addresses', () => {
  test.each([
    ['POST', '/v1/edits'],
    ['GET', '/v1/files'],
    ['GET', '/v1/files/file-1/content'],
    ['DELETE', '/v1/files/file-1'],
    ['GET', '/v1/fine_tuning/jobs/1/events'],
    ['DELETE', '/v1/models/gpt-4o'],
    ['POST', '/v1/assistants/1/files'],
    ['POST', '/v1/threads/1/runs/2/submit_tool_outputs'],
  ])('%s %s is not there yet: 501, to those with a token', async (method, path) => {
    const client = await aClient(setup)
    const headers = { authorization: `Bearer ${client.key}` }
    const body = method === 'POST' ? { body: {} } : {}
    expectRefusal(await setup.call(method, path, { headers, ...body }), {
      code: 'not_implemented',
      status: 501,
      wireCode: 'api_not_implemented',
    })
    expectRefusal(await setup.call(method, path, body), { code: 'token_missing', status: 401 })
  })

  test.each([
    ['POST', '/v1/nothing'],
    ['GET', '/v1'],
    ['GET', '/v1/'],
    ['GET', '/v1/chat/completions'],
    ['PUT', '/v1/chat/completions'],
    ['POST', '/v1/chat'],
    ['POST', '/v1/CHAT/completions'],
    ['POST', '/v1/v1'],
    ['POST', '//v1/oneapi/proxy/1/chat'],
    ['POST', '/dashboard/billing/usage'],
    ['GET', '/v1/dashboard/billing/other'],
  ])('%s %s does not exist: 404, and no browser remembers it', async (method, path) => {
    const answer = await setup.call(method, path)
    expect(answer.status).toBe(404)
    expect(answer.json).toMatchObject({ error: { type: 'invalid_request_error' } })
    expect(answer.headers['cache-control']).toBe('no-store')
  })

  test.each([
    ['POST', '/v1beta/cachedContents'],
    ['GET', '/v1beta/files/1'],
    ['POST', '/v1alpha/auth_tokens'],
    ['POST', '/v1beta/models/imagen-4:predict'],
    ['POST', '/v1beta/fileSearchStores/1:importFile'],
  ])('%s %s is not there yet: 501, as Gemini tells it', async (method, path) => {
    const { key } = await aClient(setup)
    const body = method === 'POST' ? { body: {} } : {}
    const answer = await setup.call(method, path, { headers: { 'x-goog-api-key': key }, ...body })
    expect(answer.status).toBe(501)
    expect(answer.json).toMatchObject({ error: { code: 501, status: 'UNIMPLEMENTED' } })
  })

  test.each([
    ['POST', '/v1beta/models/x:nothing', { error: { code: 404, status: 'NOT_FOUND' } }],
    ['GET', '/v1/messages', { type: 'error', error: { type: 'not_found_error' } }],
  ])('%s %s does not exist, told in the dialect of the address', async (method, path, told) => {
    const answer = await setup.call(method, path)
    expect(answer.status).toBe(404)
    expect(answer.json).toMatchObject(told)
    expect(JSON.stringify(answer.json)).toContain(`${method} ${path}`)
    expect(answer.headers['cache-control']).toBe('no-store')
  })

  test.each([
    ['authorization', '/v1/models'],
    ['x-api-key', '/v1/models'],
    ['x-goog-api-key', '/v1beta/models/unheard-of'],
    ['api-key', '/v1/dashboard/billing/usage'],
    ['x-api-key', '/v1/files'],
  ])('no cache keeps what the key in %s reads from %s', async (name, path) => {
    const { key } = await aClient(setup)
    const { headers } = await setup.call('GET', path, { headers: { [name]: key } })
    expect(headers['cache-control']).toBe('no-store')
  })

  test('the head alone of what can be read', async () => {
    const { key } = await aClient(setup)
    const headers = { authorization: `Bearer ${key}` }
    const whole = await setup.call('GET', '/v1/models', { headers })
    const head = await setup.call('HEAD', '/v1/models', { headers })
    expect([head.status, head.text]).toEqual([200, ''])
    expect(head.headers['content-length']).toBe(whole.headers['content-length'])
    expect((await setup.call('HEAD', '/v1/models')).status).toBe(401)
  })

  test('a WebSocket for responses: 426, so that its client uses HTTP immediately', async () => {
    const headers = { connection: 'Upgrade', upgrade: 'websocket' }
    const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
      http.get(`${setup.url}/v1/responses`, { headers }, resolve).on('error', reject)
    })
    expect([answer.statusCode, answer.headers.upgrade]).toEqual([426, 'HTTP/1.1'])
    expect(await wholeText(answer)).toContain(errorText('upgrade_unsupported', 'zh'))
  })

  test.each([
    '/v1/chat/completions/',
    '/v1/chat/completions?api-version=1',
    '/v1//chat/completions',
    '//v1/chat/completions',
    '/v1/v1/chat/completions',
    '/v1/chat/completions/chat/completions',
    '/v1/chat/completions/v1/chat/completions',
    '/v1beta/v1beta/openai/chat/completions',
  ])('slashes too many, an address twice and a query change nothing: %s', async (path) => {
    const client = await aClient(setup)
    const model = await aServedModel(setup)
    expect((await post(setup, client, chatBody(model), { path })).status).toBe(200)
  })

  test.each([
    'embeddings',
    'images/generations',
    'images/edits',
    'audio/speech',
    'rerank',
    'moderations',
  ])('nor in the address of another surface: %s', async (surface) => {
    const { key } = await aClient(setup)
    const input = { headers: { authorization: `Bearer ${key}` }, body: { model: 'no-such-model' } }
    const once = await setup.call('POST', `/v1/${surface}`, input)
    expect(once.status).toBe(503)
    for (const twice of [`/v1/${surface}/${surface}`, `/v1/${surface}/v1/${surface}`]) {
      expect((await setup.call('POST', twice, input)).status).toBe(503)
    }
  })

  test.each(['/v1/chat/completions/models', '/v1/responses/v1/models'])(
    'models are listed behind the address of a surface: %s',
    async (path) => {
      const { key } = await aClient(setup)
      const headers = { authorization: `Bearer ${key}` }
      expect((await setup.call('GET', path, { headers })).json).toMatchObject({ object: 'list' })
    },
  )

  test.each(['/v1', '/v1beta', '/v1alpha'])('nor does %s before Gemini’s own', async (before) => {
    const client = await aClient(setup)
    const model = await aServedModel(setup)
    const path = `${before}/v1beta/models/${model}:generateContent`
    const body = { contents: [{ parts: [{ text: 'hi' }] }] }
    expect((await post(setup, client, body, { path })).status).toBe(200)
  })

  test('under a base path, too', async () => {
    const based = await startRelay(undefined, { BASE_PATH: '/gate/way' })
    const client = await aClient(based)
    const model = await aServedModel(based)
    const answer = await post(based, client, chatBody(model), { path: '/v1/chat/completions' })
    expect(answer.status).toBe(200)
    await based.close()
  })
})

describe('a page of another origin', () => {
  test('may call: its preflight is answered without a token', async () => {
    const answer = await setup.call('OPTIONS', '/v1/chat/completions', {
      headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' },
    })
    expect(answer.status).toBe(204)
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET,POST,PUT,DELETE,OPTIONS',
      'access-control-max-age': '43200',
    })
    // A wildcard alone does not cover the one header that every call needs.
    const allowed = String(answer.headers['access-control-allow-headers'])
    expect(allowed.split(',')).toEqual(['*', 'Authorization'])
    expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
  })

  test('may read the response, its errors and its headers', async () => {
    const { headers } = await setup.call('POST', '/v1/chat/completions', { body: {} })
    expect(headers['access-control-allow-origin']).toBe('*')
    const exposed = String(headers['access-control-expose-headers'])
    expect(exposed).toContain('X-Oneapi-Request-Id')
    expect(exposed).toContain('X-Gatehouse-Quota')
    expect(exposed).toContain('X-Request-Id, Retry-After, X-Should-Retry')
  })
})
