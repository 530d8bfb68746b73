import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { costOf, findPrice } from '../ledger/price.ts'
import { PLAIN_RATIOS } from '../test/plain-ratios.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  chatBody,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelaySetup } from '../test/use-relay.ts'
import { readAnthropicUsage } from './protocols/anthropic/usage.ts'
import { imageFigures } from './surfaces/images.ts'
import { readGeminiUsage } from './protocols/gemini/usage.ts'
import { scanBody } from './json/body-scan.ts'
import { USAGE_TOKENS_MAX } from './protocols/canonical/token-usage.ts'
import { FollowedStream } from './protocols/dialect/followed-stream.ts'
import { OpenaiStreamReader } from './protocols/openai-chat/read-answer.ts'
import { eventOf } from './transport/wire.ts'
import { readUsage } from './protocols/openai-chat/usage.ts'
import { rankingFigures } from './surfaces/rerank.ts'
import { responseFigures } from './surfaces/responses.ts'
import { spokenFigures } from './surfaces/speech.ts'

/** Faults in reading what an upstream says was used, as users of other gateways reported them. */
const TOKENS_MAX = 1_000_000

describe('B13: cached tokens are counted once, and nothing is below zero', () => {
  test.each([
    [
      'inclusive',
      { prompt_tokens: 100, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 80 } },
      100,
    ],
    [
      'exclusive',
      { prompt_tokens: 20, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 80 } },
      100,
    ],
    ['DeepSeek', { prompt_tokens: 100, completion_tokens: 5, prompt_cache_hit_tokens: 80 }, 100],
    ['Moonshot', { prompt_tokens: 100, completion_tokens: 5, cached_tokens: 80 }, 100],
  ])('%s', (_, sent, promptTokens) => {
    expect(readUsage(sent, TOKENS_MAX).usage).toMatchObject({ promptTokens, cachedTokens: 80 })
  })
})

test('B14: what Gemini’s tools gave it to read is prompt, not output', () => {
  const sent = {
    promptTokenCount: 10,
    toolUsePromptTokenCount: 30,
    candidatesTokenCount: 5,
    totalTokenCount: 45,
  }
  expect(readGeminiUsage(sent, TOKENS_MAX).usage).toMatchObject({
    promptTokens: 40,
    completionTokens: 5,
  })
})

test('B15: reasoning is charged even if a vendor excludes it from the completion', () => {
  const gemini = {
    promptTokenCount: 10,
    candidatesTokenCount: 5,
    thoughtsTokenCount: 20,
    totalTokenCount: 35,
  }
  expect(readGeminiUsage(gemini, TOKENS_MAX).usage).toMatchObject({ completionTokens: 25 })
  // xAI includes reasoning tokens only in the total.
  const xai = {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 35,
    completion_tokens_details: { reasoning_tokens: 20 },
  }
  expect(readUsage(xai, TOKENS_MAX).usage).toMatchObject({ completionTokens: 25 })
})

test('B16: what is written to the cache for an hour has the price of an hour', () => {
  const sent = {
    input_tokens: 0,
    output_tokens: 0,
    cache_creation_input_tokens: 3000,
    cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
  }
  const { usage } = readAnthropicUsage(sent, TOKENS_MAX)
  const ratios = { ...PLAIN_RATIOS, model: new Map([['claude', '1']]) }
  const name = { requested: 'claude', mapped: 'claude', channelType: 14, group: 'default' }
  const price = findPrice(ratios, name)
  expect(usage && price && costOf(price, usage)).toBe(1250 + 4000)
})

describe('B27: no answer is so odd that it breaks the reading', () => {
  const bodyOf = (members: object) => {
    const body = scanBody(Buffer.from(JSON.stringify(members)))
    if (!body.ok) throw new Error(body.reason)
    return body
  }
  const figures = [
    responseFigures(bodyOf({ input: 'x' })),
    imageFigures({ body: bodyOf({ prompt: 'x' }), form: null, model: 'm' }),
    rankingFigures(bodyOf({ query: 'q', documents: ['a'] })),
    spokenFigures(bodyOf({ input: 'x' }), 'm'),
  ]
  const readings = figures.flatMap((read) => {
    if ('field' in read) return []
    const metering =
      read.metering?.('m', { traits: {}, byImageToken: true }) ?? read.searched?.('m', 'm')
    return metering === undefined ? [] : [metering.reading]
  })
  const name = fc.constantFrom(
    'usage',
    'output',
    'data',
    'results',
    'response',
    'error',
    'type',
    'item',
    'meta',
    'id',
    'status',
    'input_tokens',
    'output_tokens',
    'total_tokens',
    'input_tokens_details',
    'billed_units',
    'delta',
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(
        null,
        true,
        -1,
        0,
        7,
        1.5,
        1e308,
        '',
        'x',
        'error',
        'response.completed',
        'web_search_call',
      ),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value'), { maxKeys: 4 }),
    ),
  }))

  test('whole', () => {
    expect(readings).toHaveLength(4)
    fc.assert(
      fc.property(value, (answer) => {
        for (const reading of readings) {
          const read = reading.readAnswer(Buffer.from(JSON.stringify(answer)))
          if (read.kind !== 'ok' || read.usage.usage === null) continue
          const { promptTokens, completionTokens } = read.usage.usage
          for (const tokens of [promptTokens, completionTokens]) {
            expect(Number.isSafeInteger(tokens) && tokens >= 0 && tokens <= USAGE_TOKENS_MAX).toBe(
              true,
            )
          }
        }
      }),
    )
  })

  test('as events', () => {
    fc.assert(
      fc.property(fc.array(value, { maxLength: 5 }), fc.boolean(), (events, isTerminated) => {
        for (const reading of readings) {
          const followed = new FollowedStream(reading.readStream(), false)
          for (const event of events) {
            const raw = Buffer.from(JSON.stringify(event))
            followed.read({ name: '', raw, data: raw, isTerminated })
          }
          expect(followed.outcome('end')).toEqual(expect.any(String))
        }
      }),
    )
  })

  test('as chunks of chat', () => {
    fc.assert(
      fc.property(value, (chunk) => {
        const followed = new FollowedStream(new OpenaiStreamReader(), false)
        const { kind } = followed.read(eventOf(Buffer.from(JSON.stringify(chunk))))
        expect(kind).toEqual(expect.any(String))
      }),
    )
  })
})

describe('B28, B29', () => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started))

  test('B29: an event of megabytes arrives whole and is charged', async () => {
    const bytes = 8 * 1024 * 1024
    const client = await aClient(setup)
    const model = await aServedModel(setup, `big-line-${bytes}`)
    const answer = await stream(setup, client, chatBody(model))
    expect(answer.end).toBe('complete')
    expect(answer.text().length).toBeGreaterThan(bytes)
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBeGreaterThan(0)
  })

  test('B28: calls side by side share nothing: each has its own figures, words and count', async () => {
    const client = await aClient(setup)
    const counted = ['gpt-4o', 'gpt-3.5-turbo'].map((name) => `${name}-b28+no-usage`)
    await Promise.all(counted.map((model) => aRoute(setup, model)))
    const count = async (model: string, words: string): Promise<unknown> => {
      const messages = [{ role: 'user', content: words }]
      const answer = await stream(setup, client, chatBody(model, { messages }))
      return (await bookedCall(setup, requestIdOf(answer))).detail.prompt_tokens
    }
    const asked = Array.from({ length: 8 }, (_, index) =>
      '天气 internationalization '.repeat(index),
    )
    const alone: unknown[] = []
    for (const words of asked) for (const model of counted) alone.push(await count(model, words))
    const together = Promise.all(
      asked.flatMap((words) => counted.map((model) => count(model, words))),
    )
    const figures = [...asked.keys()].map(async (index) => {
      const model = await aServedModel(setup, `prompt-${100 + index}+tokens-${1 + index}`)
      const answer = await post(setup, client, chatBody(model))
      const { detail } = await bookedCall(setup, requestIdOf(answer))
      expect(answer.headers['x-gatehouse-quota']).toBe(String(101 + 2 * index))
      expect(detail).toMatchObject({ prompt_tokens: 100 + index, completion_tokens: 1 + index })
    })
    const refusals = [400, 404, 409, 413, 415, 422].map(async (status) => {
      const model = await aServedModel(setup, `fail-${status}`)
      const answer = await post(setup, client, chatBody(model))
      const { message, code } = Object(answer.json.error)
      expect({ status: answer.status, code }).toEqual({ status, code: `code_${status}` })
      expect(message).toContain(requestIdOf(answer))
    })
    await Promise.all([...figures, ...refusals])
    expect(await together).toEqual(alone)
  })
})

describe('searches in a stream of Anthropic’s', () => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started))

  const result = (content: unknown) => ({ type: 'web_search_tool_result', content })
  const begun = [
    {
      type: 'message_start',
      message: {
        usage: { input_tokens: 11, output_tokens: 1, server_tool_use: { web_search_requests: 0 } },
      },
    },
    ...[result([]), result([]), result({ error_code: 'unavailable' })].map((block, index) => ({
      type: 'content_block_start',
      index,
      content_block: block,
    })),
  ]
  const told = (web_search_requests: number) => [
    {
      type: 'message_delta',
      delta: { stop_reason: 'end_turn' },
      usage: { output_tokens: 7, server_tool_use: { web_search_requests } },
    },
    { type: 'message_stop' },
  ]

  test.each([
    ['that is cut are those that brought something', [], 2],
    ['that is whole are those it tells of', told(1), 1],
  ])('%s', async (_what, end, searches) => {
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const events = [...begun, ...end].map((event) => `data: ${JSON.stringify(event)}\n\n`)
      response.write(events.join(''), () => response.destroy())
    })
    const model = aModel()
    await aRoute(setup, model, { type: 14, base_url: upstream.url })
    const body = { ...chatBody(model), max_tokens: 9 }
    const answer = await stream(setup, await aClient(setup), body, { path: '/v1/messages' })
    const { detail } = await bookedCall(setup, requestIdOf(answer))
    expect(detail.lines).toContainEqual(
      expect.objectContaining({ kind: 'tool', name: 'web_search', count: searches }),
    )
    await upstream.close()
  })
})

/** Source: Anthropic's documentation, "Refusals and fallback", whose example this is. */
describe('a refusal by Anthropic before anything was written', () => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started))

  interface Refusal {
    category?: string | null
    /** Text before the refusal. */
    said?: string
    type?: number
  }
  const CHAT = '/v1/chat/completions'
  const MESSAGES = '/v1/messages'

  /** Returns the quota charged for the call. */
  async function quotaOf(
    path: string,
    isStream: boolean,
    { category = null, said, type = 14 }: Refusal,
  ): Promise<number> {
    const stop = {
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category, explanation: null },
    }
    const output_tokens = said === undefined ? 0 : 7
    const content = said === undefined ? [] : [{ type: 'text', text: said }]
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' }
    const block = { type: 'text', text: '' }
    const whole = { ...message, content, ...stop, usage: { input_tokens: 412, output_tokens } }
    const begun = { ...message, content: [], usage: { input_tokens: 412, output_tokens: 1 } }
    const events = [
      { type: 'message_start', message: begun },
      ...content.flatMap(({ text }) => [
        { type: 'content_block_start', index: 0, content_block: block },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
        { type: 'content_block_stop', index: 0 },
      ]),
      { type: 'message_delta', delta: stop, usage: { output_tokens } },
      { type: 'message_stop' },
    ]
    const upstream = await startScriptedUpstream((_request, response) => {
      const kind = isStream ? 'text/event-stream' : 'application/json'
      response.writeHead(200, { 'content-type': kind })
      const streamed = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
      response.end(isStream ? streamed : JSON.stringify(whole))
    })
    const model = aModel()
    await aRoute(setup, model, { type, base_url: upstream.url })
    const client = await aClient(setup)
    const body = { ...chatBody(model), max_tokens: 9 }
    const answer = isStream
      ? await stream(setup, client, body, { path })
      : await post(setup, client, body, { path })
    const { quota } = await bookedCall(setup, requestIdOf(answer))
    await upstream.close()
    return Number(quota)
  }

  describe.each([
    ['whole', false],
    ['streamed', true],
  ])('%s', (_how, isStream) => {
    test.each([MESSAGES, CHAT])('costs nothing where Anthropic asks nothing: %s', async (path) => {
      for (const category of [null, 'cyber', 'general_harms']) {
        expect(await quotaOf(path, isStream, { category })).toBe(0)
      }
    })

    test.each<[string, Refusal]>([
      ['of a kind that it charges', { category: 'bio' }],
      ['of a kind that nobody here knows', { category: 'new_kind' }],
      ['in the middle of an answer', { category: 'cyber', said: 'Sure, the' }],
      ['by a server that only speaks alike', { category: 'cyber', type: 52 }],
    ])('costs the prompt: %s', async (_why, refusal) => {
      expect(await quotaOf(MESSAGES, isStream, refusal)).toBeGreaterThanOrEqual(412)
    })
  })
})

/** Source: vercel/ai, `anthropic-programmatic-tool-calling.1.chunks.txt`. */
describe('a call by code that runs at Anthropic, whole in message_start', () => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started))

  const FREE = { input_tokens: 0, output_tokens: 0 }
  const PAID = { input_tokens: 400, output_tokens: 30 }

  test.each<[string, object, string | null, number]>([
    ['costs nothing when Anthropic says so', FREE, 'code_execution_20250825', 0],
    ['costs what Anthropic says', PAID, 'code_execution_20250825', 400 + 30 * 5],
    ['is counted when nobody called from code', FREE, null, 1],
  ])('%s', async (_what, usage, caller, least) => {
    const input = { text: 'word '.repeat(60) }
    const block = { type: 'tool_use', id: 'toolu_1', name: 'roll', input }
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [caller === null ? block : { ...block, caller: { type: caller } }],
      stop_reason: 'tool_use',
      usage,
    }
    const events = [{ type: 'message_start', message }, { type: 'message_stop' }]
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
    })
    const model = aModel()
    await aRoute(setup, model, { type: 14, base_url: upstream.url })
    await setup.app.options.set('CompletionRatio', JSON.stringify({ [model]: 5 }))
    const client = await aClient(setup)
    for (const path of ['/v1/messages', '/v1/chat/completions']) {
      const answer = await stream(setup, client, { ...chatBody(model), max_tokens: 9 }, { path })
      expect(answer.text()).not.toContain('"error"')
      const { quota } = await bookedCall(setup, requestIdOf(answer))
      if (caller === null) expect(quota).toBeGreaterThanOrEqual(least)
      else expect(quota).toBe(least)
    }
    await upstream.close()
  })
})
