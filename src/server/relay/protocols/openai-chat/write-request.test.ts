import { describe, expect, test } from 'vitest'
import { dialects } from '../../conversion/dialects.ts'
import {
  aModel,
  aRoute,
  bookedCall,
  chatBody,
  post,
  requestIdOf,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'
import { traitsOf } from '../../vendors/registry.ts'

/** Requests for vendors that differ from OpenAI in the format of a conversation. */

const KEPT = { cache_control: { type: 'ephemeral' } }
const text = (words: string, members: object = {}) => ({ type: 'text', text: words, ...members })
const hourly = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const SCHEMA = { type: 'object', properties: {} }

/** Cache marks as Claude Code sets them after a tool result. */
const CODING = {
  model: 'm',
  max_tokens: 9,
  system: [text('You code.'), text('In Rust.', hourly)],
  tools: [{ name: 'f', input_schema: SCHEMA, ...KEPT }],
  messages: [
    { role: 'user', content: 'Run it' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c1', content: 'done', ...KEPT },
        text('Go on.'),
        text('', KEPT),
        text('Now.', KEPT),
      ],
    },
  ],
}

function sentTo(type: number, model: string) {
  const request = dialects.anthropic.readRequest(CODING)
  const to = { model, type, traits: traitsOf(type), isStream: false, asksForUsage: false }
  const { messages, tools } = dialects.openai.writeRequest(request, to)
  return { messages, tools }
}

test('an assistant turn without content is left out', () => {
  const thought = { type: 'thinking', thinking: 'Hm.', signature: '' }
  const sentWith = (model: string, ...content: object[]) => {
    const messages = [
      { role: 'user', content: 'One' },
      { role: 'assistant', content },
      { role: 'user', content: 'Two' },
    ]
    const request = dialects.anthropic.readRequest({ model: 'm', max_tokens: 9, messages })
    const to = { model, type: 25, traits: traitsOf(25), isStream: false, asksForUsage: false }
    return dialects.openai.writeRequest(request, to).messages
  }
  const asked = { role: 'user', content: [text('One'), text('Two')] }
  for (const content of [[], [text('')], [thought]]) {
    expect(sentWith('m', ...content)).toEqual([asked])
  }
  expect(sentWith('m', text(''), text('Yes.'))).toHaveLength(3)
  // This model needs its thoughts back.
  expect(sentWith('kimi-k2-thinking', thought)).toMatchObject([
    {},
    { role: 'assistant', content: '', reasoning_content: 'Hm.' },
    {},
  ])
})

test('OpenRouter gets the signatures of Gemini’s calls in the reasoning details', () => {
  const signature = Buffer.from('gatehouse:gemini:its-seal').toString('base64')
  const thought = { type: 'thinking', thinking: '', signature }
  const calls = ['a', 'b'].map((id) => ({ type: 'tool_use', id, name: 'f', input: {} }))
  const results = ['a', 'b'].map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'x' }))
  const sentWith = (type: number, content: object[]) => {
    const said = [
      { role: 'user', content: 'Run it' },
      { role: 'assistant', content },
      { role: 'user', content: results },
    ]
    const request = dialects.anthropic.readRequest({ ...CODING, messages: said })
    const to = {
      model: 'google/gemini-3-pro-preview',
      type,
      traits: traitsOf(type),
      isStream: false,
      asksForUsage: false,
    }
    return dialects.openai.writeRequest(request, to).messages
  }
  const detail = { type: 'reasoning.encrypted', format: 'google-gemini-v1', index: 0 }
  const reasoning_details = [{ ...detail, id: 'a', data: 'its-seal' }]
  for (const content of [
    [thought, ...calls],
    [...calls, thought],
  ]) {
    expect(sentWith(20, content)).toMatchObject([{}, {}, { reasoning_details }, {}, {}])
    expect(JSON.stringify(sentWith(1, content))).not.toContain('reasoning_details')
  }
})

describe('cache marks', () => {
  const tool = { type: 'function', function: { name: 'f', parameters: SCHEMA } }
  const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
  const marked = [
    { role: 'system', content: [text('You code.'), text('In Rust.', KEPT)] },
    { role: 'user', content: 'Run it' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: [text('done', KEPT)] },
    { role: 'user', content: [text('Go on.'), text(''), text('Now.', KEPT)] },
  ]

  test.each([
    [20, 'anthropic/claude-sonnet-4.6'],
    [20, '~anthropic/claude-opus-latest'],
    [20, 'qwen/qwen3-coder-plus'],
  ])('type %i keeps prompts of %s as far as they reach, in messages and tools', (type, model) => {
    expect(sentTo(type, model)).toEqual({ messages: marked, tools: [{ ...tool, ...KEPT }] })
  })

  test.each([
    [17, 'qwen-plus'],
    [49, 'qwen3.7-max'],
    [49, 'qwen3-vl-flash'],
  ])('type %i keeps those of %s so, by marks in messages', (type, model) => {
    expect(sentTo(type, model)).toEqual({ messages: marked, tools: [tool] })
  })

  test.each([
    [20, 'openai/gpt-5.4'],
    [17, 'qwen2.5-72b-instruct'],
    // Lists of texts get lost if no tool is declared.
    [49, 'glm-5.1'],
    [1, 'anthropic/claude-sonnet-4.6'],
  ])('type %i is sent none with %s', (type, model) => {
    expect(JSON.stringify(sentTo(type, model))).not.toContain('cache_control')
  })
})

test.each([
  [28, 'mistral-medium-3-5'],
  [20, 'mistralai/devstral-2512'],
])('type %i: %s has answered a tool before the user speaks', (type, model) => {
  const { messages } = sentTo(type, model)
  const roles = ['system', 'user', 'assistant', 'tool', 'assistant', 'user']
  expect(messages).toMatchObject(roles.map((role) => ({ role })))
})

describe('through the relay', () => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now))

  test('charges and reports OpenRouter’s cache writes', async () => {
    const upstream = await startScriptedUpstream(async (_request, response) => {
      response.setHeader('content-type', 'application/json')
      const usage = {
        prompt_tokens: 3000,
        completion_tokens: 10,
        total_tokens: 3010,
        prompt_tokens_details: { cached_tokens: 1000, cache_write_tokens: 1600 },
      }
      const message = { role: 'assistant', content: 'Yes.' }
      response.end(JSON.stringify({ choices: [{ message, finish_reason: 'stop' }], usage }))
    })
    const model = 'anthropic/claude-kept'
    await aRoute(setup, model, { type: 20, key: 'k', base_url: upstream.url })
    const answer = await post(setup, client, { ...CODING, model }, { path: '/v1/messages' })
    await upstream.close()
    expect(answer.json).toMatchObject({
      usage: {
        input_tokens: 400,
        cache_read_input_tokens: 1000,
        cache_creation_input_tokens: 1600,
      },
    })
    const { quota } = await bookedCall(setup, requestIdOf(answer))
    expect(quota).toBe(400 + 1000 + 1600 * 1.25 + 3 * 10)
  })

  test('never sends sampling parameters that OpenAI’s models reject while they reason', async () => {
    const model = `gpt-5.2-${aModel()}`
    await aRoute(setup, model, { type: 1 })
    const figures = { temperature: 0.3, top_p: 1 }
    const penalties = { presence_penalty: 1, frequency_penalty: 1 }
    const body = { ...chatBody(model), ...figures, ...penalties, reasoning_effort: 'high' }
    expect((await post(setup, client, body)).status).toBe(200)
    const thinking = { type: 'enabled', budget_tokens: 6000 }
    const asked = { ...CODING, model, max_tokens: 9000, tools: [], ...figures, thinking }
    expect((await post(setup, client, asked, { path: '/v1/messages' })).status).toBe(200)
  })
})
