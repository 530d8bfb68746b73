import { beforeAll, describe, expect, test } from 'vitest'
import { ChannelStatus } from '../../../contract/channel.ts'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  expectNothingCharged,
  post,
  startScriptedUpstream,
  stream,
  textOf,
  type RelaySetup,
  type ScriptedUpstream,
  channelStatusOf,
} from '../../test/relay-setup.ts'
import { useRelaySetup } from '../../test/use-relay.ts'
import { parseJson } from '../json/json-value.ts'

/** The state of a channel after its vendor's own errors. */

let setup: RelaySetup
useRelaySetup((started) => (setup = started))
beforeAll(async () => {
  await setup.app.options.set('AutomaticDisableChannelEnabled', 'true')
})

const event = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`
const delta = (content: string) => ({ id: 'x', choices: [{ index: 0, delta: { content } }] })
const GOOD = event(delta('from the first')) + 'data: [DONE]\n\n'

interface Script {
  status: number
  body: string
}

/** An upstream of this type that succeeds until another response is set. */
async function aVendor(type: number) {
  let script: Script | null = null
  const upstream: ScriptedUpstream = await startScriptedUpstream((_request, response) => {
    const { status, body } = script ?? { status: 200, body: GOOD }
    const kind = status === 200 ? 'text/event-stream' : 'application/json'
    response.writeHead(status, { 'content-type': kind }).end(body)
  })
  const [model, other] = [aModel(), aModel()]
  const models = `${model},${other}`
  const id = await aRoute(setup, models, { type, base_url: upstream.url, priority: 5 })
  await aRoute(setup, models)
  return {
    id,
    model,
    other,
    close: () => upstream.close(),
    answer: (next: Script | null) => {
      script = next
    },
    async isAskedFor(name: string): Promise<boolean> {
      script = null
      const answer = await stream(setup, await aClient(setup), chatBody(name))
      return textOf(answer.text()) === 'from the first'
    },
  }
}

const statusOf = (id: number): Promise<number> => channelStatusOf(setup, id)

const begunWith = (last: unknown): Script => ({
  status: 200,
  body: event(delta('be')) + event(last),
})
const FILTERED = { error: { code: 'data_inspection_failed', message: 'inappropriate content' } }
const SAFETY = { code: 'denied by the server', error: 'Content violates usage guidelines. Team: x' }

test.each<[string, number, Script]>([
  ['behind the beginning of an answer', 49, begunWith(FILTERED)],
  ['before it', 49, { status: 200, body: event(FILTERED) }],
  ['by its number', 27, begunWith({ base_resp: { status_code: 1027, status_msg: 'new' } })],
  [
    'when the model calls a tool wrongly',
    29,
    begunWith({ error: { type: 'invalid_request_error', message: 'no', status_code: 400 } }),
  ],
  ['with a status of refusal', 45, { status: 403, body: JSON.stringify(SAFETY) }],
])('a filter that speaks %s says nothing against the channel', async (_when, type, script) => {
  const vendor = await aVendor(type)
  const client = await aClient(setup)
  expect(await vendor.isAskedFor(vendor.model)).toBe(true)
  vendor.answer(script)
  for (let call = 0; call < 6; call += 1) {
    const answer = await stream(setup, client, chatBody(vendor.model))
    // These errors of one vendor are not tested with other vendors.
    expect(answer.text()).toContain('error')
  }
  expect(await vendor.isAskedFor(vendor.model)).toBe(true)
  expect(await vendor.isAskedFor(vendor.other)).toBe(true)
  expect(await statusOf(vendor.id)).toBe(ChannelStatus.enabled)
  await vendor.close()
})

test('an upstream failure within a response affects this model only', async () => {
  const vendor = await aVendor(49)
  const client = await aClient(setup)
  vendor.answer(begunWith({ error: { code: 'internal_error', message: 'Internal error' } }))
  for (let call = 0; call < 5; call += 1) await stream(setup, client, chatBody(vendor.model))
  expect(await vendor.isAskedFor(vendor.model)).toBe(false)
  expect(await vendor.isAskedFor(vendor.other)).toBe(true)
  await vendor.close()
})

test.each<[string, number, number, object, number]>([
  ['an unpaid bill', 49, 400, { code: 'Arrearage' }, ChannelStatus.autoDisabled],
  ['an unpaid bill', 16, 429, { code: '1113' }, ChannelStatus.autoDisabled],
  [
    'spent tokens of a minute',
    17,
    429,
    { type: 'insufficient_quota', code: 'insufficient_quota' },
    ChannelStatus.enabled,
  ],
])('%s (type %i, status %i) is served by another channel', async (_why, ...refused) => {
  const [type, status, error, expected] = refused
  const vendor = await aVendor(type)
  vendor.answer({ status, body: JSON.stringify({ error: { message: 'No.', ...error } }) })
  const answer = await post(setup, await aClient(setup), chatBody(vendor.model))
  expect(answer.status).toBe(200)
  expect(await statusOf(vendor.id)).toBe(expected)
  await vendor.close()
})

test('a key that Amazon rejects in a header is paused after two users', async () => {
  const upstream = await startScriptedUpstream((_request, response) => {
    const name = 'UnrecognizedClientException:http://internal.amazon.com/coral/'
    response.writeHead(403, { 'x-amzn-errortype': name }).end('{"message":"The token is invalid."}')
  })
  const model = aModel()
  const key = 'AKIDEXAMPLE|secret|us-east-1'
  const amazon = { type: 33, key, base_url: upstream.url, priority: 5 }
  const id = await aRoute(setup, model, amazon)
  await aRoute(setup, model)
  for (const expected of [ChannelStatus.enabled, ChannelStatus.autoDisabled]) {
    expect((await post(setup, await aClient(setup), chatBody(model))).status).toBe(200)
    expect(await statusOf(id)).toBe(expected)
  }
  await upstream.close()
})

describe('a conversation that is too long', () => {
  const SAID = 'prompt is too long: 215000 tokens > 200000 maximum'
  const OPENAI_SAID =
    "This model's maximum context length is 131072 tokens. However, your messages resulted in 160000 tokens."
  const chat = { messages: [{ role: 'user', content: 'x' }], max_tokens: 9 }
  const anthropic = { error: { type: 'invalid_request_error', message: SAID } }
  const openai = { error: { message: OPENAI_SAID, code: 'context_length_exceeded' } }

  const refusedBy = async (type: number, error: object, path: string, body: object = {}) => {
    const vendor = await aVendor(type)
    vendor.answer({ status: 400, body: JSON.stringify(error) })
    const client = await aClient(setup)
    const asked = path === '/v1/responses' ? { input: 'x' } : chat
    const sent = { model: vendor.model, ...asked, ...body }
    const answer = await post(setup, client, sent, { path })
    await vendor.close()
    await expectNothingCharged(setup, client)
    return answer
  }

  test('is reported in the dialect’s own words', async () => {
    const toClaudeCode = await refusedBy(36, openai, '/v1/messages')
    expect(toClaudeCode.status).toBe(400)
    expect(toClaudeCode.json).toMatchObject({
      error: {
        type: 'invalid_request_error',
        message: expect.stringMatching(
          /^prompt is too long: 160000 tokens > 131072 maximum\. This model's/,
        ),
      },
    })
    const toOpenai = await refusedBy(14, anthropic, '/v1/chat/completions')
    expect(toOpenai.status).toBe(400)
    expect(toOpenai.json).toMatchObject({
      error: { code: 'context_length_exceeded', message: expect.stringContaining(SAID) },
    })
    const whole = await refusedBy(14, anthropic, '/v1/responses')
    expect(whole.status).toBe(400)
    expect(whole.json).toMatchObject({ error: { code: 'context_length_exceeded' } })
    // A client of the upstream's dialect receives the upstream's message.
    const spliced = await refusedBy(14, anthropic, '/v1/messages')
    expect(spliced.json).toMatchObject({
      error: { message: expect.stringMatching(/^prompt is too long.*maximum \(request id/) },
    })
  })

  test('ends a Responses API stream with an error event', async () => {
    const answer = await refusedBy(14, anthropic, '/v1/responses', { stream: true })
    expect(answer.status).toBe(200)
    expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    const events = answer.text
      .split('\n\n')
      .filter((told) => told !== '')
      .map((told) => parseJson(told.split('data: ')[1] ?? ''))
    expect(events).toMatchObject([
      { type: 'response.created', response: { status: 'in_progress', error: null } },
      { type: 'response.in_progress' },
      {
        type: 'response.failed',
        sequence_number: 2,
        response: {
          status: 'failed',
          error: { code: 'context_length_exceeded', message: expect.stringContaining(SAID) },
        },
      },
    ])
  })
})
