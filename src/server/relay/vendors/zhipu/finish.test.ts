import { afterEach, describe, expect, test } from 'vitest'
import {
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  chatBody,
  eventsOf,
  expectNothingCharged,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  textOf,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'

/** Responses as in Zhipu's API reference, "Chat completion", by finish reason. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))
let upstream: ScriptedUpstream
afterEach(() => upstream.close())

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

/** A model of a channel whose upstream responds with this text and this finish reason. */
async function aStopped(finish: string, content: string, model = aModel()): Promise<string> {
  const choice = (said: object) => ({ choices: [{ index: 0, ...said }] })
  const whole = { ...choice({ message: { content }, finish_reason: finish }), usage: USAGE }
  const pieces = [
    ...(content === '' ? [] : [choice({ delta: { content } })]),
    { ...choice({ delta: { content: '' }, finish_reason: finish }), usage: USAGE },
  ].map((piece) => `data: ${JSON.stringify(piece)}\n\n`)
  upstream = await startScriptedUpstream(({ headers }, response) => {
    const isStream = headers.accept === 'text/event-stream'
    response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json')
    response.end(isStream ? `${pieces.join('')}data: [DONE]\n\n` : JSON.stringify(whole))
  })
  await aRoute(setup, model, { type: 16, base_url: upstream.url, priority: 1 })
  return model
}

describe.each([
  ['sensitive', 'content_filter'],
  ['model_context_window_exceeded', 'length'],
  ['stop', 'stop'],
])('%s', (finish, known) => {
  test('is converted to OpenAI’s finish reasons', async () => {
    const model = await aStopped(finish, 'So "sensitive".')
    const whole = await post(setup, client, chatBody(model))
    expect(whole.json).toMatchObject({
      choices: [{ message: { content: 'So "sensitive".' }, finish_reason: known }],
      usage: USAGE,
    })
    const streamed = await stream(setup, client, chatBody(model))
    expect(textOf(streamed.text())).toBe('So "sensitive".')
    const [last] = eventsOf(streamed.text()).slice(-2)
    expect(JSON.parse(String(last))).toMatchObject({ choices: [{ finish_reason: known }] })
    for (const answer of [whole, streamed]) {
      expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(5)
    }
  })
})

describe('network_error', () => {
  test('is an error: another channel is tried', async () => {
    const model = await aStopped('network_error', '', await aServedModel(setup))
    const whole = await post(setup, client, chatBody(model))
    expect(whole.json).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
    expect((await stream(setup, client, chatBody(model))).text()).toContain('"stop"')
  })

  test('costs nothing if there is no other channel', async () => {
    const model = await aStopped('network_error', '')
    expect((await post(setup, client, chatBody(model))).status).toBe(502)
    expect((await stream(setup, client, chatBody(model))).status).toBe(502)
    await expectNothingCharged(setup, client)
  })

  test('within a stream is reported as an error, and what was received is charged', async () => {
    const model = await aStopped('network_error', 'Forty')
    const answer = await stream(setup, client, chatBody(model))
    expect(answer.text()).toContain('Forty')
    expect(answer.text()).toContain('"code":"network_error"')
    expect(answer.text()).not.toContain('[DONE]')
    const { detail } = await bookedCall(setup, requestIdOf(answer))
    expect(detail).toMatchObject({ usage_source: 'counted' })
  })
})
