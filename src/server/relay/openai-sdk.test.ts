import OpenAI from 'openai'
import OldOpenAI from 'openai-v4'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  eventually,
  heldPoints,
  type RelayClient,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelay } from '../test/use-relay.ts'

/** The official clients, new and old, against the gateway as their users set them up. */

const QUESTION = { role: 'user', content: 'What is the answer?' } as const
const ANSWER = 'The answer is forty-two.'
const WEATHER: OpenAI.Chat.Completions.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'the weather of a place',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
}
const WITH_TOOLS = { tools: [WEATHER], tool_choice: 'required' as const }

let setup: RelaySetup
let client: RelayClient
let model: string
useRelay((now) => ({ setup, client } = now), { sharesClient: true })
beforeAll(async () => {
  model = await aServedModel(setup)
})

const clients: [string, typeof OpenAI][] = [
  ['7', OpenAI],
  // The surface used here is the same in both.
  ['4', OldOpenAI as unknown as typeof OpenAI],
]

describe.each(clients)('openai %s', (_version, Client) => {
  const sdk = (key = `sk-${client.key}`) =>
    new Client({ apiKey: key, baseURL: `${setup.url}/v1`, maxRetries: 0 })
  const ask = (name: string) => ({ model: name, messages: [QUESTION] })

  test('chats', async () => {
    const { data, response } = await sdk().chat.completions.create(ask(model)).withResponse()
    expect(data.choices[0]?.message.content).toBe(ANSWER)
    expect(data.usage).toMatchObject({ prompt_tokens: 11, completion_tokens: 7 })
    expect(response.headers.get('x-gatehouse-quota')).toBe('18')
  })

  test('streams, and nothing but text arrives', async () => {
    const chunks = await sdk().chat.completions.create({ ...ask(model), stream: true })
    let text = ''
    for await (const chunk of chunks) {
      expect(chunk.choices).toHaveLength(1)
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe(ANSWER)
  })

  test('streams with usage when it asks', async () => {
    const chunks = await sdk().chat.completions.create({
      ...ask(model),
      stream: true,
      stream_options: { include_usage: true },
    })
    const usages: unknown[] = []
    for await (const { usage } of chunks) if (usage) usages.push(usage)
    expect(usages).toMatchObject([{ prompt_tokens: 11, completion_tokens: 7 }])
  })

  test('streams what an upstream answers in one piece', async () => {
    const whole = await aServedModel(setup, 'json-when-stream')
    const chunks = await sdk().chat.completions.create({ ...ask(whole), stream: true })
    let text = ''
    for await (const chunk of chunks) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe(ANSWER)
  })

  test('calls tools', async () => {
    const call = { ...ask(model), ...WITH_TOOLS }
    const { choices } = await sdk().chat.completions.create(call)
    expect(choices[0]?.finish_reason).toBe('tool_calls')
    expect(choices[0]?.message.tool_calls).toMatchObject([
      { function: { name: 'weather', arguments: '{"city":"forty-two"}' } },
    ])
  })

  test('calls tools in a stream', async () => {
    const call = { ...ask(model), ...WITH_TOOLS }
    const chunks = await sdk().chat.completions.create({ ...call, stream: true })
    let name = ''
    let given = ''
    for await (const chunk of chunks) {
      const part = chunk.choices[0]?.delta.tool_calls?.[0]?.function
      name += part?.name ?? ''
      given += part?.arguments ?? ''
    }
    expect([name, given]).toEqual(['weather', '{"city":"forty-two"}'])
  })

  test('embeds, in base64 under the surface', async () => {
    const embedder = await aServedModel(setup, 'text-embed-small')
    const { data, usage } = await sdk().embeddings.create({ model: embedder, input: ['a', 'b'] })
    expect(data).toHaveLength(2)
    expect(data[0]?.embedding.every(Number.isFinite)).toBe(true)
    expect(data[0]?.embedding).toHaveLength(8)
    expect(usage.prompt_tokens).toBe(12)
  })

  test('completes and moderates', async () => {
    const { choices } = await sdk().completions.create({ model, prompt: 'The answer is' })
    expect(choices[0]?.text).toBe(' forty-two')
    const { results } = await sdk().moderations.create({ model, input: 'hello' })
    expect(results[0]?.flagged).toBe(false)
  })

  test('lists models and looks one up', async () => {
    const page = await sdk().models.list()
    expect(page.data.map(({ id }) => id)).toContain(model)
    expect((await sdk().models.retrieve('gpt-4o')).owned_by).toBe('openai')
  })

  test('leaves a stream, which ends the upstream’s work and is charged', async () => {
    const own = await aClient(setup)
    const endless = await aServedModel(setup, 'chunks-900+tokens-900+slow-chunk-5+no-usage')
    setup.upstream.seen()
    const chunks = await sdk(own.key).chat.completions.create({ ...ask(endless), stream: true })
    let count = 0
    for await (const _chunk of chunks) {
      count += 1
      if (count === 5) break
    }
    const [seen] = setup.upstream.seen()
    await eventually(() => seen?.outcome === 'client-gone', 'the abort')
    await eventually(async () => (await heldPoints(setup, own.userId)) === 0, 'the settlement')
    const row = await setup.database.read
      .selectFrom('ledger')
      .select('completion_tokens')
      .where('user_id', '=', own.userId)
      .where('kind', '=', 'consume')
      .executeTakeFirstOrThrow()
    expect(row.completion_tokens).toBeGreaterThanOrEqual(3)
    expect(row.completion_tokens).toBeLessThan(100)
  })

  describe('turns a refusal into the class that its users catch', () => {
    test('401: AuthenticationError', async () => {
      const failing = sdk('sk-wrong').chat.completions.create(ask(model))
      await expect(failing).rejects.toBeInstanceOf(Client.AuthenticationError)
      await expect(sdk('sk-wrong').models.list()).rejects.toMatchObject({ status: 401 })
    })

    test('403: PermissionDeniedError, with our code', async () => {
      const poor = await aClient(setup, { quota: 0 })
      const error: unknown = await sdk(poor.key)
        .chat.completions.create(ask(model))
        .catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(Client.PermissionDeniedError)
      expect(error).toMatchObject({ code: 'insufficient_user_quota', type: 'one_api_error' })
    })

    test('400: BadRequestError, with the sentence', async () => {
      const call = { ...ask(model), max_tokens: -1 }
      const error: unknown = await sdk()
        .chat.completions.create(call)
        .catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(Client.BadRequestError)
      expect(String(error)).toContain('max_tokens')
    })

    test('429: RateLimitError, and the upstream’s wish to be left alone', async () => {
      const busy = await aServedModel(setup, 'fail-429-retry-9')
      const error: unknown = await sdk()
        .chat.completions.create(ask(busy))
        .catch((caught: unknown) => caught)
      expect(error).toBeInstanceOf(Client.RateLimitError)
      // The class holds the answer's headers.
      const { headers } = error as { headers: Headers | Record<string, string> }
      const after = headers instanceof Headers ? headers.get('retry-after') : headers['retry-after']
      expect(after).toBe('9')
    })

    test('503: InternalServerError if no channel serves the model', async () => {
      const failing = sdk().chat.completions.create(ask('nobody-has-it'))
      await expect(failing).rejects.toBeInstanceOf(Client.InternalServerError)
    })

    test('in a stream: as the call begins, or as it breaks', async () => {
      const refusing = await aServedModel(setup, 'fail-400')
      const failing = sdk().chat.completions.create({ ...ask(refusing), stream: true })
      await expect(failing).rejects.toBeInstanceOf(Client.BadRequestError)
      for (const words of ['error-mid-stream', 'cut-after-3']) {
        const breaking = await aServedModel(setup, words)
        const chunks = await sdk().chat.completions.create({ ...ask(breaking), stream: true })
        let text = ''
        const reading = (async () => {
          for await (const chunk of chunks) text += chunk.choices[0]?.delta.content ?? ''
        })()
        await expect(reading).rejects.toBeInstanceOf(Client.APIError)
        expect(text.startsWith('The answer ')).toBe(true)
      }
    })
  })

  test('its own retries find the call charged once', async () => {
    const own = await aClient(setup)
    const flaky = aModel()
    await aRoute(setup, flaky, { words: 'flaky-2' })
    await setup.app.options.set('RetryTimes', '0')
    const retrying = new Client({
      apiKey: own.key,
      baseURL: `${setup.url}/v1`,
      maxRetries: 3,
    })
    const { response } = await retrying.chat.completions.create(ask(flaky)).withResponse()
    await setup.app.options.set('RetryTimes', '2')
    const { quota } = await bookedCall(setup, response.headers.get('x-oneapi-request-id') ?? '')
    expect(quota).toBe(18)
    const user = await setup.database.read
      .selectFrom('users')
      .select(['used_quota', 'request_count'])
      .where('id', '=', own.userId)
      .executeTakeFirstOrThrow()
    expect(user).toEqual({ used_quota: 18, request_count: 1 })
  })
})
