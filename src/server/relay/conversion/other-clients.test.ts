import { Ollama, type Tool } from 'ollama'
import OpenAI from 'openai'
import { beforeEach, describe, expect, test } from 'vitest'
import { Role } from '../../../contract/user.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  eventsOf,
  post,
  requestIdOf,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { aNativeModel, nativeChannels } from '../../test/native-channels.ts'
import { useRelay } from '../../test/use-relay.ts'
import { arrayOr, recordOr } from '../json/json-value.ts'

/** Programs that build on a vendor's client, or that use their own server's API. */

const ANSWER = 'The answer is forty-two.'
const WEATHER = {
  name: 'weather',
  description: 'the weather of a place',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

/** Source: requests of Cursor with a custom base URL for OpenAI (BerriAI/litellm#34029). */
describe('Cursor', () => {
  const { name, description, parameters } = WEATHER
  const tools = [
    { type: 'function', function: { ...WEATHER, name: 'nested' } },
    { type: 'function', name, description, parameters, strict: false },
    { name: 'edit', description, input_schema: parameters },
  ]

  test.each([1, 14, 24])('sends flat tools, also among others: channel type %i', async (type) => {
    const model = aModel()
    await aRoute(setup, model, { type })
    const choice = { type: 'function', function: { name } }
    const messages = [{ role: 'user', content: 'Use weather.' }]
    const answer = await post(setup, client, { model, messages, tools, tool_choice: choice })
    expect(answer.json).toMatchObject({
      choices: [{ message: { tool_calls: [{ function: { name } }] } }],
    })
    const sent = JSON.stringify(setup.upstream.seen().at(-1)?.body)
    if (type === 1) {
      const edit = { type: 'function', function: { name: 'edit', description, parameters } }
      expect(JSON.parse(sent)).toMatchObject({
        tools: [tools[0], { function: { name, parameters, strict: false } }, edit],
      })
    } else {
      for (const own of ['nested', 'weather', 'edit']) expect(sent).toContain(`"name":"${own}"`)
      expect(sent.split(JSON.stringify(parameters)).length).toBe(tools.length + 1)
    }
  })

  /** A tool with plain text input. The upstream calls it with `forty-two`. */
  const patch = {
    type: 'custom',
    name: 'ApplyPatch',
    description: 'Edits files.',
    format: { type: 'grammar', syntax: 'lark', definition: 'start: "*** Begin Patch"' },
  }
  const agent = {
    input: [
      { role: 'system', content: 'You edit files.' },
      { role: 'user', content: [{ type: 'input_text', text: 'Use ApplyPatch.' }] },
    ],
    tools: [{ type: 'function', name, description, parameters, strict: false }, patch],
    tool_choice: 'auto',
    reasoning: { effort: 'low', summary: 'auto' },
    include: ['reasoning.encrypted_content'],
    store: false,
  }
  const called = { name: 'ApplyPatch', arguments: 'forty-two' }

  describe.each([
    [1, '', '/v1/chat/completions'],
    [1, 'gpt-5.4-', '/v1/responses'],
    [14, '', '/v1/messages'],
    [24, 'gemini-2.5-pro-', 'Content'],
  ])('has its agent’s bodies answered as chat: channel type %i %s', (type, maker, path) => {
    async function aRouteTo(): Promise<string> {
      const model = `${maker}${aModel()}`
      await aRoute(setup, model, { type })
      setup.upstream.seen()
      return model
    }

    test('without streaming', async () => {
      const model = await aRouteTo()
      const answer = await post(setup, client, { model, ...agent })
      expect(answer.json).toMatchObject({
        object: 'chat.completion',
        model,
        choices: [{ message: { tool_calls: [{ function: called }] }, finish_reason: 'tool_calls' }],
      })
      const [sent] = setup.upstream.seen()
      expect(sent?.url).toContain(path)
      expect(sent?.bytes.toString()).toContain('*** Begin Patch')
      const { detail } = await bookedCall(setup, requestIdOf(answer))
      const { prompt_tokens, completion_tokens, usage_source } = detail
      expect(answer.json.usage).toMatchObject({ prompt_tokens, completion_tokens })
      expect(usage_source).toBe('upstream')
    })

    test('with streaming', async () => {
      const model = await aRouteTo()
      const events = await stream(setup, client, { model, ...agent })
      const chunks = eventsOf(events.text())
      expect(chunks.at(-1)).toBe('[DONE]')
      const deltas = chunks.slice(0, -1).map((chunk) => {
        const value = recordOr(JSON.parse(chunk))
        expect(value.object).toBe('chat.completion.chunk')
        return recordOr(recordOr(arrayOr(value.choices)[0]).delta)
      })
      const calls = deltas.flatMap((delta) => arrayOr(delta.tool_calls).map(recordOr))
      expect(calls[0]).toMatchObject({ index: 0, function: { name: 'ApplyPatch' } })
      const said = calls.map((call) => recordOr(call.function).arguments).join('')
      expect(said).toBe(called.arguments)
      expect((await bookedCall(setup, requestIdOf(events))).quota).toBeGreaterThan(0)
    })

    test('with earlier calls', async () => {
      const model = await aRouteTo()
      const input = [
        ...agent.input,
        { type: 'function_call', call_id: 'call_1', ...called },
        { type: 'function_call_output', call_id: 'call_1', output: 'Done: 1' },
        { type: 'custom_tool_call', call_id: 'call_2', name: 'ApplyPatch', input: 'fifty' },
        { type: 'custom_tool_call_output', call_id: 'call_2', output: 'Done: 2' },
        { role: 'user', content: 'Thanks.' },
      ]
      const answer = await post(setup, client, { model, ...agent, messages: [], input })
      expect(answer.json).toMatchObject({
        choices: [{ message: { content: 'The answer is forty-two.' }, finish_reason: 'stop' }],
      })
      const sent = setup.upstream.seen().at(-1)?.bytes.toString()
      for (const text of ['forty-two', 'Done: 1', 'fifty', 'Done: 2']) expect(sent).toContain(text)
    })
  })
})

/**
 * Source: requests of Claude Code 2.1.273 to 2.1.291 to a custom base URL, for an unknown model
 * (vllm-project/vllm#57324 and others).
 */
describe('Claude Code', () => {
  const tool = (name: string) => ({
    name,
    description: name,
    input_schema: { type: 'object', properties: { command: { type: 'string' } } },
  })
  const text = (words: string) => ({ type: 'text', text: words })
  const use = (id: string, name: string) => ({
    type: 'tool_use',
    id,
    name,
    input: { command: 'ls' },
  })
  const result = (id: string, content: unknown) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content }],
  })
  const changed = (type: string, name: string) => ({
    type,
    tool: { type: 'tool_reference', name },
  })
  const session = {
    max_tokens: 32_000,
    stream: true,
    system: [
      { ...text('You are Claude Code.'), cache_control: { type: 'ephemeral', scope: 'global' } },
    ],
    tools: [tool('Bash'), { ...tool('mcp__x__y'), defer_loading: true }, tool('Gone')],
    thinking: {
      type: 'adaptive',
      display: 'omitted',
      block_binding: { prefix_mismatch_behavior: 'drop_block' },
    },
    output_config: { effort: 'high' },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    metadata: { user_id: '{"session_id":"s"}' },
    messages: [
      { role: 'user', content: [text('What is the answer?')] },
      { role: 'system', content: 'Only now.', clear_at: 'next_user_message' },
      { role: 'assistant', content: [use('toolu_1', 'ToolSearch')] },
      result('toolu_1', [{ type: 'tool_reference', tool_name: 'mcp__x__y' }]),
      {
        role: 'system',
        content: [
          text('Tools have changed.'),
          changed('tool_addition', 'mcp__x__y'),
          changed('tool_removal', 'Gone'),
        ],
      },
      { role: 'assistant', content: [use('toolu_2', 'Bash')] },
      result('toolu_2', 'a.txt'),
      { role: 'system', content: [], output_config: { effort: 'low' } },
    ],
  }
  const headers = {
    'anthropic-version': '2023-06-01',
    'anthropic-beta': 'claude-code-20250219,mid-conversation-tool-changes-2026-07-01',
  }

  const row = (label: string, type: number, model: string) => ({ label, type, model })
  const rows = [
    row('OpenAI, by chat', 1, 'gpt-4o'),
    row('OpenAI, by Responses', 1, 'gpt-5.4'),
    row('Anthropic', 14, 'claude-opus-4-8'),
    row('Gemini', 24, 'gemini-2.0-flash'),
    row('DeepSeek', 36, 'deepseek-chat'),
    ...nativeChannels.filter(({ label }) => !label.startsWith('Claude on')),
  ]

  test.each(rows)('continues its session: $label', async ({ type, model: name }) => {
    const isNative = nativeChannels.some((native) => native.type === type)
    const model = isNative
      ? await aNativeModel(setup, { type, model: name })
      : `${name}-${aModel()}`
    if (!isNative) await aRoute(setup, model, { type })
    const body = { model, ...session }
    const answer = await stream(setup, client, body, { path: '/v1/messages', headers })
    expect(answer.text()).toContain('event: message_stop')
    const sent = setup.upstream.seen().at(-1)?.bytes.toString() ?? ''
    expect(sent).toContain('Tools have changed.')
    const { max_tokens: _limit, stream: _stream, ...counted } = body
    const path = '/v1/messages/count_tokens'
    const { json } = await post(setup, client, counted, { path, headers })
    expect(json.input_tokens).toBeGreaterThan(0)
    if (type === 14) return
    expect(sent).toContain('mcp__x__y')
    for (const word of ['"Gone"', 'Only now.', 'tool_addition']) expect(sent).not.toContain(word)
  })
})

describe.each([14, 24])('the former functions, channel type %i', (type) => {
  const { name } = WEATHER
  const call = { name, arguments: '{"city":"forty-two"}' }
  const question = { role: 'user' as const, content: 'Use weather.' }
  const asked = { messages: [question], functions: [WEATHER], function_call: { name } }

  async function aSdk() {
    const model = aModel()
    await aRoute(setup, model, { type })
    const sdk = new OpenAI({ apiKey: `sk-${client.key}`, baseURL: `${setup.url}/v1` })
    return { model, completions: sdk.chat.completions }
  }

  test('are called in the format of the request', async () => {
    const { model, completions } = await aSdk()
    const { choices } = await completions.create({ model, ...asked })
    expect(choices).toMatchObject([
      { message: { function_call: call }, finish_reason: 'function_call' },
    ])
    const seen: unknown[] = []
    const streamed = completions.stream({ model, ...asked })
    streamed.on('chunk', ({ choices: [choice] }) => seen.push(choice?.finish_reason))
    expect(await streamed.finalMessage()).toMatchObject({ function_call: call })
    expect(seen).toContain('function_call')
  })

  test('receive their results', async () => {
    const { model, completions } = await aSdk()
    const answer = await completions.create({
      model,
      messages: [
        question,
        { role: 'assistant', content: null, function_call: call },
        { role: 'function', name, content: 'sunny' },
      ],
      functions: [WEATHER],
    })
    expect(answer.choices).toMatchObject([{ finish_reason: 'stop' }])
    const { body } = setup.upstream.seen().at(-1) ?? {}
    if (type === 24) {
      expect(JSON.stringify(body)).toContain(`{"functionResponse":{"name":"${name}",`)
    } else {
      expect(body).toMatchObject({
        messages: [
          {},
          { content: [{ type: 'tool_use', id: 'call_1', name }] },
          { content: [{ type: 'tool_result', tool_use_id: 'call_1' }] },
        ],
      })
    }
  })
})

test.each([1, 14, 24])('reads LangChain’s messages: channel type %i', async (type) => {
  const model = aModel()
  await aRoute(setup, model, { type })
  const { name } = WEATHER
  const call = { id: 'call_1', type: 'function', function: { name, arguments: '{"city":"x"}' } }
  const messages = [
    { role: 'user', content: 'Use weather.' },
    // A missing text is empty here, not null.
    { role: 'assistant', content: '', tool_calls: [call] },
    { role: 'tool', content: 'sunny', tool_call_id: 'call_1' },
  ]
  const tools = [{ type: 'function', function: WEATHER }]
  const answer = await post(setup, client, { model, messages, tools, n: 1, stream: false })
  expect(answer.json).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
})

/**
 * Ollama's client requires Ollama's own paths, which only a proxy channel serves. This tests that
 * channel, and that the fake upstream responds like Ollama.
 */
describe('ollama, by a proxy channel', () => {
  let ollama: Ollama
  let calls: string[]
  beforeEach(async () => {
    const admin = await aClient(setup, { role: Role.admin })
    const id = await aRoute(setup, aModel(), { type: 43, key: 'Bearer upstream' })
    calls = []
    ollama = new Ollama({
      host: `${setup.url}/v1/oneapi/proxy/${id}`,
      headers: { authorization: `Bearer sk-${admin.key}` },
      async fetch(input, init) {
        const answer = await fetch(input, init)
        calls.push(answer.headers.get('x-oneapi-request-id') ?? '')
        return answer
      },
    })
  })
  const messages = [{ role: 'user', content: 'What is the answer?' }]

  test('chats, and the call is charged', async () => {
    await setup.app.options.set('ProxyCallQuota', '9')
    const answer = await ollama.chat({ model: 'llama3.2', messages })
    expect(answer).toMatchObject({
      message: { role: 'assistant', content: ANSWER },
      done: true,
      done_reason: 'stop',
      prompt_eval_count: 11,
      eval_count: 7,
    })
    expect((await bookedCall(setup, calls[0] ?? '')).quota).toBe(9)
  })

  test('streams', async () => {
    let text = ''
    let isDone = false
    for await (const part of await ollama.chat({ model: 'llama3.2', messages, stream: true })) {
      text += part.message.content
      isDone = part.done
    }
    expect([text, isDone]).toEqual([ANSWER, true])
  })

  test('calls tools and sends their results', async () => {
    const tools: Tool[] = [{ type: 'function', function: WEATHER }]
    const asked = [{ role: 'user', content: 'Use weather.' }]
    const { message } = await ollama.chat({ model: 'llama3.2', messages: asked, tools })
    expect(message.tool_calls).toMatchObject([
      { function: { name: 'weather', arguments: { city: 'forty-two' } } },
    ])
    const after = await ollama.chat({
      model: 'llama3.2',
      messages: [...asked, message, { role: 'tool', tool_name: 'weather', content: 'sunny' }],
      tools,
    })
    expect(after.message.content).toBe(ANSWER)
  })

  test('embeds', async () => {
    const { embeddings } = await ollama.embed({ model: 'nomic-embed', input: ['a', 'b'] })
    expect(embeddings).toEqual([
      [0.5, -0.25, 0],
      [0.5, -0.25, 1],
    ])
  })
})
