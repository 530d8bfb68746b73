import { describe, expect, test } from 'vitest'
import { errorText } from '../../../contract/errors.ts'
import { GEMINI_SEAL } from '../../../../tools/fake-upstream/dialects/gemini-answers.ts'
import { ANTHROPIC_SEAL } from '../../../../tools/fake-upstream/dialects/anthropic-answers.ts'
import { speakers, type Wish } from '../../test/dialect-clients.ts'
import {
  aModel,
  aRoute,
  bookedCall,
  expectNothingCharged,
  openCall,
  post,
  requestIdOf,
  type RelayClient,
  type RelayInput,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/** Features for clients of Anthropic's and Gemini's dialect beside the response itself. */

type Json = Record<string, unknown>

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

async function aServed(type: number, words = '', over: Json = {}): Promise<string> {
  const model = aModel(words)
  await aRoute(setup, model, { type, ...over })
  return model
}
const sk = () => `sk-${client.key}`
const bare = (headers: Record<string, string> = {}): RelayInput => ({
  headers: { authorization: '', ...headers },
})
const lastSent = () => setup.upstream.seen().at(-1)
const lastBody = (): unknown => lastSent()?.body
const hello = { max_tokens: 64, messages: [{ role: 'user', content: 'Hello' }] }
const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]

describe('the key is accepted', () => {
  const places: [string, () => { path: string; headers: Record<string, string>; body: Json }][] = [
    ['x-api-key', () => ({ path: '/v1/messages', headers: { 'x-api-key': sk() }, body: hello })],
    [
      'Authorization, of an Anthropic client',
      () => ({ path: '/v1/messages', headers: { authorization: `Bearer ${sk()}` }, body: hello }),
    ],
    [
      'x-api-key, of an OpenAI client',
      () => ({ path: '/v1/chat/completions', headers: { 'x-api-key': sk() }, body: hello }),
    ],
  ]
  test.each(places)('%s', async (_place, make) => {
    const { path, headers, body } = make()
    const model = await aServed(14)
    const input = { path, headers: { authorization: '', ...headers } }
    expect((await post(setup, client, { model, ...body }, input)).status).toBe(200)
  })

  test.each([
    ['x-goog-api-key', () => ({ query: '', headers: { 'x-goog-api-key': sk() } })],
    ['the query', () => ({ query: `?key=${sk()}`, headers: {} })],
  ])('%s, of a Gemini client', async (_place, make) => {
    const model = await aServed(24)
    const { query, headers } = make()
    const path = `/v1beta/models/${model}:generateContent${query}`
    const answer = await post(setup, client, { contents }, { path, ...bare(headers) })
    expect(answer.status).toBe(200)
    // The key is never sent upstream.
    expect(JSON.stringify(lastSent()?.headers) + lastSent()?.url).not.toContain(client.key)
  })

  test('not in the query of other clients', async () => {
    const model = await aServed(1)
    const path = `/v1/chat/completions?key=${sk()}`
    expect((await post(setup, client, { model, ...hello }, { path, ...bare() })).status).toBe(401)
  })
})

describe('an error of the gateway is written', () => {
  test('in Anthropic’s format', async () => {
    const input = { path: '/v1/messages', headers: { 'x-api-key': 'nobody', authorization: '' } }
    const answer = await post(setup, client, { model: 'm', ...hello }, input)
    expect({ status: answer.status, body: answer.json }).toEqual({
      status: 401,
      body: {
        type: 'error',
        error: {
          type: 'authentication_error',
          message: `${errorText('token_unknown', 'zh')} (request id: ${requestIdOf(answer)})`,
        },
        request_id: requestIdOf(answer),
      },
    })
  })

  test.each([
    ['a model nobody serves', { model: 'nobody-serves' }, 503, 'api_error'],
    ['no messages', { messages: [] }, 400, 'invalid_request_error'],
    ['a limit that is none', { max_tokens: -1 }, 400, 'invalid_request_error'],
  ])('%s: %s to a client of Anthropic', async (_what, over, status, type) => {
    const model = await aServed(14)
    const path = '/v1/messages'
    const answer = await post(setup, client, { model, ...hello, ...over }, { path })
    expect(answer.status).toBe(status)
    expect(speakers.anthropic.error(answer.json as Json).type).toBe(type)
  })

  test.each([
    ['no contents', { contents: [] }, 'contents'],
    [
      'a limit that is none',
      { contents, generationConfig: { maxOutputTokens: '5' } },
      'generationConfig.maxOutputTokens',
    ],
    [
      'two spellings',
      { contents, generationConfig: {}, generation_config: {} },
      'generation_config',
    ],
    ['another model in the body', { contents, model: 'models/other' }, 'model'],
  ])('%s: 400 that names the field to a client of Gemini', async (_what, body, field) => {
    const model = await aServed(24)
    const path = `/v1beta/models/${model}:generateContent`
    const answer = await post(setup, client, body, { path })
    expect(answer.status).toBe(400)
    const { message, type } = speakers.gemini.error(answer.json as Json)
    expect(type).toBe('INVALID_ARGUMENT')
    expect(message).toContain(field)
    await expectNothingCharged(setup, client)
  })

  test('an unsupported member: 400 that names it, unless another channel supports it', async () => {
    const model = await aServed(14, '', { priority: 9 })
    const body = { model, messages: [{ role: 'user', content: 'Hello' }], n: 2 }
    const refused = await post(setup, client, body)
    expect(refused.status).toBe(400)
    expect(refused.json.error).toMatchObject({ code: 'unsupported_parameter' })
    expect(JSON.stringify(refused.json)).toContain(' n (request id')
    await expectNothingCharged(setup, client)
    await aRoute(setup, model, { type: 1 })
    expect((await post(setup, client, body)).status).toBe(200)
  })
})

test('an unsupported endpoint of Anthropic: 501 in its format', async () => {
  const answer = await post(setup, client, {}, { path: '/v1/messages/batches' })
  expect(answer.status).toBe(501)
  expect(speakers.anthropic.error(answer.json as Json).type).toBe('api_error')
})

describe('bytes pass unchanged if client and channel use one dialect', () => {
  const odd = (member: string): string =>
    `{ "temperature" : 1.0,"top_p":1e-1,${member}\n\t"metadata":{"user_id":"\\u0041é\\/"} }\r\n`

  test('to Anthropic, with the client’s versions', async () => {
    const model = await aServed(14)
    const body = odd(
      `"model":"${model}","max_tokens":64,"messages":[{"role":"user","content":"Hi"}],"new_thing":12345678901234567890,`,
    )
    const headers = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'new-thing-2026' }
    const path = '/v1/messages?beta=true'
    const answer = await post(setup, client, body, { path, headers })
    expect(answer.status).toBe(200)
    const sent = lastSent()
    expect(sent?.bytes.toString()).toBe(body)
    expect(sent?.url).toBe('/v1/messages?beta=true')
    expect(sent?.headers).toMatchObject({ ...headers, 'x-api-key': 'sk-upstream' })
    expect(sent?.headers).not.toHaveProperty('authorization')
  })

  test('to Anthropic under another name, with the required limit and the channel’s prompt', async () => {
    const asked = aModel()
    const mapping = { model_mapping: JSON.stringify({ [asked]: 'claude-x' }) }
    await aRoute(setup, asked, { type: 14, system_prompt: 'Be "kind".', ...mapping })
    const messages = [{ role: 'user', content: 'Hi' }]
    await post(setup, client, { model: asked, messages }, { path: '/v1/messages' })
    expect(lastSent()?.body).toEqual({
      model: 'claude-x',
      messages,
      system: 'Be "kind".',
      max_tokens: 8192,
    })
  })

  test('to Gemini, whose URL contains the model', async () => {
    const asked = aModel()
    const mapping = { model_mapping: JSON.stringify({ [asked]: 'gemini-x/y' }) }
    await aRoute(setup, asked, { type: 24, ...mapping, config: '{"api_version":"v1alpha"}' })
    const body = `{"contents":[{"parts":[{"text":"Hi"}]}],"generation_config":{"top_k":3.0}}`
    const path = `/v1beta/models/${asked}:generateContent`
    expect((await post(setup, client, body, { path })).status).toBe(200)
    const sent = lastSent()
    expect(sent?.bytes.toString()).toBe(body)
    expect(sent?.url).toBe('/v1alpha/models/gemini-x/y:generateContent')
    expect(sent?.headers['x-goog-api-key']).toBe('sk-upstream')
  })

  test('from Anthropic, event for event', async () => {
    const model = await aServed(14)
    const answer = await openCall(
      setup,
      client,
      { model, ...hello, stream: true },
      { path: '/v1/messages' },
    )
    await answer.ended
    const direct = await fetch(`${setup.upstream.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({ model, ...hello, stream: true }),
    })
    expect(answer.text()).toBe(await direct.text())
  })
})

describe('Azure is called', () => {
  test.each([
    ['2025-04-01-preview', '', true],
    ['2024-03-01-preview', '', false],
    ['2024-03-01-preview', '?api-version=2025-01-01-preview', true],
  ])(
    'with version %s%s by deployment, and asked for usage only if it knows',
    async (version, query, isAsked) => {
      const asked = aModel()
      const mapping = { model_mapping: JSON.stringify({ [asked]: 'our-gpt-4.1' }) }
      const config = JSON.stringify({ api_version: version })
      await aRoute(setup, asked, { type: 3, config, ...mapping })
      const path = `/v1/chat/completions${query}`
      const body = { model: asked, messages: [{ role: 'user', content: 'Hi' }], stream: true }
      const answer = await openCall(setup, client, body, { path })
      await answer.ended
      expect(answer.text()).toContain('[DONE]')
      const sent = lastSent()
      const used = query === '' ? version : '2025-01-01-preview'
      expect(sent?.url).toBe(`/openai/deployments/our-gpt-41/chat/completions?api-version=${used}`)
      expect(sent?.headers).toMatchObject({ 'api-key': 'sk-upstream' })
      expect(sent?.headers).not.toHaveProperty('authorization')
      expect(JSON.stringify(sent?.body).includes('include_usage')).toBe(isAsked)
      const { quota } = await bookedCall(setup, requestIdOf(answer))
      expect(quota).toBeGreaterThan(10)
    },
  )

  test('without the usage option that an old version rejects, even if the client sends it', async () => {
    const model = await aServed(3, '', { config: '{"api_version":"2024-03-01-preview"}' })
    const body = { model, ...hello, stream: true, stream_options: { include_usage: true } }
    const answer = await openCall(setup, client, body)
    await answer.ended
    expect(answer.text()).toContain('[DONE]')
    expect(lastSent()?.body).not.toHaveProperty('stream_options')
    expect((await bookedCall(setup, requestIdOf(answer))).detail['usage_source']).toBe('counted')
  })

  test('by the model itself in version v1', async () => {
    const model = await aServed(3, '', { config: '{"api_version":"v1"}' })
    expect((await post(setup, client, { model, ...hello })).status).toBe(200)
    expect(lastSent()?.url).toBe('/openai/v1/chat/completions')
  })
})

describe('reasoning and signatures are sent back to their maker', () => {
  test('Anthropic’s, through a client of OpenAI', async () => {
    const model = await aServed(14)
    const first = await post(
      setup,
      client,
      speakers.openai.body(
        model,
        { thinking: 2000, tools: ['weather'], choice: 'required' },
        false,
      ),
    )
    // The response of a chat call.
    const { choices } = first.json as unknown as { choices: { message: Json }[] }
    const said = speakers.openai.whole(first.json as Json)
    expect(said).toMatchObject({ thought: 'Six times seven.', seal: ANTHROPIC_SEAL })
    const { tool_calls } = choices[0]?.message ?? {}
    const [call] = tool_calls as { id: string }[]
    await post(setup, client, {
      model,
      messages: [
        { role: 'user', content: 'Weather?' },
        choices[0]?.message,
        { role: 'tool', tool_call_id: call?.id, content: 'sunny' },
      ],
    })
    const { messages } = lastBody() as { messages: { content: Json[] }[] }
    const [, turn] = messages
    expect(turn?.content[0]).toEqual({
      type: 'thinking',
      thinking: 'Six times seven.',
      signature: ANTHROPIC_SEAL,
    })
  })

  test.each(['openai', 'anthropic'] as const)('Gemini’s, through a client of %s', async (name) => {
    const model = `gemini-3-pro-${aModel()}`
    await aRoute(setup, model, { type: 24 })
    const speaker = speakers[name]
    const wish = { tools: ['weather'], choice: 'required' as const }
    const path = speaker.path(model, false)
    const first = await post(setup, client, speaker.body(model, wish, false), { path })
    const answer = first.json as Json
    const again = name === 'openai' ? openaiAgain(model, answer) : anthropicAgain(model, answer)
    expect((await post(setup, client, again, { path })).status).toBe(200)
    const { contents: sent } = lastBody() as { contents: { parts: Json[] }[] }
    const [, turn] = sent
    expect(turn?.parts.at(-1)?.thoughtSignature).toBe(GEMINI_SEAL)
  })

  const openaiAgain = (model: string, answer: Json) => {
    const [choice] = answer.choices as { message: { tool_calls: { id: string }[] } }[]
    const [call] = choice?.message.tool_calls ?? []
    return {
      model,
      messages: [
        { role: 'user', content: 'Weather?' },
        choice?.message,
        { role: 'tool', tool_call_id: call?.id, content: 'sunny' },
      ],
    }
  }
  const anthropicAgain = (model: string, { content }: Json) => {
    const call = (content as Json[]).find((block) => block.type === 'tool_use')
    const result = { type: 'tool_result', tool_use_id: call?.id, content: 'sunny' }
    return {
      model,
      max_tokens: 64,
      messages: [
        { role: 'user', content: 'Weather?' },
        { role: 'assistant', content },
        { role: 'user', content: [result] },
      ],
    }
  }

  test.each([
    ['says more at the top', [{ role: 'developer', content: 'Read only.' }], 1],
    ['only goes on', [], 0],
  ])('Claude’s latest model and a client that %s', async (_what, more, refused) => {
    const model = `claude-opus-5-5-${aModel()}`
    await aRoute(setup, model, { type: 14 })
    const messages: unknown[] = [{ role: 'user', content: 'What is the answer?' }]
    const asked = { model, reasoning_effort: 'low' }
    const first = await post(setup, client, { ...asked, messages })
    const { choices } = first.json as unknown as { choices: { message: Json }[] }
    expect(choices[0]?.message).toHaveProperty('reasoning_details')
    setup.upstream.seen()
    for (const isStream of [false, true]) {
      const next = { role: 'user', content: 'And?' }
      const body = { ...asked, messages: [...messages, choices[0]?.message, ...more, next] }
      const answer = await post(setup, client, { ...body, stream: isStream })
      expect(answer.status).toBe(200)
      const sent = setup.upstream.seen().map((seen) => JSON.stringify(seen.body))
      expect(sent.map((text) => text.includes(ANTHROPIC_SEAL))).toEqual(
        refused === 1 ? [true, false] : [true],
      )
      const { quota } = await bookedCall(setup, requestIdOf(answer))
      expect(quota).toBeGreaterThan(0)
    }
  })

  test('a client of Anthropic receives the error for rejected reasoning', async () => {
    const model = `claude-opus-5-5-${aModel()}`
    await aRoute(setup, model, { type: 14 })
    const thought = { type: 'thinking', thinking: 'Hm.', signature: ANTHROPIC_SEAL }
    const messages = [
      { role: 'user', content: 'Never asked' },
      { role: 'assistant', content: [thought, { type: 'text', text: 'Hello' }] },
      { role: 'user', content: 'And?' },
    ]
    const path = '/v1/messages'
    const answer = await post(setup, client, { model, max_tokens: 64, messages }, { path })
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain('Invalid `signature` in `thinking` block')
    expect(setup.upstream.seen()).toHaveLength(1)
  })

  test('a client that omits Anthropic’s reasoning continues without it within a turn', async () => {
    const model = `claude-sonnet-4-5-${aModel()}`
    await aRoute(setup, model, { type: 14 })
    const wish = { tools: ['weather'], results: ['sunny'], temperature: 0.3 }
    const asked = speakers.openai.body(model, wish, false)
    const body: Json = { ...asked, reasoning_effort: 'medium' }
    expect((await post(setup, client, body)).status).toBe(200)
    const inTurn = lastBody()
    expect(inTurn).not.toHaveProperty('thinking')
    expect(inTurn).toHaveProperty('temperature', 0.3)
    // The next turn reasons again, so the client's temperature is dropped.
    const messages = [...(body.messages as Json[]), { role: 'assistant', content: 'Sunny.' }]
    const next = { ...body, messages: [...messages, { role: 'user', content: 'And in Oslo?' }] }
    expect((await post(setup, client, next)).status).toBe(200)
    const inNext = lastBody()
    expect(inNext).toHaveProperty('thinking.budget_tokens', 2048)
    expect(inNext).not.toHaveProperty('temperature')
  })

  test('a signature is never sent to another provider', async () => {
    const model = await aServed(14)
    const thought = { type: 'thinking', thinking: 'Hm.', signature: ANTHROPIC_SEAL }
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [thought, { type: 'text', text: 'Hello' }] },
      { role: 'user', content: 'And?' },
    ]
    const gemini = await aServed(24)
    const path = '/v1/messages'
    await post(setup, client, { model: gemini, max_tokens: 64, messages }, { path })
    expect(JSON.stringify(lastSent()?.body)).not.toContain(ANTHROPIC_SEAL)
    await post(setup, client, { model, max_tokens: 64, messages }, { path })
    expect(JSON.stringify(lastSent()?.body)).toContain(ANTHROPIC_SEAL)
  })
})

describe('a tool whose name Anthropic would reject', () => {
  const tools = ['ns.get:weather', 'ns_get_weather']
  const cases = (['openai', 'gemini'] as const).flatMap((name) =>
    [false, true].map((isStream) => [name, isStream] as const),
  )
  test.each(cases)(
    'is called by its own by a client of %s, streamed: %s',
    async (name, isStream) => {
      const speaker = speakers[name]
      const model = await aServed(14)
      const wish: Wish = { tools, choice: 'required' }
      const input = { path: speaker.path(model, isStream), headers: speaker.headers(client) }
      const answer = await openCall(setup, client, speaker.body(model, wish, isStream), input)
      await answer.ended
      const said = isStream
        ? speaker.streamed(answer.text())
        : speaker.whole(JSON.parse(answer.text()) as Json)
      expect(said.calls.map((call) => call.name)).toEqual(tools.slice(0, 1))
      const { tools: sent } = lastBody() as { tools: Json[] }
      expect(sent.map((tool) => tool.name)).toEqual(['ns_get_weather_d20673d6', 'ns_get_weather'])
    },
  )

  test('and a call id that it would reject: call and result still match', async () => {
    const model = await aServed(14)
    const called = { name: 'ns.get:weather', arguments: '{}' }
    const messages = [
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: ['f:0', 'f.0'].map((id) => ({ id, type: 'function', function: called })),
      },
      { role: 'tool', tool_call_id: 'f:0', content: 'sunny' },
      { role: 'tool', tool_call_id: 'f.0', content: 'rain' },
    ]
    expect((await post(setup, client, { model, messages })).status).toBe(200)
    const { messages: sent } = lastBody() as { messages: { content: Json[] }[] }
    const ids = sent[1]?.content.map(({ id }) => id)
    expect(sent[2]?.content.map(({ tool_use_id: id }) => id)).toEqual(ids)
    expect(new Set(ids).size).toBe(2)
  })
})
