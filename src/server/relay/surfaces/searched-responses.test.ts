import { expect, test } from 'vitest'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

const path = '/v1/responses'
const CITING = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Found.', annotations: [{ type: 'url_citation' }] }],
}
const ROUTED = { type: 'openrouter:web_search', status: 'completed' }

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now), { sharesClient: true })

test.each<[string, { asked?: object; name?: string; output: object[]; points: number }]>([
  ['a plugin', { asked: { plugins: [{ id: 'web' }] }, output: [CITING], points: 10_000 }],
  [
    'a plugin with ten results',
    { asked: { plugins: [{ id: 'web', max_results: 10 }] }, output: [CITING], points: 20_000 },
  ],
  ['a name', { name: ':online', output: [CITING], points: 10_000 }],
  [
    'a name and a plugin with ten results',
    {
      asked: { plugins: [{ id: 'web', max_results: 10 }] },
      name: ':online',
      output: [CITING],
      points: 20_000,
    },
  ],
  [
    'a tool that ran twice',
    {
      asked: { tools: [{ type: 'openrouter:web_search' }], max_tool_calls: 2 },
      output: [ROUTED, ROUTED, CITING],
      points: 20_000,
    },
  ],
  ['a plugin that found nothing', { asked: { plugins: [{ id: 'web' }] }, output: [], points: 0 }],
  ['nobody', { output: [CITING], points: 0 }],
])('searches that OpenRouter makes, asked for by %s', async (_what, searched) => {
  const { asked = {}, name = '', output, points } = searched
  const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }
  const response = { id: 'resp_1', object: 'response', status: 'completed', output, usage }
  const upstream = await startScriptedUpstream((request, answer) => {
    const isStream = String(request.headers.accept).includes('event-stream')
    const data = JSON.stringify({ type: 'response.completed', response })
    answer.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json')
    answer.end(isStream ? `data: ${data}\n\n` : JSON.stringify(response))
  })
  const model = aModel() + name
  await aRoute(setup, model, { base_url: upstream.url })
  const body = { model, input: 'hi', ...asked }
  if (points > 0) {
    const poor = await aClient(setup, { quota: points - 1000 })
    expect((await post(setup, poor, { ...body, max_output_tokens: 9 }, { path })).status).toBe(403)
  }
  for (const answer of [
    await post(setup, client, body, { path }),
    await stream(setup, client, body, { path }),
  ]) {
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(5 + points)
  }
  await upstream.close()
})
