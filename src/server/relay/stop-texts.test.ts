import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { json, list, events } from '../test/dialect-clients.ts'
import {
  aModel,
  aRoute,
  bookedCall,
  eventually,
  openCall,
  post,
  requestIdOf,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../test/relay-setup.ts'
import { useRelay } from '../test/use-relay.ts'

/**
 * Stop texts that the upstream does not accept, here those of the Responses API: the gateway cuts
 * the response, and does not read a stream further.
 */

const PIECES = ['One. ', 'Two. E', 'N', 'D Three.', ' Four.']
const USAGE = { input_tokens: 3, output_tokens: 12, total_tokens: 15 }
const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' }

let setup: RelaySetup
let client: RelayClient
let upstream: ScriptedUpstream
let closed = 0
let asked = ''
useRelay((now) => ({ setup, client } = now), { sharesClient: true })

beforeAll(async () => {
  upstream = await startScriptedUpstream((_request, response, body) => {
    asked = body.toString()
    const isStream = json(JSON.parse(asked)).stream === true
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    if (!isStream) {
      const content = [{ type: 'output_text', text: PIECES.join(''), annotations: [] }]
      const output = [{ ...item, content }]
      const whole = { id: 'resp_1', object: 'response', status: 'completed', output, usage: USAGE }
      response.end(JSON.stringify(whole))
      return
    }
    response.on('close', () => (closed += 1))
    const at = { output_index: 0, content_index: 0, item_id: 'msg_1' }
    for (const delta of PIECES) {
      const event = { type: 'response.output_text.delta', ...at, delta }
      response.write(`data: ${JSON.stringify(event)}\n\n`)
    }
    // It never ends by itself.
  })
})
beforeEach(() => {
  closed = 0
})
afterAll(() => upstream.close())

/** A model that only the Responses API has. */
async function aServedModel(): Promise<string> {
  const model = `o1-pro-${aModel()}`
  await aRoute(setup, model, { type: 1, base_url: upstream.url })
  return model
}

const messages = [{ role: 'user', content: 'x' }]

test('a whole answer is cut, and charged as the upstream reports it', async () => {
  const model = await aServedModel()
  const body = { model, max_tokens: 100, messages, stop_sequences: ['Nine', 'END'] }
  const answer = await post(setup, client, body, { path: '/v1/messages' })
  expect(answer.json).toMatchObject({
    content: [{ type: 'text', text: 'One. Two. ' }],
    stop_reason: 'stop_sequence',
    stop_sequence: 'END',
    usage: { input_tokens: 3, output_tokens: 12 },
  })
  expect(answer.headers['x-gatehouse-dropped']).toBeUndefined()
  expect(asked).not.toContain('END')
  const { log } = await bookedCall(setup, requestIdOf(answer))
  expect(log.completion_tokens).toBe(12)
})

test('a stream is cut, and its upstream left', async () => {
  const model = await aServedModel()
  const body = {
    model,
    messages,
    stop: 'END',
    stream: true,
    stream_options: { include_usage: true },
  }
  const answer = await openCall(setup, client, body)
  expect(await answer.ended).toBe('complete')
  const sent = events(answer.text())
  expect(sent.at(-1)?.data).toBe('[DONE]')
  const chunks = sent.slice(0, -1).map(({ data }) => json(JSON.parse(data)))
  const choices = chunks.flatMap((chunk) => list(chunk.choices))
  expect(choices.map(({ delta }) => json(delta).content ?? '').join('')).toBe('One. Two. ')
  expect(choices.at(-1)?.finish_reason).toBe('stop')
  await eventually(() => closed === 1, 'the end of the upstream call')
  const { log } = await bookedCall(setup, requestIdOf(answer))
  expect(log.completion_tokens).toBeGreaterThan(0)
  expect(log.completion_tokens).toBe(json(chunks.at(-1)?.usage).completion_tokens)
})

test('what only looks like the beginning of a stop text is passed on', async () => {
  const model = await aServedModel()
  const body = { model, max_tokens: 100, messages, stop_sequences: ['ENDE', 'Four.!'] }
  const answer = await post(setup, client, body, { path: '/v1/messages' })
  expect(answer.json).toMatchObject({
    content: [{ text: PIECES.join('') }],
    stop_reason: 'end_turn',
    stop_sequence: null,
  })
})

test('a strict call is not refused for it', async () => {
  const model = await aServedModel()
  const headers = { 'x-gatehouse-strict': '1' }
  const answer = await post(setup, client, { model, messages, stop: ['END'] }, { headers })
  expect(answer.status).toBe(200)
})
