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
 * An upstream that answers a stream with events; `said`: the last part of what it says, `beside`:
 * members of the answer, `counted`: of its usage.
 */
const answering =
  (said: object, beside: object = {}, counted: object = {}) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const told = { ...usage, ...counted }
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

const counting = (web_search_requests: number) => ({ server_tool_use: { web_search_requests } })
const zhipuTool = (web_search: object) => ({ tools: [{ type: 'web_search', web_search }] })
const found = { web_search: [{ title: 'A page', link: 'https://a.test' }] }
const plugins = (rest: object) => ({ plugins: [{ id: 'web', ...rest }] })
const routerTool = { type: 'openrouter:web_search', parameters: { max_results: 8 } }

const kimiTool = {
  tools: [{ type: 'builtin_function', function: { name: '$web_search' } }],
}
/** Calls of it, among which another stands at the place that is left out. */
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
  ['what OpenRouter counts', { asked: options, counted: counting(3), points: 15_000 }],
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
  ['Qwen’s word for another model', { asked: { enable_search: true }, points: 0 }],
  [
    'xAI’s sources',
    {
      asked: { search_parameters: { mode: 'auto' } },
      counted: { num_sources_used: 2 },
      points: 25_000,
    },
  ],
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

test('what a model searches is said by the name that has its price', async () => {
  const upstream = await startScriptedUpstream(answering(cited))
  const [alias, sent] = ['quick', 'gpt-4o-search-preview'].map((name) => `${name}-${(made += 1)}`)
  await setup.app.options.set('ModelRatio', JSON.stringify({ [String(sent)]: 1 }))
  const model_mapping = JSON.stringify({ [String(alias)]: sent })
  await aRoute(setup, String(alias), { base_url: upstream.url, model_mapping })
  const body = chatBody(String(alias), { max_tokens: 9 })
  expect((await post(setup, await aClient(setup, { quota: 12_000 }), body)).status).toBe(403)
  const answer = await post(setup, await aClient(setup), body)
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(39 + 12_500)
  await upstream.close()
})

test('a search is held back, and the figures of a stream are asked for', async () => {
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
