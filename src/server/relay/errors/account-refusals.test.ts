import { afterEach, expect, test, vi } from 'vitest'
import { anAdmin } from '../../test/factories.ts'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  eventsOf,
  eventually,
  expectNothingCharged,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelaySetup } from '../../test/use-relay.ts'

/** Texts for clients and operators about errors of a channel's key, account or address. */

let setup: RelaySetup
useRelaySetup((started) => (setup = started))
afterEach(() => vi.restoreAllMocks())

const [COMPATIBLE, ANTHROPIC, GEMINI, GROQ] = [50, 14, 24, 29]

interface Refusing {
  type: number
  status: number
  body: unknown
}

/** A model whose only channel returns this error; a text is sent unchanged. */
async function aRefusingModel({ type, status, body }: Refusing) {
  const isText = typeof body === 'string'
  const upstream = await startScriptedUpstream((_request, response) => {
    response.writeHead(status, { 'content-type': isText ? 'text/html' : 'application/json' })
    response.end(isText ? body : JSON.stringify(body))
  })
  const model = aModel()
  const id = await aRoute(setup, model, { type, base_url: upstream.url })
  return { model, id, close: () => upstream.close() }
}

const openaiError = (message: string, code = '', type = '') => ({ error: { message, code, type } })

const GATEWAY = '预扣费额度失败, 用户剩余额度: ¥0.230000, 需要预扣费额度: ¥0.500000'
const GROQ_LIMIT =
  'Request too large for model `m` in organization `org_01abcdefghij` on tokens per minute (TPM): Limit 6000, Requested 7000'

const cases: [string, Refusing, string][] = [
  [
    'a gateway without money',
    { type: COMPATIBLE, status: 403, body: openaiError(GATEWAY, 'insufficient_user_quota') },
    '0.23',
  ],
  [
    'a wrong key',
    {
      type: COMPATIBLE,
      status: 401,
      body: openaiError('Incorrect API key provided: sk-abc***xyz', 'invalid_api_key'),
    },
    'Incorrect',
  ],
  [
    'an account without quota',
    {
      type: COMPATIBLE,
      status: 429,
      body: openaiError('You exceeded your quota', 'insufficient_quota', 'insufficient_quota'),
    },
    'exceeded',
  ],
  [
    'Anthropic’s credit',
    {
      type: ANTHROPIC,
      status: 400,
      body: {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'Your credit balance is too low to access the Anthropic API.',
        },
      },
    },
    'credit',
  ],
  [
    'Gemini’s key',
    {
      type: GEMINI,
      status: 400,
      body: {
        error: {
          code: 400,
          message: 'API key not valid. Please pass a valid API key.',
          status: 'INVALID_ARGUMENT',
          details: [
            { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' },
          ],
        },
      },
    },
    'API key',
  ],
]

const surfaces = [
  { path: '/v1/chat/completions', body: (model: string) => chatBody(model) },
  { path: '/v1/messages', body: (model: string) => chatBody(model, { max_tokens: 9 }) },
  { path: '/v1/responses', body: (model: string) => ({ model, input: 'Hi' }) },
]

test.each(cases)(
  '%s is reported in the gateway’s words, with and without streaming',
  async (_what, refusing, leak) => {
    const { model, close } = await aRefusingModel(refusing)
    const client = await aClient(setup)
    for (const { path, body } of surfaces) {
      for (const streamed of [false, true]) {
        const answer = await post(setup, client, { ...body(model), stream: streamed }, { path })
        expect(answer.status).toBe(503)
        expect(answer.headers['x-should-retry']).toBe('false')
        expect(answer.text).not.toContain(leak)
        expect(answer.text).toContain('与您的令牌无关')
        if (path !== '/v1/messages') {
          expect(answer.json).toMatchObject({ error: { code: 'channel_account_refused' } })
        }
      }
    }
    const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
    const path = `/v1beta/models/${model}:generateContent`
    const gemini = await post(setup, client, { contents }, { path })
    expect(gemini.json).toMatchObject({ error: { code: 503, status: 'UNAVAILABLE' } })
    expect(gemini.text).not.toContain(leak)
    await expectNothingCharged(setup, client)
    await close()
  },
)

test('an account error within a stream is reported in the gateway’s words', async () => {
  const begun = { id: 'x', choices: [{ index: 0, delta: { content: 'Hi' } }] }
  const events = [begun, openaiError(GATEWAY, 'insufficient_user_quota')]
  const upstream = await startScriptedUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
  })
  const model = aModel()
  await aRoute(setup, model, { type: COMPATIBLE, base_url: upstream.url })
  const answer = await stream(setup, await aClient(setup), chatBody(model))
  const last = eventsOf(answer.text()).at(-1) ?? ''
  expect(JSON.parse(last)).toMatchObject({ error: { code: 'channel_account_refused' } })
  expect(answer.text()).not.toContain('0.23')
  await upstream.close()
})

test.each([
  ['dial tcp 10.0.3.7:8443: connect: connection refused', /10\.0\.3\.7|8443/],
  ['upstream api.internal.example:8080 is down', /internal|8080/],
  ['Model overloaded in organization org-abcdefghijklmnop', /abcdefghij/],
  ['key sk-abc***xyz is busy', /abc|xyz/],
])('of %j the client gets no address, account or key', async (message, leak) => {
  const { model, close } = await aRefusingModel({
    type: COMPATIBLE,
    status: 500,
    body: openaiError(message),
  })
  const answer = await post(setup, await aClient(setup), chatBody(model))
  expect(answer.status).toBe(500)
  expect(answer.text).not.toMatch(leak)
  await close()
})

test('admins see the upstream’s message in the trace of the call', async () => {
  const { model, close } = await aRefusingModel({
    type: COMPATIBLE,
    status: 403,
    body: openaiError(`${GATEWAY} at http://10.0.3.7:8443/v1`, 'insufficient_user_quota'),
  })
  const answer = await post(setup, await aClient(setup), chatBody(model))
  const as = await anAdmin(setup)
  const id = requestIdOf(answer)
  const trace = await eventually(async () => {
    const { data } = await setup.call('GET', `/api/channel/route/${id}`, { as })
    return data ?? undefined
  }, 'the trace')
  expect(trace).toMatchObject({
    attempts: [{ status: 403, code: 'insufficient_user_quota', message: `${GATEWAY} at ***` }],
  })
  await close()
})

test('a request that is too large for one account is served by another account', async () => {
  const { model, id, close } = await aRefusingModel({
    type: GROQ,
    status: 413,
    body: openaiError(GROQ_LIMIT, 'rate_limit_exceeded', 'tokens'),
  })
  const client = await aClient(setup)
  const alone = await post(setup, client, chatBody(model))
  expect(alone.status).toBe(413)
  expect(alone.text).not.toMatch(/org_|6000/)
  await setup.call('PUT', '/api/channel/', { as: await anAdmin(setup), body: { id, priority: 9 } })
  await aRoute(setup, model)
  // More attempts than a failing channel would get: this channel is healthy.
  for (let count = 0; count < 6; count += 1) {
    const answer = await post(setup, client, chatBody(model))
    expect(answer.status).toBe(200)
  }
  await close()
})

test.each<[string, Refusing, object]>([
  [
    'info',
    { type: COMPATIBLE, status: 400, body: openaiError('temperature is out of range', 'bad') },
    { fault: 'request', status: 400, upstreamMessage: 'temperature is out of range' },
  ],
  [
    'warn',
    { type: COMPATIBLE, status: 403, body: openaiError(GATEWAY, 'insufficient_user_quota') },
    { fault: 'channel', status: 403, code: 'insufficient_user_quota', upstreamMessage: GATEWAY },
  ],
  [
    'warn',
    { type: COMPATIBLE, status: 404, body: '<html>nginx</html>' },
    { fault: 'channel', status: 404 },
  ],
  [
    'warn',
    { type: COMPATIBLE, status: 500, body: openaiError('boom at 10.0.3.7:8443') },
    { fault: 'upstream', status: 500, upstreamMessage: 'boom at ***' },
  ],
])('the program’s output says at level %s who was at fault: %j', async (level, refusing, line) => {
  const lines: unknown[] = []
  for (const name of ['info', 'warn'] as const) {
    vi.spyOn(setup.app.trace, name).mockImplementation((fields: unknown, message?: string) => {
      lines.push({ level: name, message, ...Object(fields) })
    })
  }
  const { model, id, close } = await aRefusingModel(refusing)
  const { key, userId } = await aClient(setup)
  await post(setup, { key }, chatBody(model))
  expect(lines).toContainEqual(
    expect.objectContaining({ level, model, userId, channelId: id, cause: 'status', ...line }),
  )
  await close()
})
