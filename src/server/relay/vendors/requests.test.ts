import { describe, expect, test } from 'vitest'
import { channelType } from '../../../contract/channel-types.ts'
import { errorText } from '../../../contract/errors.ts'
import { BEDROCK_ACCOUNT } from '../../../../tools/fake-upstream/providers/bedrock/bedrock-checks.ts'
import { aNativeModel, nativeChannels } from '../../test/native-channels.ts'
import {
  aRoute,
  bookedCall,
  channelTestOf,
  expectNothingCharged,
  post,
  requestIdOf,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/**
 * Requests to providers with their own formats, and errors for what these formats cannot express.
 */

type Json = Record<string, unknown>

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

/**
 * Sends a request to a channel of this label; returns the client's response and the upstream
 * request.
 */
async function send(label: string, over: Json, input: Parameters<typeof post>[3] = {}) {
  const to = nativeChannels.find((row) => row.label === label)
  if (to === undefined) throw new Error(`no channel ${label}`)
  const model = await aNativeModel(setup, to)
  const body = { model, messages: [{ role: 'user', content: 'Hi' }], ...over }
  const answer = await post(setup, client, body, input)
  const sent = setup.upstream.seen().at(-1)
  return { answer, model, sent: sent?.body as Json | undefined, headers: sent?.headers ?? {} }
}

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } }
const TOOL = { type: 'function', function: { name: 'f', description: 'd', parameters: SCHEMA } }
const CALL = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{"city":"x"}' } }
const TALK = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Use it' },
  { role: 'assistant', content: null, tool_calls: [CALL] },
  { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
]
const FIGURES = { max_tokens: 9, temperature: 0.5, top_p: 0.9, stop: ['END'] }

test('Ollama: arguments as objects, numbers in options, and the streaming mode', async () => {
  const { sent, model } = await send('Ollama', {
    messages: TALK,
    tools: [TOOL],
    ...FIGURES,
    seed: 3,
    reasoning_effort: 'high',
    response_format: { type: 'json_object' },
  })
  expect(sent).toEqual({
    model,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Use it' },
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ function: { name: 'f', arguments: { city: 'x' } } }],
      },
      { role: 'tool', content: 'sunny', tool_name: 'f' },
    ],
    stream: false,
    tools: [TOOL],
    format: 'json',
    think: true,
    options: { num_predict: 9, temperature: 0.5, top_p: 0.9, seed: 3, stop: ['END'] },
  })
})

test('Cohere: its own parameter names, and tool calls with ids', async () => {
  const { sent, model } = await send('Cohere', {
    messages: TALK,
    tools: [TOOL],
    tool_choice: 'required',
    ...FIGURES,
  })
  expect(sent).toEqual({
    model,
    stream: false,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Use it' },
      { role: 'assistant', tool_calls: [CALL] },
      { role: 'tool', tool_call_id: 'c1', content: 'sunny' },
    ],
    tools: [TOOL],
    tool_choice: 'REQUIRED',
    max_tokens: 9,
    temperature: 0.5,
    p: 0.9,
    stop_sequences: ['END'],
  })
})

test('Converse: blocks, turns, and parameters in their own object', async () => {
  const { sent } = await send('Bedrock by Converse', {
    messages: TALK,
    tools: [TOOL],
    tool_choice: { type: 'function', function: { name: 'f' } },
    ...FIGURES,
  })
  expect(sent).toEqual({
    system: [{ text: 'Be brief.' }],
    messages: [
      { role: 'user', content: [{ text: 'Use it' }] },
      {
        role: 'assistant',
        content: [{ toolUse: { toolUseId: 'c1', name: 'f', input: { city: 'x' } } }],
      },
      {
        role: 'user',
        content: [{ toolResult: { toolUseId: 'c1', content: [{ text: 'sunny' }] } }],
      },
    ],
    inferenceConfig: { maxTokens: 9, temperature: 0.5, topP: 0.9, stopSequences: ['END'] },
    toolConfig: {
      tools: [{ toolSpec: { name: 'f', description: 'd', inputSchema: { json: SCHEMA } } }],
      toolChoice: { tool: { name: 'f' } },
    },
  })
})

test.each([{}, { tools: [TOOL], tool_choice: 'none' }])(
  'Converse takes calls of the past where none may be called now: %j',
  async (over) => {
    const { sent, answer } = await send('Bedrock by Converse', { messages: TALK, ...over })
    expect(answer.status).toBe(200)
    expect(sent).toMatchObject({ messages: [{}, { content: [{ text: 'f({"city":"x"})' }] }, {}] })
    expect(sent).not.toHaveProperty('toolConfig')
  },
)

test('Cohere: omits an empty reply', async () => {
  const user = (content: string) => ({ role: 'user', content })
  const messages = [user('a'), { role: 'assistant', content: '' }, user('b')]
  const { sent } = await send('Cohere', { messages })
  const content = ['a', 'b'].map((text) => ({ type: 'text', text }))
  expect(sent).toMatchObject({ messages: [{ role: 'user', content }] })
})

test('Converse: instructions without a question become the question', async () => {
  const messages = [{ role: 'system', content: 'Write a haiku.' }]
  const { sent } = await send('Bedrock by Converse', { messages })
  expect(sent).toEqual({ messages: [{ role: 'user', content: [{ text: 'Write a haiku.' }] }] })
})

/** As Claude Code sends them to every server with Anthropic's API. */
const CODE_BETAS = [
  'claude-code-20250219',
  'interleaved-thinking-2025-05-14',
  'context-management-2025-06-27',
  'prompt-caching-scope-2026-01-05',
  'advanced-tool-use-2025-11-20',
  'effort-2025-11-24',
  'mid-conversation-tool-changes-2026-07-01',
]
const KEPT = { type: 'ephemeral', ttl: '1h' }
const CODE_TOOL = { name: 'f', input_schema: SCHEMA }
const codeBody = (over: Json = {}): Json => ({
  max_tokens: 4000,
  system: [{ type: 'text', text: 'Be brief.', cache_control: { ...KEPT, scope: 'global' } }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'Use it', cache_control: KEPT }] },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: 'c1', name: 'f', input: { cache_control: { scope: 1 } } }],
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'c1',
          content: [{ type: 'text', text: 'x', cache_control: { ...KEPT, scope: 'global' } }],
        },
      ],
    },
  ],
  tools: [{ ...CODE_TOOL, eager_input_streaming: true }],
  thinking: { type: 'enabled', budget_tokens: 2000 },
  context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
  output_config: { effort: 'high' },
  metadata: { user_id: 'u' },
  service_tier: 'auto',
  diagnostics: { previous_message_id: null },
  ...over,
})

describe.each(['Claude on Bedrock', 'Claude on Vertex'])('Claude Code with %s', (label) => {
  const isGoogle = label.endsWith('Vertex')
  const path = '/v1/messages'
  const ask = (body: Json, betas = CODE_BETAS) =>
    send(label, body, { path, headers: { 'anthropic-beta': betas.join(', ') } })

  test('works: drops Anthropic’s own members, and sends the rest byte for byte', async () => {
    const { messages, system, tools: _tools, ...body } = codeBody()
    const { sent, headers, answer } = await ask(codeBody({ thinking: { type: 'disabled' } }))
    expect(answer.status).toBe(200)
    const plain = JSON.stringify({ system, messages }).replaceAll(',"scope":"global"', '')
    const context = { context_management: body['context_management'] }
    expect(sent).toEqual({
      ...JSON.parse(plain),
      max_tokens: 4000,
      tools: [CODE_TOOL],
      thinking: { type: 'disabled' },
      metadata: { user_id: 'u' },
      ...(isGoogle ? context : {}),
      anthropic_version: isGoogle ? 'vertex-2023-10-16' : 'bedrock-2023-05-31',
      ...(isGoogle
        ? {}
        : {
            anthropic_beta: [
              'context-management-2025-06-27',
              'effort-2025-11-24',
              'fine-grained-tool-streaming-2025-05-14',
            ],
          }),
    })
    const head = isGoogle ? 'context-management-2025-06-27' : undefined
    expect(headers['anthropic-beta']).toBe(head)
  })

  test('sends betas in use, with the names of the cloud', async () => {
    const deferred = { ...CODE_TOOL, name: 'g', defer_loading: true }
    const body = {
      max_tokens: 4000,
      thinking: codeBody()['thinking'],
      tools: [CODE_TOOL, deferred],
    }
    const { sent, headers, answer } = await ask(body)
    expect(answer.status).toBe(200)
    expect(sent).toMatchObject({ tools: body.tools })
    const betas = ['interleaved-thinking-2025-05-14', 'tool-search-tool-2025-10-19']
    if (isGoogle) expect(headers['anthropic-beta']).toBe(betas.join(','))
    else expect(sent).toMatchObject({ anthropic_beta: betas })
  })

  test.each<[Json, string]>([
    [{ mcp_servers: [{ type: 'url', url: 'https://a.example', name: 'a' }] }, 'mcp_servers'],
    [{ output_config: { task_budget: { type: 'tokens', total: 20_000 } } }, 'task_budget'],
    [
      {
        messages: [
          { role: 'user', content: 'Hi' },
          {
            role: 'system',
            content: [{ type: 'tool_addition', tool: { type: 'tool_definition', definition: {} } }],
          },
        ],
      },
      'messages[1].content[0].tool',
    ],
  ])('what matters and has no word there is refused by its name: %j', async (over, field) => {
    const { answer, sent } = await ask({ max_tokens: 9, ...over })
    expect({ status: answer.status, sent }).toEqual({ status: 400, sent: undefined })
    expect(JSON.stringify(answer.json)).toContain(field)
    await expectNothingCharged(setup, client)
  })

  test('leaves unknown members to the upstream to reject', async () => {
    const { answer, sent } = await ask({ max_tokens: 9, mcp_servers: [], new_thing: 1 }, [])
    expect(sent).toMatchObject({ new_thing: 1 })
    expect(sent).not.toHaveProperty('mcp_servers')
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain('new_thing')
  })
})

test.each([
  ['Zhipu', { temperature: 0 }, { do_sample: false }],
  ['Zhipu', { temperature: 1.7, top_p: 0 }, { temperature: 1, top_p: 0.01 }],
  ['DashScope', { top_p: 1 }, { top_p: 0.9999 }],
])('%s takes other figures: %j', async (label, over, expected) => {
  const { sent, answer } = await send(label, over)
  expect(answer.status).toBe(200)
  expect(sent).toMatchObject(expected)
  if (!('temperature' in expected)) expect(sent).not.toHaveProperty('temperature')
})

test('DashScope reasons in a stream for a client without streaming', async () => {
  const model = await aNativeModel(setup, { type: 17, model: 'qwen3-8b' })
  const messages = [{ role: 'user', content: 'Hi' }]
  const thinking = { type: 'enabled', budget_tokens: 2000 }
  const body = { model, max_tokens: 4000, messages, thinking }
  const path = '/v1/messages'
  const answer = await post(setup, client, body, { path })
  expect(answer.json).toMatchObject({ type: 'message', stop_reason: 'end_turn' })
  expect((await bookedCall(setup, requestIdOf(answer))).detail).toMatchObject({
    usage_source: 'upstream',
  })
  const stopped = await post(setup, client, { ...body, thinking: { type: 'disabled' } }, { path })
  expect(stopped.status).toBe(200)
  const [thought, plain] = setup.upstream.seen().map((seen) => seen.body as Json)
  expect(thought).toMatchObject({ enable_thinking: true, thinking_budget: 2000, stream: true })
  expect(plain).toMatchObject({ enable_thinking: false })
  expect(plain).not.toHaveProperty('stream')
})

test('DashScope searches the web for a name with this suffix, with the channel’s plugin', async () => {
  const model = 'qwen-max-internet'
  const config = '{"plugin":"{\\"calculator\\":{}}"}'
  await aRoute(setup, model, { type: 17, config })
  const messages = [{ role: 'user', content: 'Hi' }]
  expect((await post(setup, client, { model, messages })).status).toBe(200)
  const [seen] = setup.upstream.seen()
  expect(seen?.body).toMatchObject({ model: 'qwen-max', enable_search: true })
  expect(seen?.headers['x-dashscope-plugin']).toBe('{"calculator":{}}')
})

describe('rejects what a provider does not support by name, without a charge', () => {
  const picture = 'https://example.com/a.png'
  const seen = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: picture } }] }]
  const heard = [
    {
      role: 'user',
      content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }],
    },
  ]
  test.each([
    ['Ollama', { n: 2 }, 'n'],
    ['Ollama', { logprobs: true }, 'logprobs'],
    ['Ollama', { messages: seen }, 'messages[0].content[0]'],
    ['Ollama', { messages: heard }, 'messages[0].content[0]'],
    ['Cohere', { n: 2 }, 'n'],
    ['Cohere', { messages: heard }, 'messages[0].content[0]'],
    ['Bedrock by Converse', { messages: seen }, 'messages[0].content[0]'],
  ])('%s: %j', async (label, over, field) => {
    const { answer, sent } = await send(label, over)
    expect({ status: answer.status, sent }).toEqual({ status: 400, sent: undefined })
    expect(JSON.stringify(answer.json)).toContain(field)
    await expectNothingCharged(setup, client)
  })
})

test.each([
  ['Cohere', { frequency_penalty: -1 }, 'dropped', 'frequency_penalty'],
  ['Bedrock by Converse', { seed: 1 }, 'dropped', 'seed'],
  ['Bedrock by Converse', { temperature: 1.5 }, 'adjusted', 'temperature'],
  ['Bedrock by Converse', { presence_penalty: 1 }, 'dropped', 'presence_penalty'],
  ['Bedrock by Converse', { reasoning_effort: 'high' }, 'dropped', 'reasoning_effort'],
])('%s: %j is %s with a note', async (label, over, how, field) => {
  const { answer } = await send(label, over)
  expect(answer.status).toBe(200)
  expect(answer.headers[`x-gatehouse-${how}`]).toBe(field)
})

test('Converse requests JSON in the prompt', async () => {
  const { answer, sent } = await send('Bedrock by Converse', {
    response_format: { type: 'json_object' },
  })
  expect(answer.status).toBe(200)
  expect(JSON.stringify(sent)).toContain('JSON only')
})

test('Cohere no longer searches: rejects a name with the suffix, without a charge', async () => {
  const model = 'command-r-internet'
  await aRoute(setup, model, { type: 35 })
  const body = { model, messages: [{ role: 'user', content: 'News?' }] }
  expect((await post(setup, client, body)).json).toMatchObject({
    error: { code: 'unsupported_parameter', message: expect.stringContaining('model') },
  })
  expect(setup.upstream.seen()).toEqual([])
  await expectNothingCharged(setup, client)
})

test('Cohere reranks in the usual format', async () => {
  const model = 'rerank-v3.5'
  await aRoute(setup, model, { type: 35 })
  const documents = ['a', { text: 'b' }]
  const body = { model, query: 'q', documents, top_n: 1, return_documents: true }
  const answer = await post(setup, client, body, { path: '/v1/rerank' })
  expect(answer.json).toMatchObject({ results: [{ index: 0 }, { index: 1 }] })
  const [seen] = setup.upstream.seen()
  expect(seen?.url).toBe('/v2/rerank')
  expect(seen?.body).toEqual({ model, query: 'q', documents: ['a', 'b'], top_n: 1 })
})

test('sends a Bedrock API key unchanged, with and without streaming', async () => {
  const { apiKey, region } = BEDROCK_ACCOUNT
  for (const model of ['amazon.nova-2-lite-v1:0', 'anthropic.claude-sonnet-4-6']) {
    await aRoute(setup, model, { type: 33, key: `${apiKey}|${region}` })
    for (const stream of [false, true]) {
      const answer = await post(setup, client, { model, messages: TALK.slice(0, 2), stream })
      expect(answer.status).toBe(200)
    }
  }
  const [seen] = setup.upstream.seen()
  expect(seen?.headers['authorization']).toBe(`Bearer ${apiKey}`)
})

describe('rejected credentials', () => {
  test('reports a wrong secret key without revealing it', async () => {
    const model = 'amazon.nova-lite-v1:0'
    const key = 'AKIAIOSFODNN7EXAMPLE|a-secret-that-is-not-known-there|us-east-1'
    await aRoute(setup, model, { type: 33, key })
    const answer = await post(setup, client, { model, messages: TALK.slice(0, 2) })
    expect(answer.status).toBe(503)
    expect(JSON.stringify(answer.json)).not.toContain('a-secret-that')
    await expectNothingCharged(setup, client)
  })

  test.each([
    [33, 'amazon.nova-micro-v1:0', { key: 'AK|SK|not a region' }],
    [37, '@cf/without-an-account', {}],
    [42, 'gemini-2.0-pro', { key: 'us-east5|only-two' }],
  ])('type %i without what it needs says so, also when it is tested', async (type, model, over) => {
    await aRoute(setup, model, { type, ...over })
    const { label } = channelType(type)
    const answer = await post(setup, client, { model, messages: TALK.slice(0, 2) })
    expect(answer.status).toBe(503)
    expect(JSON.stringify(answer.json)).toContain(
      errorText('channel_incomplete', 'zh', { type: label.zh }),
    )
    await expectNothingCharged(setup, client)
    const tested = await channelTestOf(setup, model)
    expect(tested.json).toMatchObject({ success: false })
    expect(JSON.stringify(tested.json)).toContain('不完整')
  })

  test('tries another channel if Google rejects the service account', async () => {
    const model = 'gemini-2.0-flash-lite'
    const broken = 'us-east5|our-project|{"type":"service_account"}'
    await aRoute(setup, model, { type: 42, key: broken, priority: 9 })
    const refused = await post(setup, client, { model, messages: TALK.slice(0, 2) })
    expect(refused.status).toBe(503)
    await expectNothingCharged(setup, client)
    await aRoute(setup, model, { type: 24 })
    expect((await post(setup, client, { model, messages: TALK.slice(0, 2) })).status).toBe(200)
  })
})
