import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import {
  aClient,
  aRoute,
  bookedCall,
  chatBody,
  expectRefusal,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelaySetup } from '../../test/use-relay.ts'

let setup: RelaySetup
useRelaySetup((started) => (setup = started))

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const cited = { annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.test' } }] }
const options = { web_search_options: {} }

/**
 * An upstream that responds to a stream request with events; `said`: the last part of its text,
 * `beside`: additional members of the response, `counted`: members of its usage, null for no usage.
 */
const answering =
  (said: object, beside: object = {}, counted: object | null = {}) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const told = counted === null ? null : { ...usage, ...counted }
    const isStream = String(request.headers.accept).includes('event-stream')
    const choice = { index: 0, finish_reason: 'stop' }
    if (!isStream) {
      const message = { role: 'assistant', content: 'Found.', ...said }
      response.writeHead(200, { 'content-type': 'application/json' })
      const whole = { ...beside, choices: [{ ...choice, message }], usage: told }
      response.end(JSON.stringify(whole))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const delta = { ...beside, choices: [{ ...choice, delta: { content: 'Found.', ...said } }] }
    for (const chunk of [delta, { choices: [], usage: told }]) {
      response.write(`data: ${JSON.stringify(chunk)}\n\n`)
    }
    response.end('data: [DONE]\n\n')
  }

test.each<[string, { name: string; said: object; asked?: object; points: number }]>([
  ['a search that was asked for', { name: 'm', said: cited, asked: options, points: 5000 }],
  ['of a model that always searches', { name: 'm-search-api', said: cited, points: 5000 }],
  ['of one of the first such models', { name: 'm-search-preview', said: cited, points: 12_500 }],
  ['an answer that cites nothing', { name: 'm', said: {}, asked: options, points: 0 }],
  ['citations that nobody asked for', { name: 'm', said: cited, points: 0 }],
])('%s: its price, whole and streamed', async (_what, { name, said, asked, points }) => {
  const upstream = await startScriptedUpstream(answering(said))
  const model = `${name}-${(made += 1)}`
  await aRoute(setup, model, { base_url: upstream.url })
  const client = await aClient(setup)
  const body = chatBody(model, { ...asked })
  for (const answer of [await post(setup, client, body), await stream(setup, client, body)]) {
    const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
    expect({ quota, source: detail.usage_source }).toEqual({
      quota: 18 + points,
      source: 'upstream',
    })
  }
  await upstream.close()
})
let made = 0

const counting = (web_search_requests: number) => ({
  server_tool_use_details: { tool_calls_executed: web_search_requests, web_search_requests },
})
const zhipuTool = (web_search: object) => ({ tools: [{ type: 'web_search', web_search }] })
const found = { web_search: [{ title: 'A page', link: 'https://a.test' }] }
const plugins = (rest: object) => ({ plugins: [{ id: 'web', ...rest }] })
const routerTool = { type: 'openrouter:web_search', parameters: { max_results: 8 } }

const kimiTool = {
  tools: [{ type: 'builtin_function', function: { name: '$web_search' } }],
}
/** Its tool calls, with another call at the omitted index. */
const kimiCalls = (...places: number[]) => ({
  tool_calls: [0, 1].map((index) => ({
    index,
    id: `call_${index}`,
    type: 'builtin_function',
    function: { name: places.includes(index) ? '$web_search' : 'other', arguments: '{}' },
  })),
})

interface Searched {
  asked: object
  said?: object
  beside?: object
  counted?: object
  name?: string
  points: number
}

test.each<[string, Searched]>([
  ['OpenRouter’s plugin', { asked: plugins({}), said: cited, points: 10_000 }],
  ['OpenRouter’s plugin, off', { asked: plugins({ enabled: false }), said: cited, points: 0 }],
  ['ten results', { asked: plugins({ max_results: 10 }), said: cited, points: 20_000 }],
  [
    'OpenRouter’s tool, twice',
    { asked: { tools: [routerTool] }, said: cited, counted: counting(2), points: 40_000 },
  ],
  ['OpenRouter’s tool, never', { asked: { tools: [routerTool] }, points: 0 }],
  ['a name that searches', { asked: {}, name: 'm:online', said: cited, points: 10_000 }],
  [
    'such a name, and the plugin',
    { asked: plugins({ max_results: 100 }), name: 'm:online', said: cited, points: 200_000 },
  ],
  ['what OpenRouter counts', { asked: options, counted: counting(3), points: 15_000 }],
  [
    'what it counted by the former name',
    { asked: options, counted: { server_tool_use: { web_search_requests: 2 } }, points: 10_000 },
  ],
  ['what cannot be a count', { asked: options, counted: counting(1e9), said: cited, points: 5000 }],
  ['Zhipu’s tool', { asked: zhipuTool({ enable: true }), beside: found, points: 5000 }],
  ['Zhipu’s tool that found nothing', { asked: zhipuTool({}), points: 0 }],
  ['Zhipu’s tool, off', { asked: zhipuTool({ enable: false }), beside: found, points: 0 }],
  ['Kimi’s tool, called twice', { asked: kimiTool, said: kimiCalls(0, 1), points: 5000 }],
  ['Kimi’s tool, beside another', { asked: kimiTool, said: kimiCalls(1), points: 2500 }],
  ['Kimi’s tool that is not called', { asked: kimiTool, points: 0 }],
  ['a call of Kimi’s tool that nobody asked for', { asked: {}, said: kimiCalls(0), points: 0 }],
  ['Qwen’s, which shows nothing', { asked: { enable_search: true }, name: 'qwen', points: 5000 }],
  [
    'Qwen’s that did not',
    {
      asked: { enable_search: true },
      name: 'qwen',
      counted: { plugins: { search: { count: 0 } } },
      points: 0,
    },
  ],
  ['its models that think', { asked: { enable_search: true }, name: 'qwq', points: 5000 }],
  ['its models that see', { asked: { enable_search: true }, name: 'qvq', points: 5000 }],
  ['Qwen’s word for another model', { asked: { enable_search: true }, points: 0 }],
  [
    'xAI’s sources',
    {
      asked: { search_parameters: { mode: 'auto' } },
      counted: { num_sources_used: 2 },
      points: 25_000,
    },
  ],
  ['xAI’s, off', { asked: { search_parameters: { mode: 'off' } }, said: cited, points: 0 }],
])('%s: as other vendors search', async (_what, { asked, said = {}, points, ...rest }) => {
  const upstream = await startScriptedUpstream(answering(said, rest.beside, rest.counted))
  const [head = 'm', tail] = (rest.name ?? 'm').split(':')
  const model = [`${head}-${(made += 1)}`, ...(tail === undefined ? [] : [tail])].join(':')
  await aRoute(setup, model, { base_url: upstream.url })
  const client = await aClient(setup)
  const body = chatBody(model, { ...asked })
  for (const answer of [await post(setup, client, body), await stream(setup, client, body)]) {
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(18 + points)
  }
  await upstream.close()
})

const messages = [{ role: 'user', content: 'hi' }]
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]

test.each<[string, object]>([
  ['/v1/messages', { messages, max_tokens: 9 }],
  ['/v1/messages', { messages, max_tokens: 9, stream: true }],
  ['/v1beta/models/MODEL:generateContent', { contents }],
  ['/v1beta/models/MODEL:streamGenerateContent?alt=sse', { contents }],
  ['/v1/responses', { input: 'hi' }],
  ['/v1/responses', { input: 'hi', stream: true }],
  ['/v1/chat/completions', { input: 'hi' }],
  ['/v1/chat/completions', { input: 'hi', stream: true }],
  ['/v1/completions', { prompt: 'hi' }],
  ['/v1/completions', { prompt: 'hi', stream: true }],
])('a name that searches costs as much by %s with %j', async (address, sent) => {
  const upstream = await startScriptedUpstream(answering(cited, {}, counting(1)))
  for (const [tail, points] of [
    [':online', 10_000],
    ['-search-preview', 12_500],
  ] as const) {
    const model = `m-${(made += 1)}${tail}`
    // A channel type that supports only OpenAI's chat.
    await aRoute(setup, model, { base_url: upstream.url, type: 47 })
    const body = { model, ...sent }
    const path = address.replace('MODEL', model)
    const poor = await aClient(setup, { quota: points })
    expect((await post(setup, poor, body, { path })).status).toBe(403)
    const answer = await post(setup, await aClient(setup), body, { path })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(18 + points)
  }
  await upstream.close()
})

const ERROR = { error: { message: 'It broke.' } }
const chunkOf = (delta: object, beside: object = {}) => ({
  ...beside,
  choices: [{ index: 0, delta: { content: 'Found.', ...delta }, finish_reason: 'stop' }],
})

test.each<[string, object[], number]>([
  [
    'are counted before the last usage, which does not repeat it',
    [chunkOf({}, { usage: { ...usage, ...counting(3) } }), { choices: [], usage }],
    18 + 15_000,
  ],
  [
    'are beside speech',
    [
      chunkOf(cited),
      { choices: [], usage: { ...usage, prompt_tokens_details: { audio_tokens: 5 } } },
    ],
    18 + 5 * 9 + 5000,
  ],
  ['stand behind an error', [chunkOf({}, { usage }), ERROR, chunkOf(cited)], 18],
])('searches of a stream that %s', async (_what, chunks, points) => {
  const upstream = await startScriptedUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(''))
  })
  const model = `m-${(made += 1)}`
  await setup.app.options.set('AudioRatio', JSON.stringify({ [model]: 10 }))
  await aRoute(setup, model, { base_url: upstream.url })
  const answer = await stream(setup, await aClient(setup), chatBody(model, options))
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(points)
  await upstream.close()
})

test('charges a search even if all other usage is missing', async () => {
  const upstream = await startScriptedUpstream(answering(cited, {}, null))
  const model = `m-${(made += 1)}`
  await aRoute(setup, model, { base_url: upstream.url })
  const client = await aClient(setup)
  const body = chatBody(model, options)
  for (const answer of [await post(setup, client, body), await stream(setup, client, body)]) {
    const { detail, quota } = await bookedCall(setup, requestIdOf(answer))
    expect(detail.usage_source).toBe('counted')
    expect(quota).toBeGreaterThan(5000)
  }
  await upstream.close()
})

test('detects a search tool with any escapes in its name', async () => {
  const upstream = await startScriptedUpstream(answering({}, found))
  const model = `m-${(made += 1)}`
  await aRoute(setup, model, { base_url: upstream.url })
  const body = JSON.stringify(chatBody(model, { tools: [{ type: 'web_search' }] })).replace(
    '"web_search"',
    ESCAPED,
  )
  const answer = await post(setup, await aClient(setup), body)
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(18 + 5000)
  await upstream.close()
})
const ESCAPED = '"web\\u005fsearch"'

test.each([
  ['the name that has its price', true],
  ['the name that is sent', false],
])('what a model searches is said by %s', async (_what, isSentPriced) => {
  const upstream = await startScriptedUpstream(answering(cited))
  const [alias, sent] = ['quick', 'gpt-4o-search-preview'].map((word) => `${word}-${(made += 1)}`)
  const priced = String(isSentPriced ? sent : alias)
  await setup.app.options.set('ModelRatio', JSON.stringify({ [priced]: 1 }))
  const model_mapping = JSON.stringify({ [String(alias)]: sent })
  await aRoute(setup, String(alias), { base_url: upstream.url, model_mapping })
  const body = chatBody(String(alias), { max_tokens: 9 })
  expect((await post(setup, await aClient(setup, { quota: 12_000 }), body)).status).toBe(403)
  const answer = await post(setup, await aClient(setup), body)
  const tokens = isSentPriced ? 39 : 18
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(tokens + 12_500)
  await upstream.close()
})

test('reserves a search, and requests the usage of a stream', async () => {
  const model = `gpt-5-search-api-${(made += 1)}`
  await aRoute(setup, model)
  const poor = await aClient(setup, { quota: 4000 })
  expectRefusal(await post(setup, poor, chatBody(model, { max_tokens: 9, ...options })), {
    code: 'user_quota_insufficient',
    status: 403,
    wireCode: 'insufficient_user_quota',
  })
  await stream(setup, await aClient(setup), chatBody(model, options))
  expect(setup.upstream.seen().at(-1)?.bytes.toString()).toContain('"include_usage":true')
})
