import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { aChannel, anAdmin } from '../../test/factories.ts'
import { speakers } from '../../test/dialect-clients.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  eventsOf,
  post,
  QUESTION,
  requestIdOf,
  startRelay,
  startScriptedUpstream,
  stream,
  textOf,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'
import { arrayOr, recordOr } from '../json/json-value.ts'

type Json = Record<string, unknown>

const GEMINI = 24
const USAGE = { promptTokenCount: 6, candidatesTokenCount: 4, totalTokenCount: 10 }
const said = (text: string, over: Json = {}, beside: Json = {}): Json => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...over }],
  usageMetadata: USAGE,
  ...beside,
})
const STOP = { finishReason: 'STOP' }
const SILENT = { candidates: [], usageMetadata: USAGE }
const searchedFor = (...webSearchQueries: string[]): Json => ({
  groundingMetadata: { webSearchQueries },
})

forEachDatabase('a channel of Gemini', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  let upstream: ScriptedUpstream
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })

  /** What it answers: a whole answer, or a stream's events; `isList`: of another layout. */
  let answer: Json | Json[] = {}
  let isList = false
  let asked: IncomingMessage[] = []
  beforeAll(async () => {
    upstream = await startScriptedUpstream((request, response) => {
      asked.push(request)
      const isEvents = Array.isArray(answer) && !isList
      response.setHeader('content-type', isEvents ? 'text/event-stream' : 'application/json')
      const events = [answer].flat().map((event) => `data: ${JSON.stringify(event)}\n\n`)
      response.end(isEvents ? events.join('') : JSON.stringify(answer))
    })
  })
  afterAll(() => upstream.close())
  beforeEach(() => {
    isList = false
    asked = []
  })

  const served = async (model = aModel()): Promise<string> => {
    await aRoute(setup, model, { type: GEMINI, base_url: upstream.url })
    return model
  }
  const path = (model: string, action = 'generateContent') => `/v1beta/models/${model}:${action}`
  const CONTENTS = { contents: [{ role: 'user', parts: [{ text: 'Who won?' }] }] }
  const SEARCHING = { ...CONTENTS, tools: [{ google_search: {} }] }
  const streaming = (model: string, body: Json = CONTENTS, own = client) =>
    stream(
      setup,
      own,
      // The address says that it is a stream; the dialect has no member for it.
      { ...body, stream: undefined },
      { path: `${path(model, 'streamGenerateContent')}?alt=sse` },
    )

  test('a search costs what Google asks: the query from Gemini 3 on, before that the answer', async () => {
    const queries = searchedFor('who won', '', 'final score', 'who won')
    const charged = async (modelVersion: string) => {
      answer = said('Spain.', { ...STOP, ...queries }, { modelVersion })
      const whole = await post(setup, client, SEARCHING, { path: path(await served()) })
      answer = [said('Spa', {}, { modelVersion }), said('in.', { ...STOP, ...queries })]
      const events = await streaming(await served(), SEARCHING)
      const [one, other] = await Promise.all([
        bookedCall(setup, requestIdOf(whole)),
        bookedCall(setup, requestIdOf(events)),
      ])
      expect(one.detail['lines']).toEqual(other.detail['lines'])
      expect(one.quota).toBe(other.quota)
      return one
    }
    const { quota, detail } = await charged('gemini-3-flash-preview')
    expect(quota).toBe(10 + 2 * 7000)
    expect(detail['lines']).toContainEqual({
      kind: 'tool',
      name: 'google_search',
      count: 2,
      ratios: ['14', '500000'],
      per: 1000,
    })
    expect((await charged('gemini-2.5-flash')).quota).toBe(10 + 17_500)
  })

  test('places of Google’s map cost what Google asks, and are no search beside it', async () => {
    const place = { maps: { title: 'Canteen', placeId: 'places/1' } }
    const tools = async (modelVersion: string, groundingMetadata: Json): Promise<unknown[]> => {
      answer = said('Here.', { ...STOP, groundingMetadata }, { modelVersion })
      const asking = { ...CONTENTS, tools: [{ googleMaps: {} }] }
      const whole = await post(setup, client, asking, { path: path(await served()) })
      const { lines } = (await bookedCall(setup, requestIdOf(whole))).detail
      return arrayOr(lines).flatMap((line) => {
        const { kind, name, count, ratios } = recordOr(line)
        return kind === 'tool' ? [[name, count, arrayOr(ratios)[0]]] : []
      })
    }
    const webSearchQueries = ['restaurants near me', 'canteen']
    const mapped = { groundingChunks: [place, place], webSearchQueries }
    const old = 'gemini-2.5-flash'
    const today = 'gemini-3.5-flash'
    expect(await tools(old, mapped)).toEqual([['google_maps_prompt', 1, '25']])
    expect(await tools(today, mapped)).toEqual([['google_maps', 2, '14']])
    expect(await tools(today, { groundingChunks: [place] })).toEqual([['google_maps', 1, '14']])
    const both = { groundingChunks: [{ web: { uri: 'https://a.test' } }, place], webSearchQueries }
    expect(await tools(old, both)).toEqual([
      ['google_search_prompt', 1, '35'],
      ['google_maps_prompt', 1, '25'],
    ])
    expect(await tools(today, both)).toEqual([['google_search', 2, '14']])
    const poor = await aClient(setup, { quota: 5000 })
    const asking = { ...CONTENTS, tools: [{ google_maps: {} }] }
    expect((await post(setup, poor, asking, { path: path(await served()) })).status).toBe(403)
  })

  test('searches of a stream that broke off are charged', async () => {
    answer = [said('Spa', searchedFor('who won'))]
    const { quota, detail } = await bookedCall(
      setup,
      requestIdOf(await streaming(await served(), SEARCHING)),
    )
    expect(detail['usage_source']).toBe('counted')
    expect(quota).toBeGreaterThan(7000)
    expect(quota).toBeLessThan(7100)
  })

  test('a search that is only allowed is held back, and costs nothing', async () => {
    answer = said('Spain.', STOP)
    const poor = await aClient(setup, { quota: 5000 })
    const model = await served()
    const free = await post(setup, poor, CONTENTS, { path: path(model) })
    expect(free.status).toBe(200)
    expect((await post(setup, poor, SEARCHING, { path: path(model) })).status).toBe(403)
    const rich = await post(setup, client, SEARCHING, { path: path(model) })
    expect((await bookedCall(setup, requestIdOf(rich))).quota).toBe(10)
  })

  test('an answer without a candidate is none: another channel is asked', async () => {
    const model = await served()
    const other = await startScriptedUpstream((request, response) => {
      const isStream = request.url?.includes('stream') === true
      response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json')
      const body = JSON.stringify(said('Spain.', STOP))
      response.end(isStream ? `data: ${body}\n\n` : body)
    })
    await aRoute(setup, model, { type: GEMINI, base_url: other.url, priority: -1 })
    answer = SILENT
    const whole = await post(setup, client, { model, messages: QUESTION })
    expect(whole.json).toMatchObject({ choices: [{ message: { content: 'Spain.' } }] })
    answer = [SILENT]
    const events = await stream(setup, client, { model, messages: QUESTION })
    expect(textOf(events.text())).toBe('Spain.')
    const native = await streaming(model)
    expect(native.text()).toContain('Spain.')
    expect(asked).toHaveLength(3)
    await other.close()
  })

  test('a list of responses in the place of events is the answer that they make up', async () => {
    isList = true
    answer = [said('Spa'), said('in.', { ...STOP, ...searchedFor('who won') })]
    const model = await served()
    const chat = await stream(setup, client, { model, messages: QUESTION })
    expect(textOf(chat.text())).toBe('Spain.')
    expect(eventsOf(chat.text()).at(-1)).toBe('[DONE]')
    expect((await bookedCall(setup, requestIdOf(chat))).quota).toBe(10 + 7000)
    const native = await streaming(model)
    expect(eventsOf(native.text()).map((event) => JSON.parse(event) as Json)).toMatchObject([
      { candidates: [{ content: { parts: [{ text: 'Spa' }, { text: 'in.' }] }, ...STOP }] },
    ])
    answer = [said('Spa'), { error: { code: 503, status: 'UNAVAILABLE', message: 'overloaded' } }]
    expect((await stream(setup, client, { model, messages: QUESTION })).status).toBe(503)
  })

  test('tools are called one at a time for whom wants that: the first call is the answer’s', async () => {
    const calling = (name: string): Json => ({
      functionCall: { name, args: { city: 'Paris' } },
      ...(name === 'first' && { thoughtSignature: 'sealed' }),
    })
    const turn = (parts: Json[], over: Json = {}): Json => ({
      candidates: [{ content: { role: 'model', parts }, index: 0, ...over }],
      usageMetadata: USAGE,
    })
    const tools = ['first', 'second'].map((name) => ({ type: 'function', function: { name } }))
    const asking = { messages: QUESTION, tools, parallel_tool_calls: false }
    const model = await served('gemini-3-pro-preview')
    answer = turn([{ text: 'So: ' }, calling('first'), calling('second')], STOP)
    const whole = await post(setup, client, { ...asking, model })
    answer = [turn([calling('first')]), turn([calling('second')], STOP)]
    const events = await stream(setup, client, { ...asking, model })
    for (const { calls, finish } of [
      // An answer is an object.
      speakers.openai.whole(whole.json as unknown as Json),
      speakers.openai.streamed(events.text()),
    ]) {
      expect(calls).toMatchObject([{ name: 'first', args: { city: 'Paris' } }])
      expect(finish).toBe('tools')
    }
    expect(JSON.stringify(whole.json)).toContain('sealed')
  })

  test('an end that every event names is told once, at the end', async () => {
    answer = [said('Spa', STOP), said('in.', STOP)]
    const chat = await stream(setup, client, { model: await served(), messages: QUESTION })
    const chunks = eventsOf(chat.text())
      .slice(0, -1)
      .map((event) => JSON.parse(event) as { choices: { finish_reason: string | null }[] })
    const finishes = chunks.map(({ choices }) => choices[0]?.finish_reason ?? null)
    expect(textOf(chat.text())).toBe('Spain.')
    expect(finishes).toEqual([...finishes.slice(0, -1).map(() => null), 'stop'])
  })
})

test('a channel without a version is asked in that of GEMINI_VERSION, also when it is tested', async () => {
  const asked: (string | undefined)[] = []
  const upstream = await startScriptedUpstream((request, response) => {
    asked.push(request.url)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(said('Spain.', STOP, { models: [] })))
  })
  const setup = await startRelay(undefined, { GEMINI_VERSION: 'v1' })
  const client = await aClient(setup)
  const admin = await anAdmin(setup)
  const channel = { type: GEMINI, base_url: upstream.url, models: 'gemini-x' }
  const id = await aChannel(setup, channel)
  await post(setup, client, { model: 'gemini-x', messages: QUESTION })
  await setup.call('GET', `/api/channel/test/${id}`, { as: admin })
  await setup.call('GET', `/api/channel/upstream_models/${id}`, { as: admin })
  expect(asked).toEqual([
    '/v1/models/gemini-x:generateContent',
    '/v1/models/gemini-x:generateContent',
    '/v1/models?pageSize=1000',
  ])
  const own = { ...channel, models: 'gemini-y', config: '{"api_version":"v1alpha"}' }
  await aChannel(setup, own)
  await post(setup, client, { model: 'gemini-y', messages: QUESTION })
  expect(asked.at(-1)).toBe('/v1alpha/models/gemini-y:generateContent')
  await setup.close()
  await upstream.close()
})
