import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI, FunctionCallingConfigMode } from '@google/genai'
import { generateText, jsonSchema, streamText, type LanguageModel } from 'ai'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { PIXEL } from '../../test/dialect-clients.ts'
import {
  aModel,
  aRoute,
  eventually,
  heldPoints,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/** The official clients of all three vendors, with channels of all three. */

const ANSWER = 'The answer is forty-two.'
const CITY = {
  type: 'object' as const,
  properties: { city: { type: 'string' } },
  required: ['city'],
}
const types: [type: number, label: string][] = [
  [1, 'OpenAI'],
  [14, 'Anthropic'],
  [24, 'Gemini'],
]

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now), { sharesClient: true })

async function aServed(type: number, words = ''): Promise<string> {
  const model = aModel()
  await aRoute(setup, model, { type, words })
  return model
}
const apiKey = () => `sk-${client.key}`

describe.each(types)('@anthropic-ai/sdk with a channel of %2$s', (type) => {
  const sdk = () => new Anthropic({ apiKey: apiKey(), baseURL: setup.url, maxRetries: 0 })
  const ask = (model: string) => ({
    model,
    max_tokens: 256,
    messages: [{ role: 'user' as const, content: 'What is the answer?' }],
  })
  const weather = { name: 'weather', input_schema: CITY }

  test('chats, streams, calls tools and sends their results', async () => {
    const model = await aServed(type)
    const whole = await sdk().messages.create(ask(model))
    expect(whole.content).toMatchObject([{ type: 'text', text: ANSWER }])
    expect(whole).toMatchObject({ stop_reason: 'end_turn', usage: { output_tokens: 7 } })
    expect(whole._request_id).toMatch(/^\d{31}$/)
    const streamed = await sdk().messages.stream(ask(model)).finalMessage()
    expect(streamed.content).toMatchObject([{ type: 'text', text: ANSWER }])
    expect(streamed.usage).toMatchObject({ input_tokens: 11, output_tokens: 7 })

    const choice = { tools: [weather], tool_choice: { type: 'any' as const } }
    const called = await sdk()
      .messages.stream({ ...ask(model), ...choice })
      .finalMessage()
    expect(called.stop_reason).toBe('tool_use')
    const use = called.content.find((block) => block.type === 'tool_use')
    expect(use).toMatchObject({ name: 'weather', input: { city: 'forty-two' } })
    const result = { type: 'tool_result' as const, tool_use_id: use?.id ?? '', content: 'sunny' }
    const after = await sdk().messages.create({
      ...ask(model),
      tools: [weather],
      messages: [
        ...ask(model).messages,
        { role: 'assistant', content: called.content },
        { role: 'user', content: [result] },
      ],
    })
    expect(after.content).toMatchObject([{ type: 'text', text: ANSWER }])
  })

  test('sends an image, counts tokens, and lists models', async () => {
    const model = await aServed(type)
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: PIXEL }
    const content = [{ type: 'image' as const, source }]
    const seen = await sdk().messages.create({
      ...ask(model),
      messages: [{ role: 'user', content }],
    })
    expect(seen.content).toMatchObject([{ type: 'text', text: ANSWER }])
    const { messages } = ask(model)
    expect((await sdk().messages.countTokens({ model, messages })).input_tokens).toBeGreaterThan(0)
    const listed = await sdk().models.list()
    expect(listed.data.map(({ id }) => id)).toContain(model)
  })

  test('raises its own error classes, before and within a stream', async () => {
    const limited = await aServed(type, 'fail-429')
    const refused = await sdk()
      .messages.create(ask(limited))
      .catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Anthropic.RateLimitError)
    const broken = await aServed(type, 'chunks-8+error-mid-stream')
    const failed = await sdk()
      .messages.stream(ask(broken))
      .finalMessage()
      .catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(Anthropic.APIError)
  })

  test('runs tools, although it requests a stored conversation', async () => {
    const model = await aServed(type)
    const cities: unknown[] = []
    const tool = {
      ...weather,
      description: 'Tells the weather.',
      parse: (input: unknown) => input,
      run: (input: unknown) => {
        cities.push(input)
        return 'sunny'
      },
    }
    const last = await sdk().beta.messages.toolRunner({
      ...ask(model),
      messages: [{ role: 'user', content: 'Use the weather tool.' }],
      tools: [tool],
    })
    expect(cities).toEqual([{ city: 'forty-two' }])
    expect(last.content).toMatchObject([{ type: 'text', text: ANSWER }])
  })

  test('aborts a stream', async () => {
    const model = await aServed(type, 'chunks-200+slow-chunk-20')
    const stream = sdk().messages.stream(ask(model))
    await expect(
      (async () => {
        for await (const event of stream) if (event.type === 'content_block_delta') stream.abort()
      })(),
    ).rejects.toThrow(/abort/i)
    await eventually(async () => (await heldPoints(setup, client.userId)) === 0, 'the settlement')
  })
})

test('@anthropic-ai/sdk receives its provider’s error name, with and without streaming', async () => {
  const key = 'the-operators-own-key'
  const details = { error_code: 'cmek_key_disabled', words: [`of ${key}`] }
  const error = { type: 'invalid_request_error', message: 'No.', details }
  const refusal = JSON.stringify({ type: 'error', error, request_id: 'req_1' })
  const start = { type: 'message_start', message: { usage: { input_tokens: 1 }, content: [] } }
  let isStream = false
  const upstream = await startScriptedUpstream((_request, response) => {
    const type = isStream ? 'text/event-stream' : 'application/json'
    response.writeHead(isStream ? 200 : 400, { 'content-type': type })
    const first = `event: message_start\ndata: ${JSON.stringify(start)}\n\n`
    response.end(isStream ? `${first}event: error\ndata: ${refusal}\n\n` : refusal)
  })
  const model = aModel()
  await aRoute(setup, model, { type: 14, base_url: upstream.url, key })
  const { messages } = new Anthropic({ apiKey: apiKey(), baseURL: setup.url, maxRetries: 0 })
  const body = { model, max_tokens: 9, messages: [{ role: 'user' as const, content: 'hi' }] }
  for (const ask of [() => messages.create(body), () => messages.stream(body).finalMessage()]) {
    const refused: unknown = await ask().catch((thrown: unknown) => thrown)
    expect(refused).toBeInstanceOf(Anthropic.APIError)
    expect(refused).toMatchObject({
      errorCode: 'cmek_key_disabled',
      details: { error_code: 'cmek_key_disabled', words: ['of ***'] },
    })
    isStream = true
  }
  await upstream.close()
})

describe.each(types)('@google/genai with a channel of %2$s', (type) => {
  const sdk = () => new GoogleGenAI({ apiKey: apiKey(), httpOptions: { baseUrl: setup.url } })
  const contents = 'What is the answer?'

  test('chats, streams, calls tools and sends their results', async () => {
    const model = await aServed(type)
    const whole = await sdk().models.generateContent({ model, contents })
    expect(whole.text).toBe(ANSWER)
    expect(whole.usageMetadata).toMatchObject({ promptTokenCount: 11, totalTokenCount: 18 })
    let text = ''
    for await (const chunk of await sdk().models.generateContentStream({ model, contents })) {
      text += chunk.text ?? ''
    }
    expect(text).toBe(ANSWER)

    const config = {
      tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: CITY }] }],
    }
    const toolConfig = { functionCallingConfig: { mode: FunctionCallingConfigMode.ANY } }
    const called = await sdk().models.generateContent({
      model,
      contents,
      config: { ...config, toolConfig },
    })
    expect(called.functionCalls).toMatchObject([{ name: 'weather', args: { city: 'forty-two' } }])
    const response = { name: 'weather', response: { output: 'sunny' } }
    const turn = called.candidates?.[0]?.content ?? {}
    const after = await sdk().models.generateContent({
      model,
      contents: [
        { role: 'user', parts: [{ text: contents }] },
        turn,
        { role: 'user', parts: [{ functionResponse: response }] },
      ],
      config,
    })
    expect(after.text).toBe(ANSWER)
  })

  test('sends an image, counts tokens, and lists models', async () => {
    const model = await aServed(type)
    const inlineData = { mimeType: 'image/png', data: PIXEL }
    const seen = await sdk().models.generateContent({ model, contents: [{ inlineData }] })
    expect(seen.text).toBe(ANSWER)
    expect((await sdk().models.countTokens({ model, contents })).totalTokens).toBeGreaterThan(0)
    const listed: (string | undefined)[] = []
    for await (const { name } of await sdk().models.list()) listed.push(name)
    expect(listed).toContain(`models/${model}`)
  })

  test('raises its own error classes', async () => {
    const model = await aServed(type, 'fail-400')
    const refused = await sdk()
      .models.generateContent({ model, contents })
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ name: 'ApiError', status: 400 })
  })

  test('aborts a stream', async () => {
    const model = await aServed(type, 'chunks-200+slow-chunk-20')
    const stop = new AbortController()
    const config = { abortSignal: stop.signal }
    await expect(
      (async () => {
        for await (const _chunk of await sdk().models.generateContentStream({
          model,
          contents,
          config,
        })) {
          stop.abort()
        }
      })(),
    ).rejects.toThrow(/abort/i)
    await eventually(async () => (await heldPoints(setup, client.userId)) === 0, 'the settlement')
  })
})

describe.each(types)('openai with a channel of %2$s', (type) => {
  const sdk = () => new OpenAI({ apiKey: apiKey(), baseURL: `${setup.url}/v1`, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'What is the answer?' }]
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: CITY } }]

  test('chats, streams, and calls tools in a stream', async () => {
    const model = await aServed(type)
    const whole = await sdk().chat.completions.create({ model, messages })
    expect(whole.choices[0]).toMatchObject({ message: { content: ANSWER }, finish_reason: 'stop' })
    expect(whole.model).toBe(model)
    const streamed = await sdk().chat.completions.stream({ model, messages }).finalContent()
    expect(streamed).toBe(ANSWER)
    const called = await sdk()
      .chat.completions.stream({ model, messages, tools, tool_choice: 'required' })
      .finalChatCompletion()
    expect(called.choices[0]?.message.tool_calls).toMatchObject([
      { function: { name: 'weather', arguments: '{"city":"forty-two"}' } },
    ])
  })

  test('raises its own error classes', async () => {
    const model = await aServed(type, 'fail-429')
    const refused = sdk().chat.completions.create({ model, messages })
    await expect(refused).rejects.toBeInstanceOf(OpenAI.RateLimitError)
  })
})

describe('the AI SDK', () => {
  const providers: [string, (model: string) => LanguageModel][] = [
    [
      'anthropic',
      (model) => createAnthropic({ apiKey: apiKey(), baseURL: `${setup.url}/v1` })(model),
    ],
    [
      'google',
      (model) =>
        createGoogleGenerativeAI({ apiKey: apiKey(), baseURL: `${setup.url}/v1beta` })(model),
    ],
    [
      'openai-compatible',
      (model) =>
        createOpenAICompatible({ name: 'ours', apiKey: apiKey(), baseURL: `${setup.url}/v1` })(
          model,
        ),
    ],
  ]
  const cases = providers.flatMap(([name, model]) =>
    types.map(([type, label]) => ({ name, model, type, label })),
  )

  test.each(cases)('$name with a channel of $label', async ({ model: modelOf, type }) => {
    const name = await aServed(type)
    const model = modelOf(name)
    const prompt = 'What is the answer?'
    const { text, usage } = await generateText({ model, prompt, maxRetries: 0 })
    expect(text).toBe(ANSWER)
    expect(usage).toMatchObject({ inputTokens: 11, outputTokens: 7 })
    expect(await streamText({ model, prompt, maxRetries: 0 }).text).toBe(ANSWER)
    const weather = { inputSchema: jsonSchema(CITY) }
    const { toolCalls } = await generateText({
      model,
      prompt,
      tools: { weather },
      toolChoice: 'required',
      maxRetries: 0,
    })
    expect(toolCalls).toMatchObject([{ toolName: 'weather', input: { city: 'forty-two' } }])
  })
})
