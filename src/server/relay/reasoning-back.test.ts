import { describe, expect, test } from 'vitest'
import { json, list, speakers, type Json } from '../test/dialect-clients.ts'
import { chatAnswer, usePlayedUpstream, type PlayedAnswer } from '../test/played-upstream.ts'
import { aModel, aRoute, post, type RelayClient, type RelaySetup } from '../test/relay-setup.ts'
import { useRelay } from '../test/use-relay.ts'

/** Reasoning of earlier turns, which some models demand back and others refuse. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now), { sharesClient: true })
const upstream = usePlayedUpstream()

async function ask(type: number, model: string, { path = '', ...body }: Json & { path?: string }) {
  const named = `${model}-${aModel()}`
  const mapping = JSON.stringify({ [named]: model })
  await aRoute(setup, named, { type, base_url: upstream.url, model_mapping: mapping })
  const headers = path === '/v1/messages' ? { 'anthropic-version': '2023-06-01' } : {}
  return post(
    setup,
    client,
    { model: named, ...body },
    { headers, ...(path === '' ? {} : { path }) },
  )
}
const sentMessages = () => list(upstream.calls.at(-1)?.body.messages)

const question = { role: 'user', content: 'Hi' }
const call = { id: 'c1', type: 'function', function: { name: 'get', arguments: '{}' } }
const called = (over: Json = {}) => ({
  role: 'assistant',
  content: null,
  tool_calls: [call],
  ...over,
})
const result = { role: 'tool', tool_call_id: 'c1', content: 'x' }
const use = { type: 'tool_use', id: 'c1', name: 'get', input: {} }
const used = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'x' }] }
const thinking = (text: string, signature = '') => ({ type: 'thinking', thinking: text, signature })
const messages = {
  path: '/v1/messages',
  max_tokens: 9000,
  tools: [{ name: 'get', input_schema: { type: 'object' } }],
}
const functions = {
  tools: [{ type: 'function', function: { name: 'get', parameters: { type: 'object' } } }],
}

const DONE = chatAnswer({ content: 'Done.' })
const MESSAGE: PlayedAnswer = {
  json: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'Done.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 1, output_tokens: 1 },
  },
}

describe('a turn without reasoning gets a placeholder on every channel type', () => {
  test.each([50, 8, 20, 39, 40, 41, 44, 47, 49, 36, 25])('type %i', async (type) => {
    upstream.play = () => DONE
    for (const [model, least] of [
      ['deepseek-v4-pro', ''],
      ['kimi-k2.6', '.'],
      ['mimo-v2.5-pro', '.'],
    ] as const) {
      await ask(type, model, { ...functions, messages: [question, called(), result] })
      expect(sentMessages()[1]).toMatchObject({ reasoning_content: least })
      const turns = [question, { role: 'assistant', content: [use] }, used]
      await ask(type, model, { ...messages, messages: turns })
      expect(sentMessages()[1]).toMatchObject({ reasoning_content: least })
    }
  })

  test('but not with another model, nor with reasoning off', async () => {
    upstream.play = () => DONE
    for (const [model, over] of [
      ['gpt-4o', {}],
      ['glm-5', {}],
      ['deepseek-v4-pro', { thinking: { type: 'disabled' } }],
      ['kimi-k2.6', { enable_thinking: false }],
    ] as const) {
      await ask(50, model, { ...functions, ...over, messages: [question, called(), result] })
      expect(sentMessages()[1]).not.toHaveProperty('reasoning_content')
    }
  })
})

test.each(['mimo-v2.5-pro', 'deepseek-v4-pro', 'glm-5', 'MiniMax-M2.7'])(
  'the reasoning of %s comes back to it from clients of Anthropic and Responses',
  async (model) => {
    upstream.play = () => DONE
    const turns = [question, { role: 'assistant', content: [thinking('I think'), use] }, used]
    await ask(39, model, { ...messages, messages: turns })
    expect(sentMessages()[1]).toMatchObject({ reasoning_content: 'I think' })
    const input = [
      question,
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I think' }] },
      { type: 'function_call', call_id: 'c1', name: 'get', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
    ]
    await ask(39, model, { path: '/v1/responses', input })
    expect(sentMessages()[1]).toMatchObject({ reasoning_content: 'I think' })
  },
)

describe('models of others behind Anthropic’s protocol', () => {
  test.each(['deepseek-v4-pro', 'kimi-k2.6', 'MiniMax-M2.7', 'mimo-v2.5-pro'])(
    '%s',
    async (model) => {
      upstream.play = () => MESSAGE
      const turns = (over: Json) => ({
        ...functions,
        reasoning_effort: 'medium',
        messages: [question, called(over), result],
      })
      await ask(52, model, turns({ reasoning_content: 'hm' }))
      expect(sentMessages()[1]?.content).toMatchObject([thinking('hm'), { type: 'tool_use' }])
      expect(upstream.calls.at(-1)?.body.thinking).toEqual({ type: 'adaptive' })
      await ask(52, model, turns({}))
      const off = model === 'MiniMax-M2.7' ? 'adaptive' : 'disabled'
      expect(upstream.calls.at(-1)?.body.thinking).toEqual({ type: off })
    },
  )
})

describe('refused for want of reasoning, a call is sent once more with it', () => {
  test.each([
    [
      50,
      'other-model',
      { message: 'The reasoning_content in the thinking mode must be passed back to the API.' },
    ],
    [
      50,
      'other-model',
      {
        message:
          'thinking is enabled but reasoning_content is missing in assistant tool call message at index 1',
      },
    ],
    [
      50,
      'other-model',
      {
        message: 'Param Incorrect',
        param: 'The reasoning_content in the thinking mode must be passed back to the API.',
      },
    ],
    [
      52,
      'other-model',
      { message: 'The `content[].thinking` in the thinking mode must be passed back to the API.' },
    ],
  ])('type %i, %s: %j', async (type, model, error) => {
    upstream.play = ({ body }) => {
      const isThere = JSON.stringify(body.messages).includes('"reasoning_content":"."')
      const isOff = json(body.thinking).type === 'disabled'
      if (!isThere && !isOff)
        return { status: 400, json: { error: { type: 'invalid_request_error', ...error } } }
      return type === 52 ? MESSAGE : DONE
    }
    const answer = await ask(type, model, { ...functions, messages: [question, called(), result] })
    expect(speakers.openai.whole(json(answer.json)).text).toBe('Done.')
    expect(upstream.calls).toHaveLength(2)
  })

  test('and no more than once', async () => {
    const error = {
      message: 'The reasoning_content in the thinking mode must be passed back to the API.',
    }
    upstream.play = () => ({ status: 400, json: { error } })
    const answer = await ask(50, 'other-model', {
      ...functions,
      messages: [question, called(), result],
    })
    expect([answer.status, upstream.calls.length]).toEqual([400, 2])
  })
})

describe('reasoning of other models is not sent to Claude', () => {
  const wrapped = Buffer.from('gatehouse:openai:rs_1 seal').toString('base64')
  const text = { type: 'text', text: 'a' }

  test.each([[''], [wrapped]])('with the seal "%s"', async (signature) => {
    upstream.play = () => MESSAGE
    const own = { ...thinking('mine', 'c2VhbA=='), cache: 'kept' }
    const turns = [
      question,
      { role: 'assistant', content: [thinking('x', signature), text] },
      question,
      { role: 'assistant', content: [thinking('x', signature)] },
      question,
      { role: 'assistant', content: [own, text] },
      question,
    ]
    await ask(14, 'claude-sonnet-4-6', { ...messages, messages: turns })
    expect(sentMessages()).toEqual([
      question,
      { role: 'assistant', content: [text] },
      question,
      question,
      { role: 'assistant', content: [own, text] },
      question,
    ])
  })

  test('and a model with a budget does not reason while its call is pending', async () => {
    upstream.play = () => MESSAGE
    const turns = [question, { role: 'assistant', content: [thinking('x'), use] }, used]
    const budget = { thinking: { type: 'enabled', budget_tokens: 2000 } }
    await ask(14, 'claude-sonnet-4-5', { ...messages, ...budget, messages: turns })
    expect(upstream.calls.at(-1)?.body).not.toHaveProperty('thinking')
    await ask(14, 'claude-sonnet-4-5', {
      ...messages,
      ...budget,
      messages: [...turns, { role: 'assistant', content: [text] }, question],
    })
    expect(upstream.calls.at(-1)?.body.thinking).toEqual(budget.thinking)
  })

  test('but go back to the compatible server that made them', async () => {
    upstream.play = () => MESSAGE
    const turns = [question, { role: 'assistant', content: [thinking('x'), text] }, question]
    await ask(52, 'deepseek-v4-pro', { ...messages, messages: turns })
    expect(sentMessages()).toEqual(turns)
  })
})
