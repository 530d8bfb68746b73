import { describe, expect, test } from 'vitest'
import type { SpokenName } from '../../protocols/canonical/chat-request.ts'
import { ask, callOf } from '../../../test/dialect-call.ts'
import { speakers, type Wish } from '../../../test/dialect-clients.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  channelTestOf,
  chatBody,
  expectNothingCharged,
  expectRefusal,
  post,
  requestIdOf,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { responsesSpeaker } from '../../../test/responses-client.ts'
import { useRelay } from '../../../test/use-relay.ts'

/** Upstreams that stream though their client asked for no stream. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now), { sharesClient: true })

const clients = { ...speakers, responses: responsesSpeaker }
const names: SpokenName[] = ['openai', 'anthropic', 'gemini', 'responses']
const types: [type: number, label: string][] = [
  [1, 'OpenAI'],
  [14, 'Anthropic'],
  [24, 'Gemini'],
]
const pairs = names.flatMap((name) => types.map(([type, label]) => ({ name, type, label })))

const FORTY_TWO = { text: 'The answer is forty-two.', calls: [], finish: 'stop' }
const args = { city: 'forty-two' }
const cases: [string, Wish, object][] = [
  ['a question', {}, FORTY_TWO],
  [
    'tools side by side',
    { tools: ['weather', 'clock'], words: 'Use weather and clock.' },
    {
      calls: [
        { name: 'weather', args },
        { name: 'clock', args },
      ],
      finish: 'tools',
    },
  ],
]

describe.each(pairs)('a client of $name with a channel of $label', ({ name, type }) => {
  test.each(cases)('%s', async (_what, wish, expected) => {
    const model = aModel('always-streams+always-usage')
    await aRoute(setup, model, { type })
    const { answer, said } = await ask({ setup, client }, clients[name], {
      model,
      wish,
      isStream: false,
    })
    expect(said).toMatchObject({ ...expected, prompt: 11, completion: 7 })
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
    expect({ quota, source: detail['usage_source'] }).toEqual({ quota: 18, source: 'upstream' })
  })

  test.each([
    ['breaks off', 'cut-after-2'],
    ['reports an error in its middle', 'error-mid-stream'],
  ])('that %s is an error, and costs nothing', async (_what, words) => {
    const own = await aClient(setup)
    const model = aModel(`always-streams+${words}`)
    await aRoute(setup, model, { type })
    const speaker = clients[name]
    const input = callOf(speaker, own, { model, isStream: false })
    const answer = await post(setup, own, speaker.body(model, {}, false), input)
    expect(answer.status).toBeGreaterThanOrEqual(500)
    // Errors are objects of the dialect.
    const said = speaker.error(answer.json as unknown as Record<string, unknown>)
    expect(said.message).not.toBe('')
    await expectNothingCharged(setup, own)
  })
})

// The response has the same members whether the upstream streams it or not.
test.each<[SpokenName, number, Wish]>([
  ['openai', 1, {}],
  ['openai', 1, { tools: ['weather', 'clock'], choice: 'required' }],
  ['anthropic', 14, { thinking: 1024, maxTokens: 2048 }],
  ['anthropic', 14, { tools: ['weather'], choice: 'required' }],
  ['gemini', 24, { tools: ['weather', 'clock'], choice: 'required' }],
  ['responses', 1, {}],
  ['responses', 1, { tools: ['weather'], choice: 'required' }],
])(
  'the answer of %s by type %i is that of an upstream that does not stream: %j',
  async (...row) => {
    const [name, type, wish] = row
    const answered = async (words: string): Promise<unknown> => {
      const model = aModel(`always-usage+${words}`)
      await aRoute(setup, model, { type })
      const speaker = clients[name]
      const input = callOf(speaker, client, { model, isStream: false })
      const { text } = await post(setup, client, speaker.body(model, wish, false), input)
      return JSON.parse(text.replaceAll(model, 'm').replace(/"resp_\w+"/, '"resp"'))
    }
    expect(await answered('always-streams')).toEqual(await answered(''))
  },
)

test.each(['gzip', 'bom', 'crlf', 'one-byte', 'comment-keepalive', 'no-final-newline'])(
  'a stream that is spelled otherwise is the same: %s',
  async (words) => {
    const model = await aServedModel(setup, `always-streams+always-usage+${words}`)
    const answer = await post(setup, client, chatBody(model))
    expect(answer.json).toMatchObject({
      object: 'chat.completion',
      choices: [{ message: { content: FORTY_TWO.text } }],
    })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(18)
  },
)

test('counts missing usage', async () => {
  const model = await aServedModel(setup, 'always-streams+no-usage')
  const answer = await post(setup, client, chatBody(model))
  const { log, detail } = await bookedCall(setup, requestIdOf(answer))
  expect(log).toMatchObject({ prompt_tokens: 12, completion_tokens: 6 })
  expect(detail['usage_source']).toBe('counted')
})

test('completions of the older kind', async () => {
  const model = await aServedModel(setup, 'always-streams+always-usage')
  const body = { model, prompt: 'The answer is' }
  const answer = await post(setup, client, body, { path: '/v1/completions' })
  expect(answer.json).toMatchObject({
    object: 'text_completion',
    choices: [{ index: 0, text: ' forty-two', finish_reason: 'stop' }],
    usage: { prompt_tokens: 5, completion_tokens: 3 },
  })
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(8)
})

test('a stored response can be continued', async () => {
  const model = await aServedModel(setup, 'always-streams')
  const first = await post(setup, client, { model, input: 'a' }, { path: '/v1/responses' })
  // A response has an id.
  const { id } = first.json as unknown as { id: string }
  const over = { model, input: 'b', previous_response_id: id }
  expect((await post(setup, client, over, { path: '/v1/responses' })).status).toBe(200)
})

test('an orderly end without a finish reason is an incomplete response', async () => {
  const upstream = await startScriptedUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end('data: {"choices":[{"index":0,"delta":{"content":"Forty"}}]}\n\ndata: [DONE]\n\n')
  })
  const model = aModel()
  await aRoute(setup, model, { base_url: upstream.url })
  const own = await aClient(setup)
  const answer = await post(setup, own, chatBody(model))
  expectRefusal(answer, { code: 'upstream_cut', status: 502 })
  await expectNothingCharged(setup, own)
  await upstream.close()
})

test('one without a word is unreadable, and another channel is asked', async () => {
  const upstream = await startScriptedUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(': hello\n\ndata: [DONE]\n\n')
  })
  const model = aModel()
  await aRoute(setup, model, { base_url: upstream.url, priority: 9 })
  const own = await aClient(setup)
  const refused = await post(setup, own, chatBody(model))
  expect(refused.json).toMatchObject({ error: { code: 'unmarshal_response_body_failed' } })
  await expectNothingCharged(setup, own)
  await setup.app.options.set('RetryTimes', '1')
  await aRoute(setup, model)
  expect((await post(setup, client, chatBody(model))).status).toBe(200)
  await setup.app.options.set('RetryTimes', '0')
  await upstream.close()
})

test('the test of such a channel receives its response', async () => {
  for (const type of [1, 14, 24]) {
    const model = aModel('always-streams')
    await aRoute(setup, model, { type })
    expect((await channelTestOf(setup, model)).json).toMatchObject({
      success: true,
      message: FORTY_TWO.text,
    })
  }
})
