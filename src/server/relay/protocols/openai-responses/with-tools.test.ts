import Anthropic from '@anthropic-ai/sdk'
import { FunctionCallingConfigMode, GoogleGenAI, type Content } from '@google/genai'
import { beforeEach, describe, expect, test } from 'vitest'
import { startFakeUpstream } from '../../../../../tools/fake-upstream/fake-upstream.ts'
import { OPENAI_SEAL } from '../../../../../tools/fake-upstream/openai/thinking-checks.ts'
import OpenAI from 'openai'
import { ask as askAs } from '../../../test/dialect-call.ts'
import { speakers } from '../../../test/dialect-clients.ts'
import { onSqlite } from '../../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  expectNothingCharged,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { wrapSignature } from '../canonical/signature.ts'
import { useRelay } from '../../../test/use-relay.ts'
import { callsToolsByResponses } from './with-tools.ts'
import { traitsOf } from '../../vendors/registry.ts'

/** Clients with OpenAI's models that call no tools in chat completions while they reason. */

const ANSWER = 'The answer is forty-two.'
const THOUGHT = 'Six times seven.'
const CITY = {
  type: 'object' as const,
  properties: { city: { type: 'string' } },
  required: ['city'],
}
const WEATHER = { name: 'weather', args: { city: 'forty-two' } }
const weather = { name: 'weather', input_schema: CITY }
const TOOLS = { tools: ['weather'], choice: 'required' as const }
const path = '/v1/messages'

test.each([
  [1, 'gpt-5.4', true],
  [3, 'gpt-5.4-mini-2026-03-05', true],
  [1, 'gpt-5.10', true],
  [1, 'gpt-6-sol', true],
  [1, 'gpt-5.3', false],
  [1, 'gpt-5.1', false],
  [1, 'gpt-5', false],
  [1, 'gpt-5.4-chat-latest', false],
  [1, 'gpt-4o', false],
  [50, 'gpt-5.4', false],
])('a channel of type %i calls tools of %s by responses: %s', (type, model, expected) => {
  expect(callsToolsByResponses({ type, model, traits: traitsOf(type) })).toBe(expected)
})

onSqlite('tools of models that think', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })
  beforeEach(() => void setup.upstream.seen())

  async function aThinker(type: number, words = '', over = {}): Promise<string> {
    const model = `gpt-5.6-${aModel(words)}`
    await aRoute(setup, model, { type, ...over })
    return model
  }
  const sent = () =>
    setup.upstream.seen().map(({ url, body }) => ({ url, body: body as Record<string, unknown> }))

  describe.each([
    [1, '/v1/responses'],
    [3, '/openai/v1/responses?api-version=preview'],
  ])('a channel of type %i', (type, address) => {
    test.each([false, true])('@anthropic-ai/sdk, streamed: %s', async (isStream) => {
      const model = await aThinker(type, 'cached-5+reasoning-3')
      const sdk = new Anthropic({
        apiKey: `sk-${client.key}`,
        baseURL: setup.url,
        maxRetries: 0,
      })
      const ask = async (messages: Anthropic.MessageParam[]) => {
        const body = {
          model,
          max_tokens: 4096,
          messages,
          tools: [weather],
          thinking: { type: 'adaptive' as const },
          output_config: { effort: 'high' as const },
          temperature: 1,
        }
        if (!isStream) return sdk.messages.create({ ...body, stream: false })
        const streaming = sdk.messages.stream(body)
        const message = await streaming.finalMessage()
        return { ...message, _request_id: streaming.request_id }
      }
      const question = { role: 'user' as const, content: 'Use the weather tool.' }
      const called = await ask([question])
      expect(called.stop_reason).toBe('tool_use')
      const thoughts = called.content.filter((block) => block.type === 'thinking')
      expect(thoughts.map(({ thinking }) => thinking).join('')).toBe(THOUGHT)
      const use = called.content.find((block) => block.type === 'tool_use')
      expect(use).toMatchObject({ name: 'weather', input: { city: 'forty-two' } })
      const result = { type: 'tool_result' as const, tool_use_id: use?.id ?? '', content: 'sunny' }
      const after = await ask([
        question,
        { role: 'assistant', content: called.content },
        { role: 'user', content: [result] },
      ])
      expect(after.content.at(-1)).toMatchObject({ type: 'text', text: ANSWER })
      expect(after.stop_reason).toBe('end_turn')

      const [first, second] = sent()
      expect(first).toMatchObject({
        url: address,
        body: { model, store: false, reasoning: { effort: 'high', summary: 'auto' } },
      })
      expect(first?.body).not.toHaveProperty('temperature')
      expect(second?.body.input).toMatchObject([
        { role: 'user' },
        { type: 'reasoning', id: 'rs_fixed', encrypted_content: OPENAI_SEAL },
        { type: 'function_call', call_id: use?.id },
        { type: 'function_call_output', call_id: use?.id, output: 'sunny' },
      ])
      const { detail } = await bookedCall(setup, after._request_id ?? '')
      expect(detail).toMatchObject({
        prompt_tokens: 16,
        cached_tokens: 5,
        completion_tokens: 10,
        reasoning_tokens: 3,
        usage_source: 'upstream',
      })
    })

    test.each([false, true])('@google/genai, streamed: %s', async (isStream) => {
      const model = await aThinker(type)
      const { models } = new GoogleGenAI({
        apiKey: `sk-${client.key}`,
        httpOptions: { baseUrl: setup.url },
      })
      const ask = async (contents: Content[], mode: FunctionCallingConfigMode) => {
        const config = {
          tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: CITY }] }],
          toolConfig: { functionCallingConfig: { mode } },
          thinkingConfig: { includeThoughts: true, thinkingBudget: 8192 },
          temperature: 1,
          topP: 0.95,
        }
        if (!isStream) {
          const { candidates } = await models.generateContent({ model, contents, config })
          return candidates?.[0]?.content?.parts ?? []
        }
        const parts = []
        for await (const { candidates } of await models.generateContentStream({
          model,
          contents,
          config,
        })) {
          parts.push(...(candidates?.[0]?.content?.parts ?? []))
        }
        return parts
      }
      const question = { role: 'user', parts: [{ text: 'Weather?' }] }
      const called = await ask([question], FunctionCallingConfigMode.ANY)
      const thoughts = called.filter(({ thought }) => thought === true)
      expect(thoughts.map(({ text }) => text).join('')).toBe(THOUGHT)
      // As gemini-cli does: reasoning is not sent back, and calls unchanged.
      const calls = called.filter(({ functionCall }) => functionCall !== undefined)
      expect(calls).toMatchObject([
        { functionCall: { name: 'weather', args: { city: 'forty-two' } } },
      ])
      const response = { name: 'weather', response: { output: 'sunny' } }
      const turn = [
        question,
        { role: 'model', parts: calls },
        { role: 'user', parts: [{ functionResponse: response }] },
      ]
      const after = await ask(turn, FunctionCallingConfigMode.AUTO)
      const said = after.filter(({ thought }) => thought !== true).map(({ text }) => text ?? '')
      expect(said.join('')).toBe(ANSWER)
      const [first, second] = sent()
      expect(first).toMatchObject({
        url: address,
        body: { tool_choice: 'required', reasoning: { effort: 'medium', summary: 'auto' } },
      })
      expect(second?.body.input).toMatchObject([
        { role: 'user' },
        { type: 'reasoning', encrypted_content: OPENAI_SEAL },
        { type: 'function_call' },
        { type: 'function_call_output', output: 'sunny' },
      ])
    })
  })

  const asked = (model: string) => speakers.anthropic.body(model, TOOLS, false)

  test('uses chat without tools, and the Responses API with tools, also for clients of OpenAI', async () => {
    const model = await aThinker(1)
    const bare = speakers.anthropic.body(model, { thinking: 8192 }, false)
    expect((await post(setup, client, bare, { path })).status).toBe(200)
    const chat = speakers.openai.body(model, TOOLS, false)
    const called = await post(setup, client, chat)
    expect(speakers.openai.whole(Object(called.json))).toMatchObject({ calls: [WEATHER] })
    const streamed = await stream(setup, client, chat)
    expect(speakers.openai.streamed(streamed.text())).toMatchObject({ calls: [WEATHER] })
    const [{ function: declared } = {}] = chat.tools as { function: unknown }[]
    const older = { ...chat, tools: undefined, tool_choice: undefined, functions: [declared] }
    expect((await post(setup, client, older)).status).toBe(200)
    await post(setup, client, { ...chat, reasoning_effort: 'none' })
    await post(setup, client, speakers.openai.body(model, {}, false))
    expect(sent().map(({ url }) => url)).toEqual([
      '/v1/chat/completions',
      '/v1/responses',
      '/v1/responses',
      '/v1/responses',
      '/v1/chat/completions',
      '/v1/chat/completions',
    ])
  })

  test('gpt-5.4 uses chat for tools without an effort', async () => {
    const model = `gpt-5.4-${aModel()}`
    await aRoute(setup, model, { type: 1 })
    const chat = speakers.openai.body(model, TOOLS, false)
    await post(setup, client, chat)
    await post(setup, client, { ...chat, reasoning_effort: 'low' })
    expect(sent().map(({ url }) => url)).toEqual(['/v1/chat/completions', '/v1/responses'])
  })

  test('the SDK of OpenAI, with a model without chat completions', async () => {
    const model = `gpt-5.3-codex-${aModel()}`
    await aRoute(setup, model, { type: 1 })
    const sdk = new OpenAI({
      apiKey: `sk-${client.key}`,
      baseURL: `${setup.url}/v1`,
      maxRetries: 0,
    })
    const asking = { model, messages: [{ role: 'user' as const, content: 'Hi' }] }
    const { choices } = await sdk.chat.completions.create(asking)
    expect(choices[0]?.message.content).toBe(ANSWER)
    expect(sent().map(({ url }) => url)).toEqual(['/v1/responses'])
  })

  test('a server without chat completions is called by the Responses API for an hour', async () => {
    const wordsFor = (url: string): string => (url.endsWith('/completions') ? 'fail-404' : '')
    const responding = await startFakeUpstream({ wordsFor })
    const model = aModel()
    await aRoute(setup, model, { type: 50, base_url: responding.url })
    for (const speaker of [speakers.openai, speakers.anthropic]) {
      const question = { model, wish: {}, isStream: false }
      const { said } = await askAs({ setup, client }, speaker, question)
      expect(said.text).toBe(ANSWER)
    }
    expect(responding.seen().map(({ url }) => url)).toEqual([
      '/chat/completions',
      '/responses',
      '/responses',
    ])
    await responding.close()
  })

  test.each([
    ['gpt-5-pro', 'high'],
    ['gpt-5.4-pro', 'medium'],
    ['gpt-5.1-codex-max', 'low'],
    ['gpt-5.3-codex', 'low'],
  ])('%s has no chat: it is asked by responses, without tools too', async (name, effort) => {
    const model = `${name}-${aModel()}`
    await aRoute(setup, model, { type: 1 })
    const answer = speakers.anthropic
    const thinking = { thinking: { type: 'enabled', budget_tokens: 2048 } }
    for (const wish of [thinking, { thinking: { type: 'disabled' } }]) {
      const body = { ...answer.body(model, { maxTokens: 4096 }, false), ...wish }
      const { status, json } = await post(setup, client, body, { path })
      expect(status).toBe(200)
      expect(answer.whole(Object(json)).text).toBe(ANSWER)
    }
    const [thought, not] = sent()
    expect(thought).toMatchObject({ url: '/v1/responses', body: { reasoning: { effort } } })
    // It always reasons and has no switch.
    expect(JSON.stringify(not?.body.reasoning)).not.toContain('none')
    const gemini = speakers.gemini.body(model, {}, false)
    const url = speakers.gemini.path(model, false)
    expect((await post(setup, client, gemini, { path: url })).status).toBe(200)
  })

  test('a server without the Responses API is called by chat without reasoning for an hour', async () => {
    const wordsFor = (url: string): string => (url.endsWith('/responses') ? 'fail-404' : '')
    const chatting = await startFakeUpstream({ wordsFor })
    const model = await aThinker(1, '', { base_url: chatting.url })
    const called = await post(setup, client, asked(model), { path })
    expect(speakers.anthropic.whole(Object(called.json))).toMatchObject({ calls: [WEATHER] })
    expect((await bookedCall(setup, requestIdOf(called))).quota).toBe(18)
    const streamed = await stream(setup, client, asked(model), { path })
    expect(speakers.anthropic.streamed(streamed.text())).toMatchObject({ calls: [WEATHER] })
    // So does a client of the Responses API.
    const input = 'Use the weather tool.'
    const tools = [{ type: 'function', name: 'weather', parameters: CITY }]
    const body = { model, input, tools, reasoning: { effort: 'high' } }
    const responded = await post(setup, client, body, { path: '/v1/responses' })
    expect(responded.json).toMatchObject({ output: [{ type: 'function_call', name: 'weather' }] })
    const seen = chatting.seen()
    expect(seen.map(({ url }) => url)).toEqual([
      '/v1/responses',
      ...Array.from({ length: 3 }, () => '/v1/chat/completions'),
    ])
    for (const chat of seen.slice(1)) expect(chat.body).toHaveProperty('reasoning_effort', 'none')
    setup.clock.lapseSeconds(3601)
    await post(setup, client, asked(model), { path })
    expect(chatting.seen()[0]?.url).toBe('/v1/responses')
    await chatting.close()
  })

  test('reasoning that another account has encrypted is dropped', async () => {
    const model = await aThinker(1)
    const signature = wrapSignature({ by: 'openai', value: 'rs_1 gAAAAother' }, 'anthropic')
    const { messages, ...body } = speakers.anthropic.body(
      model,
      { tools: ['weather'], results: ['sunny'] },
      false,
    )
    const [question, calls, results] = messages as { content: object[] }[]
    const sealed = { type: 'thinking', thinking: 'Hm.', signature }
    const turn = { ...calls, content: [sealed, ...(calls?.content ?? [])] }
    const answer = await post(
      setup,
      client,
      { ...body, messages: [question, turn, results] },
      { path },
    )
    expect(speakers.anthropic.whole(Object(answer.json)).text).toBe(ANSWER)
    const [first, second] = sent().map((call) => call.body.input as { type: string }[])
    expect(first).toContainEqual(expect.objectContaining({ encrypted_content: 'gAAAAother' }))
    expect(second).toEqual(first?.filter(({ type }) => type !== 'reasoning'))
  })

  test('that fails before its first content is retried on another channel', async () => {
    const model = `gpt-5.6-${aModel()}`
    const failed = {
      type: 'response.failed',
      response: { error: { code: 'rate_limit_exceeded', message: 'Slow down.' } },
    }
    const events = [{ type: 'response.created', response: {} }, failed]
    const limited = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
    })
    await aRoute(setup, model, { type: 1, base_url: limited.url, priority: 9 })
    const other = await aClient(setup)
    const alone = await stream(setup, other, asked(model), { path })
    expect(alone.status).toBe(429)
    await expectNothingCharged(setup, other)
    await aRoute(setup, model, { type: 1 })
    setup.app.options.set('RetryTimes', '1')
    const answer = await stream(setup, client, asked(model), { path })
    setup.app.options.set('RetryTimes', '0')
    expect(speakers.anthropic.streamed(answer.text())).toMatchObject({
      calls: [WEATHER],
      isComplete: true,
    })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(18)
    await limited.close()
  })

  test('a broken stream ends with an error, and the received part is charged', async () => {
    const model = await aThinker(1, 'chunks-8+error-mid-stream')
    const wish = { tools: ['weather'], choice: 'none' as const }
    const body = speakers.anthropic.body(model, wish, true)
    const answer = await stream(setup, client, body, { path })
    const said = speakers.anthropic.streamed(answer.text())
    expect(said.isComplete).toBe(false)
    expect(said.error).not.toBe('')
    const { detail } = await bookedCall(setup, requestIdOf(answer))
    expect(detail.usage_source).toBe('counted')
  })
})
