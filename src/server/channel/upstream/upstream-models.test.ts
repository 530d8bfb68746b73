import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { aChannel, anAdmin, aUser, type TestUser } from '../../test/factories.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { startTestServer, type TestServer } from '../../test/test-app.ts'
import type { AskUpstream, UpstreamQuestion } from './channel-upstream.ts'
import { readUpstreamModels } from './upstream-models.ts'

const KEY = 'sk-models-0123456789'

/** A received request. */
interface Asked {
  url: string
  headers: http.IncomingHttpHeaders
}

let answer: { status: number; body: string }
let asked: Asked[]
const upstream = http.createServer((request, response) => {
  asked.push({ url: request.url ?? '', headers: request.headers })
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body)
})
let url = ''

beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  // A server that listens on TCP has an address object.
  url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
})
afterAll(() => upstream.close())
beforeEach(() => {
  asked = []
})

const answers = (body: unknown, status = 200) => {
  answer = { status, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

/** Response shapes from the providers' documentation, with path and header of the request. */
const DIALECTS: {
  type: number
  config?: string
  body: unknown
  path: string
  header: [string, string]
  models: string[]
}[] = [
  {
    type: 1,
    body: { object: 'list', data: [{ id: 'gpt-4o' }, { id: 'dall-e-3' }, { id: 'gpt-4o' }] },
    path: '/v1/models',
    header: ['authorization', `Bearer ${KEY}`],
    models: ['dall-e-3', 'gpt-4o'],
  },
  {
    type: 50,
    body: { data: [{ id: 'Qwen/Qwen3-8B', object: 'model', owned_by: 'vllm' }] },
    path: '/models',
    header: ['authorization', `Bearer ${KEY}`],
    models: ['Qwen/Qwen3-8B'],
  },
  {
    type: 40,
    body: { data: [{ id: 'doubao-seed-1.6' }] },
    path: '/api/v3/models',
    header: ['authorization', `Bearer ${KEY}`],
    models: ['doubao-seed-1.6'],
  },
  {
    type: 14,
    body: {
      data: [{ type: 'model', id: 'claude-sonnet-4-5', display_name: 'x' }],
      has_more: false,
    },
    path: '/v1/models?limit=1000',
    header: ['x-api-key', KEY],
    models: ['claude-sonnet-4-5'],
  },
  {
    type: 24,
    config: '{"api_version":"v1"}',
    body: {
      models: [
        { name: 'models/gemini-2.5-pro', supportedGenerationMethods: ['generateContent'] },
        { name: 'models/gemini-embedding-001', supportedGenerationMethods: ['embedContent'] },
        { name: 'models/aqa', supportedGenerationMethods: ['generateAnswer'] },
      ],
    },
    path: '/v1/models?pageSize=1000',
    header: ['x-goog-api-key', KEY],
    models: ['gemini-2.5-pro', 'gemini-embedding-001'],
  },
  {
    type: 51,
    body: { object: 'list', data: [{ id: 'models/gemini-2.5-flash', object: 'model' }] },
    path: '/models',
    header: ['authorization', `Bearer ${KEY}`],
    models: ['gemini-2.5-flash'],
  },
  {
    type: 52,
    body: { data: [{ type: 'model', id: 'kimi-k2' }], has_more: false },
    path: '/v1/models?limit=1000',
    header: ['x-api-key', KEY],
    models: ['kimi-k2'],
  },
  {
    type: 16,
    body: { object: 'list', data: [{ id: 'glm-4.6', object: 'model' }] },
    path: '/api/paas/v4/models',
    header: ['authorization', `Bearer ${KEY}`],
    models: ['glm-4.6'],
  },
  {
    type: 17,
    body: { object: 'list', data: [{ id: 'qwen-plus', object: 'model' }] },
    path: '/compatible-mode/v1/models',
    header: ['authorization', `Bearer ${KEY}`],
    models: ['qwen-plus'],
  },
  {
    type: 38,
    body: [
      { language: 'ZH', name: 'Chinese', supports_formality: false },
      { language: 'EN-GB', name: 'English (British)', supports_formality: false },
    ],
    path: '/v2/languages?type=target',
    header: ['authorization', `DeepL-Auth-Key ${KEY}`],
    models: ['deepl-en-gb', 'deepl-zh'],
  },
  {
    type: 39,
    body: [{ id: 'Qwen/Qwen3-Next', object: 'model', type: 'chat' }],
    path: '/v1/models',
    header: ['authorization', `Bearer ${KEY}`],
    models: ['Qwen/Qwen3-Next'],
  },
  {
    type: 30,
    body: { models: [{ name: 'llama3.2:latest', model: 'llama3.2:latest', size: 1 }] },
    path: '/api/tags',
    header: ['authorization', `Bearer ${KEY}`],
    models: ['llama3.2:latest'],
  },
  {
    type: 35,
    body: { models: [{ name: 'command-a-03-2025', endpoints: ['chat'] }] },
    path: '/v1/models?page_size=1000',
    header: ['authorization', `Bearer ${KEY}`],
    models: ['command-a-03-2025'],
  },
  {
    type: 37,
    config: '{"user_id":"0123abcd"}',
    body: { success: true, result: [{ id: '1', name: '@cf/meta/llama-3-8b-instruct' }] },
    path: '/client/v4/accounts/0123abcd/ai/models/search?per_page=1000',
    header: ['authorization', `Bearer ${KEY}`],
    models: ['@cf/meta/llama-3-8b-instruct'],
  },
]

test.each([
  ['', 'field'],
  ['https://gateway.ai.cloudflare.com/v1/ours/gate', 'ours'],
  ['https://gateway.ai.cloudflare.com/v1/ours/gate/workers-ai/v1/', 'ours'],
])('Cloudflare is called directly, not through its gateway: %j', async (base_url, account) => {
  const questions: UpstreamQuestion[] = []
  const channel = { type: 37, key: KEY, base_url, config: '{"user_id":"field"}' }
  const ask: AskUpstream = (question) => {
    questions.push(question)
    return Promise.resolve({ result: [{ name: '@cf/a' }] })
  }
  const models = await readUpstreamModels(channel, ask, { GEMINI_VERSION: 'v1beta' })
  expect(models).toEqual(['@cf/a'])
  const path = `/client/v4/accounts/${account}/ai/models/search?per_page=1000`
  expect(questions).toEqual([
    { url: `https://api.cloudflare.com${path}`, headers: { authorization: `Bearer ${KEY}` } },
  ])
})

forEachDatabase('models of an upstream', (open) => {
  let server: TestServer
  let admin: TestUser

  beforeAll(async () => {
    server = await startTestServer(open)
    admin = await anAdmin(server)
  })
  afterAll(() => server.close())

  const ofStored = (id: number) =>
    server.call('GET', `/api/channel/upstream_models/${id}`, { as: admin })
  const ofNew = (body: unknown) =>
    server.call('POST', '/api/channel/upstream_models', { as: admin, body })

  describe.each(DIALECTS)('type $type', ({ type, config = '', body, path, header, models }) => {
    test('for a stored channel and for one being edited', async () => {
      answers(body)
      const id = await aChannel(server, { type, key: KEY, base_url: url, config })
      const found = [
        await ofStored(id),
        await ofNew({ type, key: `${KEY}\nsk-other`, base_url: `${url}/`, config }),
      ]
      for (const { json } of found)
        expect(json).toEqual({ success: true, message: '', data: models })
      expect(asked.map((call) => call.url)).toEqual([path, path])
      for (const { headers } of asked) expect(headers[header[0]]).toBe(header[1])
    })
  })

  test.each([
    [17, '/compatible-mode', '/compatible-mode/v1/models'],
    [
      37,
      '/client/v4/accounts/other/ai/v1',
      '/client/v4/accounts/0123abcd/ai/models/search?per_page=1000',
    ],
  ])('type %i at a partial address, %s: all parts are known', async (type, part, path) => {
    answers({ data: [], result: [] })
    const config = '{"user_id":"0123abcd"}'
    await ofNew({ type, key: KEY, base_url: url + part, config })
    expect(asked.map((call) => call.url)).toEqual([path])
  })

  test.each([3, 15, 18, 33, 34, 42, 43, 46])('type %i is reported as unsupported', async (type) => {
    answers({})
    const { json, message } = await ofNew({ type, key: KEY, base_url: url })
    expect(json['success']).toBe(false)
    expect(message).toContain('手动填写')
    expect(asked).toEqual([])
  })

  test.each<[string, unknown, number, string]>([
    ['a page', '<html>', 200, '无法解析'],
    ['an object without a list', { data: null }, 200, '模型列表'],
    ['a list of numbers', { data: [1] }, 200, '模型列表'],
    ['a bare list of numbers', '[1]', 200, '模型列表'],
    [
      'a wrong key',
      { error: { message: `bad key ${KEY} at http://10.1.2.3/x` } },
      401,
      '401：bad key ***',
    ],
    [
      'a list of what is wrong',
      { success: false, errors: [{ code: 10_000, message: 'Authentication error' }], result: null },
      403,
      '403：Authentication error',
    ],
    ['a fault without words', '', 503, '503'],
    ['a redirect', '', 302, '302'],
  ])('%s has an error message', async (_what, body, status, sentence) => {
    answers(body, status)
    const { json, message, text } = await ofNew({ type: 1, key: KEY, base_url: url })
    expect(json['success']).toBe(false)
    expect(message).toContain(sentence)
    expect(text).not.toContain(KEY)
    expect(text).not.toContain('10.1.2.3')
  })

  test('an error reveals neither the account nor the address', async () => {
    answers({ error: { message: `org-0123456789ab has no access at ${new URL(url).host}` } }, 403)
    const { message } = await ofNew({ type: 1, key: KEY, base_url: url })
    expect(message).toContain('403：*** has no access at ***')
  })

  test('names that a list cannot contain are omitted', async () => {
    const names = ['ok', '', ' padded ', 'a,b', 'line\nbreak', 'x'.repeat(257), '模型-1']
    answers({ data: names.map((id) => ({ id })) })
    const { data } = await ofNew({ type: 1, key: KEY, base_url: url })
    expect(data).toEqual(['ok', 'padded', '模型-1'])
  })

  test('the channel’s own headers replace ours', async () => {
    const config = JSON.stringify({
      header_override: { 'X-Team': 'ours', Authorization: 'Token {api_key}', 'User-Agent': '' },
    })
    answers({ data: [] })
    await ofStored(await aChannel(server, { key: KEY, base_url: url, config }))
    await ofNew({ type: 1, key: KEY, base_url: url, config })
    expect(asked).toHaveLength(2)
    for (const { headers } of asked) {
      expect(headers).toMatchObject({ 'x-team': 'ours', authorization: `Token ${KEY}` })
      expect(headers).not.toHaveProperty('user-agent')
    }
  })

  // Otherwise a stored key could be sent to any address.
  test('a new channel is called with the given data only, without stored secrets', async () => {
    const id = await aChannel(server, { key: KEY, base_url: 'http://127.0.0.1:9' })
    answers({ data: [] })
    await ofNew({ id, type: 1, base_url: url })
    expect(asked.map(({ headers }) => headers.authorization)).not.toContain(`Bearer ${KEY}`)
  })

  test.each([
    'http://169.254.169.254',
    'http://[fd00:ec2::254]',
    'http://0.0.0.0',
    'http://0x7f000001@evil.example',
    'file:///etc/passwd',
    'gopher://127.0.0.1',
    '',
  ])('an address like %j is not called', async (base_url) => {
    const { json } = await ofNew({ type: 8, key: KEY, base_url })
    expect(json['success']).toBe(false)
    expect(asked).toEqual([])
  })

  test('only administrators may request them', async () => {
    const user = await aUser(server)
    const { json } = await server.call('POST', '/api/channel/upstream_models', {
      as: user,
      body: { type: 1, key: KEY, base_url: url },
    })
    expect(json['success']).toBe(false)
    expect(asked).toEqual([])
  })
})

forEachDatabase('models of an upstream without private addresses', (open) => {
  test('a private address is not called', async () => {
    const server = await startTestServer(open, { EGRESS_ALLOW_PRIVATE: 'false' })
    const admin = await anAdmin(server)
    answers({ data: [] })
    const { json } = await server.call('POST', '/api/channel/upstream_models', {
      as: admin,
      body: { type: 1, key: KEY, base_url: url },
    })
    expect(json['success']).toBe(false)
    expect(asked).toEqual([])
    await server.close()
  })
})
