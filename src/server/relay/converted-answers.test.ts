import { expect, test } from 'vitest'
import { ask, callOf } from '../test/dialect-call.ts'
import { events, json, list, speakers } from '../test/dialect-clients.ts'
import {
  chatAnswer,
  chatStream,
  usePlayedUpstream,
  type PlayedAnswer,
} from '../test/played-upstream.ts'
import { responsesSpeaker } from '../test/responses-client.ts'
import {
  aModel,
  aRoute,
  expectNothingCharged,
  aClient,
  post,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelay } from '../test/use-relay.ts'

/** Members of answers and requests that clients and upstreams of different protocols trip over. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now), { sharesClient: true })
const upstream = usePlayedUpstream()
const { openai, anthropic, gemini } = speakers

async function aModelAt(type: number, name = aModel()): Promise<string> {
  await aRoute(setup, name, { type, base_url: upstream.url })
  return name
}

test('a converted chat stream begins with null unless text follows immediately', async () => {
  const usage = { input_tokens: 11, output_tokens: 7 }
  const streamOf = (block: object): PlayedAnswer => ({
    events: [
      { type: 'message_start', message: { id: 'msg_1', content: [], usage } },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ],
  })
  const model = await aModelAt(14)
  for (const [block, content] of [
    [{ type: 'tool_use', id: 't1', name: 'get', input: {} }, null],
    [{ type: 'text', text: 'Hi.' }, ''],
  ] as const) {
    upstream.play = () => streamOf(block)
    const answer = await stream(setup, client, openai.body(model, { tools: ['get'] }, true))
    const [first] = events(answer.text())
    const chunk = json(JSON.parse(first?.data ?? ''))
    expect(list(chunk.choices)[0]?.delta).toEqual({ role: 'assistant', content })
  }
})

test('a client of Anthropic receives an estimate of its prompt in the first event', async () => {
  upstream.play = () => chatStream([{ content: 'Hi.' }])
  const question = { model: await aModelAt(50), isStream: true }
  const words = 'word '.repeat(200)
  const body = anthropic.body(question.model, { words }, true)
  const answer = await stream(setup, client, body, callOf(anthropic, client, question))
  const start = json(JSON.parse(events(answer.text())[0]?.data ?? ''))
  const { input_tokens: estimate } = json(json(start.message).usage)
  expect(estimate).toBeGreaterThan(100)
  expect(estimate).toBeLessThan(1000)
})

test('requests streamed tool arguments from GLM', async () => {
  upstream.play = ({ body }) =>
    body.stream === true ? chatStream([{ content: 'Hi.' }]) : chatAnswer({ content: 'Hi.' })
  for (const [type, model, isStream, told] of [
    [16, 'glm-4.6', true, true],
    [16, 'glm-4.6', false, undefined],
    [16, 'glm-4.5', true, undefined],
    [50, 'glm-4.6', true, undefined],
  ] as const) {
    const name = `${model}-${aModel()}`
    await aRoute(setup, name, {
      type,
      base_url: upstream.url,
      model_mapping: JSON.stringify({ [name]: model }),
    })
    await ask({ setup, client }, anthropic, { model: name, wish: { tools: ['get'] }, isStream })
    expect(upstream.calls.at(-1)?.body.tool_stream).toBe(told)
  }
})

test('messages in the place of deltas are read, and one that repeats them is not', async () => {
  const chunk = (members: object, finish: string | null = null) => ({
    id: 'c',
    choices: [{ index: 0, ...members, finish_reason: finish }],
  })
  const usage = { id: 'c', choices: [], usage: { prompt_tokens: 11, completion_tokens: 7 } }
  const model = await aModelAt(39)
  for (const chunks of [
    [chunk({ message: { content: 'H' } }), chunk({ message: { content: 'i.' } }, 'stop')],
    [chunk({ text: 'Hi.' }, 'stop')],
    [chunk({ delta: { content: 'Hi.' } }), chunk({ message: { content: 'Hi.' } }, 'stop')],
  ]) {
    upstream.play = () => ({ events: [...chunks, usage, '[DONE]'] })
    for (const speaker of [anthropic, gemini, responsesSpeaker]) {
      const { said } = await ask({ setup, client }, speaker, { model, isStream: true })
      expect(said).toMatchObject({ text: 'Hi.', finish: 'stop' })
    }
  }
})

test('a completion wrapped by another server is an error, and costs nothing', async () => {
  const { json: completion } = chatAnswer({ content: 'Hi.' })
  upstream.play = () => ({ json: { code: 200, msg: 'ok', data: completion } })
  const model = await aModelAt(50)
  const poor = await aClient(setup)
  for (const speaker of [openai, anthropic]) {
    const question = { model, isStream: false }
    const input = callOf(speaker, poor, question)
    const { status } = await post(setup, poor, speaker.body(model, {}, false), input)
    expect(status).toBe(500)
  }
  await expectNothingCharged(setup, poor)
})

test.each([
  ['openai', openai, 'gpt-4o', 16_384],
  ['anthropic', anthropic, 'gpt-4o', 16_384],
  ['gemini', gemini, 'gpt-4o', 16_384],
] as const)(
  'a limit above the model’s is lowered to it for a client of %s',
  async (_name, speaker, model, limit) => {
    upstream.play = () => chatAnswer({ content: 'Hi.' })
    const name = `${model}-${aModel()}`
    const mapping = { model_mapping: JSON.stringify({ [name]: model }) }
    await aRoute(setup, name, { type: 50, base_url: upstream.url, ...mapping })
    for (const maxTokens of [32_000, 9000]) {
      const question = { model: name, isStream: false }
      const body = speaker.body(name, { maxTokens }, false)
      const answer = await post(setup, client, body, callOf(speaker, client, question))
      expect(upstream.calls.at(-1)?.body.max_tokens).toBe(Math.min(limit, maxTokens))
      const told = maxTokens > limit ? String(limit) : undefined
      expect(answer.headers['x-gatehouse-output-limit']).toBe(told)
    }
  },
)

test.each(['/rerank', '/v2/rerank', '/v1/rerank'])('%s ranks', async (path) => {
  upstream.play = () => ({ json: { results: [{ index: 0, relevance_score: 0.9 }] } })
  const model = await aModelAt(50)
  const answer = await post(setup, client, { model, query: 'q', documents: ['a'] }, { path })
  expect(answer.json).toMatchObject({ results: [{ index: 0 }] })
})
