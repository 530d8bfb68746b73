import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { onSqlite } from '../test/for-each-database.ts'
import {
  aModel,
  aRoute,
  bookedCall,
  chatBody,
  expectRefusal,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../test/relay-setup.ts'
import { useRelay } from '../test/use-relay.ts'

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'Hi.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 2 },
}
const EVENTS = [
  { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
const STEERED = { seed: 7, frequency_penalty: 0.5 }
const FIELDS = ['seed', 'frequency_penalty']

onSqlite('parameters that an upstream does not have', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  let upstream: ScriptedUpstream
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })

  beforeAll(async () => {
    upstream = await startScriptedUpstream((request, response) => {
      const isStream = request.headers.accept === 'text/event-stream'
      const type = isStream ? 'text/event-stream' : 'application/json'
      response.writeHead(200, { 'content-type': type })
      response.end(isStream ? EVENTS.join('') : JSON.stringify(MESSAGE))
    })
  })
  afterEach(() => setup.app.options.set('StrictParameters', 'false'))
  afterAll(() => upstream.close())

  async function aClaude(priority = 0): Promise<string> {
    const model = aModel()
    await aRoute(setup, model, { type: 14, base_url: upstream.url, priority })
    return model
  }

  test('are left out, and named in the header and in the log, whole and streamed', async () => {
    const model = await aClaude()
    const whole = await post(setup, client, chatBody(model, STEERED))
    expect(whole.status).toBe(200)
    expect(whole.headers['x-gatehouse-dropped']).toBe('seed,frequency_penalty')
    expect((await bookedCall(setup, requestIdOf(whole))).detail).toMatchObject({ dropped: FIELDS })
    const streamed = await stream(setup, client, chatBody(model, STEERED))
    expect(streamed.headers['x-gatehouse-dropped']).toBe('seed,frequency_penalty')
    expect(streamed.text()).toContain('Hi.')
    const plain = await post(setup, client, chatBody(model))
    expect(plain.headers['x-gatehouse-dropped']).toBeUndefined()
    expect((await bookedCall(setup, requestIdOf(plain))).detail).not.toHaveProperty('dropped')
  })

  const strict = { headers: { 'x-gatehouse-strict': '1' } }
  const refusal = {
    code: 'relay_field_unsupported',
    status: 400,
    params: { field: 'seed' },
    wireCode: 'unsupported_parameter',
  } as const

  test('are refused if the call or the operator is strict', async () => {
    const model = await aClaude()
    expectRefusal(await post(setup, client, chatBody(model, STEERED), strict), refusal)
    await setup.app.options.set('StrictParameters', 'true')
    expectRefusal(await post(setup, client, chatBody(model, STEERED)), refusal)
  })

  test('lead a strict call to another channel that has them', async () => {
    const model = await aClaude(9)
    await aRoute(setup, model)
    const answer = await post(setup, client, chatBody(model, STEERED), strict)
    expect(answer.status).toBe(200)
    expect(answer.headers['x-gatehouse-dropped']).toBeUndefined()
  })
})
