import Anthropic from '@anthropic-ai/sdk'
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { afterAll, describe, expect, test } from 'vitest'
import { errorText } from '../../contract/errors.ts'
import { events, speakers } from '../test/dialect-clients.ts'
import { callOf } from '../test/dialect-call.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  chatBody,
  eventsOf,
  eventually,
  expectNothingCharged,
  expectRefusal,
  openCall,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  textOf,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../test/relay-setup.ts'
import { responsesSpeaker } from '../test/responses-client.ts'
import { useRelaySetup } from '../test/use-relay.ts'

/**
 * Keep-alives that a client of a stream receives before the response. The tests run concurrently.
 */

const ANSWER = 'The answer is forty-two.'
const KEEP_ALIVE_MS = 1000
const settings = { RELAY_KEEP_ALIVE: '1', RELAY_FIRST_BYTE_TIMEOUT: '5', RELAY_IDLE_TIMEOUT: '2' }

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`
const END =
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n' +
  'data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":1}}\n\ndata: [DONE]\n\n'

const clients = { ...speakers, responses: responsesSpeaker }

const upstreams: ScriptedUpstream[] = []

async function anUpstream(answer: (response: ServerResponse) => Promise<void>): Promise<string> {
  const upstream = await startScriptedUpstream((_request, response) => void answer(response))
  upstreams.push(upstream)
  return upstream.url
}

const beginEvents = (response: ServerResponse): void =>
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()

describe.concurrent('before an answer has begun, a client of a stream', () => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), { settings })
  afterAll(() => Promise.all(upstreams.map((upstream) => upstream.close())))

  /** A model of two channels, which are asked in this order. */
  async function aModelOf(first: string, second?: string) {
    const model = aModel()
    const ids = [await aRoute(setup, model, { words: first, priority: 1 })]
    if (second !== undefined) ids.push(await aRoute(setup, model, { words: second }))
    return { model, ids }
  }

  /** Calls an upstream that is notified when the client has received data. */
  async function askedOf(
    answerWith: (response: ServerResponse, heard: Promise<void>) => Promise<void>,
  ) {
    const { promise, resolve } = Promise.withResolvers<void>()
    const model = aModel()
    const base_url = await anUpstream((response) => answerWith(response, promise))
    await aRoute(setup, model, { base_url })
    const answer = await openCall(setup, await aClient(setup), chatBody(model, { stream: true }))
    resolve()
    expect(await answer.ended).toBe('complete')
    return answer
  }

  /** Counted in turns of the event loop, because a stalled machine delays keep-alives, too. */
  async function almostKeepAlive(): Promise<false> {
    for (let turn = 0; turn < 45; turn += 1) await sleep(KEEP_ALIVE_MS / 50)
    return false
  }

  const pingsIn = (text: string): number => text.match(/^: ping$/gm)?.length ?? 0

  async function expectServedBy(
    channel: number | undefined,
    answer: Awaited<ReturnType<typeof stream>>,
  ): Promise<void> {
    expect(answer).toMatchObject({ status: 200, end: 'complete' })
    expect(textOf(answer.text())).toBe(ANSWER)
    expect(eventsOf(answer.text()).at(-1)).toBe('[DONE]')
    const { log, quota } = await bookedCall(setup, requestIdOf(answer))
    expect({ quota, channel: log.channel_id }).toEqual({ quota: 18, channel })
  }

  test('receives a keep-alive after the upstream has accepted its call', async () => {
    const began = performance.now()
    const answer = await askedOf(async (response, heard) => {
      beginEvents(response)
      const talk = setInterval(() => response.write(': thinking\n\n'), KEEP_ALIVE_MS / 10)
      await heard
      expect(performance.now() - began).toBeGreaterThan(KEEP_ALIVE_MS * 0.9)
      await sleep(KEEP_ALIVE_MS * 1.5)
      clearInterval(talk)
      response.end(chunk('a') + END)
    })
    expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    // Channel and price were unknown at that time.
    expect(answer.headers).not.toHaveProperty('x-gatehouse-quota')
    expect(answer.text()).toMatch(/^(: ping\n\n){2,}data: /)
    expect(textOf(answer.text())).toBe('a')
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(12)
  })

  test('receives it immediately if the upstream accepts the call late', async () => {
    let isImmediate = false
    const answer = await askedOf(async (response, heard) => {
      await sleep(KEEP_ALIVE_MS * 1.5)
      beginEvents(response)
      isImmediate = await Promise.race([heard.then(() => true), almostKeepAlive()])
      await heard
      response.end(chunk('a') + END)
    })
    expect(isImmediate).toBe(true)
    expect(pingsIn(answer.text())).toBe(1)
  })

  test('keeps its status when the first word is an error, late as it is', async () => {
    const answer = await askedOf(async (response) => {
      await sleep(KEEP_ALIVE_MS * 1.2)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('data: {"error":{"message":"it broke","type":"server_error","code":"x"}}\n\n')
    })
    expect(answer.status).toBe(502)
    expect(JSON.parse(answer.text())).toMatchObject({ error: { code: 'x' } })
  })

  test('receives nothing before an upstream has accepted its call', async () => {
    const { model } = await aModelOf('hang')
    const answer = await post(setup, await aClient(setup), chatBody(model, { stream: true }))
    expectRefusal(answer, { code: 'upstream_timeout', status: 504 })
  })

  test('is answered by another channel in the same stream', async () => {
    const { model, ids } = await aModelOf('stall', 'slow-1500')
    const answer = await stream(setup, await aClient(setup), chatBody(model))
    await expectServedBy(ids[1], answer)
    // Of the second its head came later than a sign of life was due.
    expect(pingsIn(answer.text())).toBeGreaterThan(1)
  })

  test('is answered in the same stream by one that makes none', async () => {
    const { model, ids } = await aModelOf('stall', 'json-when-stream')
    await expectServedBy(ids[1], await stream(setup, await aClient(setup), chatBody(model)))
  })

  test('who leaves is charged for the prompt', async () => {
    const { model } = await aModelOf('stall')
    const answer = await openCall(setup, await aClient(setup), chatBody(model, { stream: true }))
    expect(answer.status).toBe(200)
    answer.leave()
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(12)
  })

  async function called(name: keyof typeof clients, model: string, client: RelayClient) {
    const speaker = clients[name]
    const input = callOf(speaker, client, { model, isStream: true })
    const answer = await openCall(setup, client, speaker.body(model, {}, true), input)
    expect(await answer.ended).toBe('complete')
    return answer
  }

  test.each([
    ['openai', (text: string) => speakers.openai.streamed(text)],
    ['anthropic', (text: string) => speakers.anthropic.streamed(text)],
    ['responses', failedResponse],
  ] as const)('is told a refusal in the stream, and pays nothing: %s', async (name, read) => {
    const { model, ids } = await aModelOf('stall', 'fail-429')
    const client = await aClient(setup)
    const answer = await called(name, model, client)
    expect(answer.status).toBe(200)
    const error = expect.stringContaining(requestIdOf(answer))
    expect(read(answer.text())).toMatchObject({ isComplete: false, error })
    await expectNothingCharged(setup, client)
    // Metrics count the call as refused, with any status.
    const { text } = await setup.call('GET', '/metrics')
    expect(text).toContain(`calls_total{outcome="status",channel="${ids[1]}"} 1`)
    const failed = () =>
      setup.database.read
        .selectFrom('failed_calls')
        .select(['status', 'channel_id'])
        .where('request_id', '=', requestIdOf(answer))
        .executeTakeFirst()
    const row = await eventually(failed, 'the call to be listed')
    expect(row).toEqual({ status: 429, channel_id: ids[1] })
  })

  const said = { role: 'user' as const, content: 'What is the answer?' }
  const officials: [string, (model: string, key: string) => Promise<string>][] = [
    [
      'OpenAI',
      async (model, apiKey) => {
        const sdk = new OpenAI({ apiKey, baseURL: `${setup.url}/v1`, maxRetries: 0 })
        const asked = { model, messages: [said], stream: true as const }
        let text = ''
        for await (const { choices } of await sdk.chat.completions.create(asked)) {
          text += choices[0]?.delta.content ?? ''
        }
        return text
      },
    ],
    [
      'Anthropic',
      (model, apiKey) => {
        const sdk = new Anthropic({ apiKey, baseURL: setup.url, maxRetries: 0 })
        return sdk.messages.stream({ model, max_tokens: 100, messages: [said] }).finalText()
      },
    ],
  ]
  test.each(officials)(
    'using the client of %s reads on or receives the error',
    async (_of, ask) => {
      const { key } = await aClient(setup)
      const late = await aModelOf('stall', 'slow-100')
      const never = await aModelOf('stall')
      const [answered, refused] = await Promise.allSettled([
        ask(late.model, `sk-${key}`),
        ask(never.model, `sk-${key}`),
      ])
      expect(answered).toMatchObject({ value: ANSWER })
      const message = expect.stringContaining(errorText('upstream_timeout', 'zh'))
      expect(refused).toMatchObject({ reason: { message } })
    },
  )

  test('of Gemini receives no keep-alive, and keeps its status', async () => {
    const { model } = await aModelOf('stall')
    const client = await aClient(setup)
    expect((await called('gemini', model, client)).status).toBe(504)
    const path = `/v1beta/models/${model}:streamGenerateContent`
    const body = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
    expect((await post(setup, client, body, { path })).status).toBe(504)
  })
})

describe.concurrent('a call that takes longer than the operator allows', () => {
  let setup: RelaySetup
  const limits = { RELAY_KEEP_ALIVE: '1', RELAY_TIMEOUT: '2' }
  useRelaySetup((started) => (setup = started), { settings: limits })

  test('gets the error in a stream that contains only keep-alives', async () => {
    const model = await aServedModel(setup, 'stall')
    const client = await aClient(setup)
    const answer = await stream(setup, client, chatBody(model))
    expect(answer).toMatchObject({ status: 200, end: 'complete' })
    expect(eventsOf(answer.text())).toEqual([expect.stringContaining('upstream_timeout')])
    await expectNothingCharged(setup, client)
  })
})

/** The error of a failed response, at the end of its stream. */
function failedResponse(text: string): { isComplete: boolean; error: string } {
  const said = events(text)
  expect(said.map(({ name }) => name)).toEqual([
    'response.created',
    'response.in_progress',
    'response.failed',
  ])
  const { response } = Object(JSON.parse(said.at(-1)?.data ?? ''))
  return { isComplete: false, error: response.error.message }
}
