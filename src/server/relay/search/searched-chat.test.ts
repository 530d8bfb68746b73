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

/** An upstream that answers a stream with events; `said`: the last part of what it says. */
const answering =
  (said: object) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    const isStream = String(request.headers.accept).includes('event-stream')
    const choice = { index: 0, finish_reason: 'stop' }
    if (!isStream) {
      const message = { role: 'assistant', content: 'Found.', ...said }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ choices: [{ ...choice, message }], usage }))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const delta = { choices: [{ ...choice, delta: { content: 'Found.', ...said } }] }
    for (const chunk of [delta, { choices: [], usage }]) {
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
