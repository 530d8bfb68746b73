import type { IncomingMessage } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { aChannel, anAdmin } from '../../../test/factories.ts'
import { speakers } from '../../../test/dialect-clients.ts'
import { onSqlite } from '../../../test/for-each-database.ts'
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
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'
import { arrayOr, recordOr } from '../../json/json-value.ts'

type Json = Record<string, unknown>

const GEMINI = 24
const ANTHROPIC = 14
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

onSqlite('a channel of Gemini', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  let upstream: ScriptedUpstream
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })

  /** The response: a whole one, or a stream's events; `isList`: as a JSON list. */
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
      // The URL selects streaming; the dialect has no member for it.
      { ...body, stream: undefined },
      { path: `${path(model, 'streamGenerateContent')}?alt=sse` },
    )

  test('charges searches as Google does: per query from Gemini 3 on, before that per response', async () => {
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

  test('charges Google Maps as Google does, and not as a web search', async () => {
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

  test('does not charge content from searches, and charges that of other tools as prompt', async () => {
    const model = await served('gemini-3-flash-preview')
    const usageMetadata = {
      promptTokenCount: 151,
      toolUsePromptTokenCount: 18_329,
      candidatesTokenCount: 1089,
      thoughtsTokenCount: 1120,
      totalTokenCount: 20_689,
    }
    const charged = async (found: Json): Promise<number[]> => {
      answer = said('Spain.', { ...STOP, ...found }, { usageMetadata })
      const whole = await post(setup, client, SEARCHING, { path: path(model) })
      answer = [
        said('Spa', {}, { usageMetadata }),
        said('in.', { ...STOP, ...found }, { usageMetadata }),
      ]
      const events = await streaming(model, SEARCHING)
      const calls = [whole, events].map((call) => bookedCall(setup, requestIdOf(call)))
      return (await Promise.all(calls)).map(({ quota }) => quota)
    }
    // $0.50 and $3 a million: 0.25 × (151 + 6 × 2209) = 3351.25 points, and 7000 for the query.
    const search = searchedFor('who won')
    expect(await charged(search)).toEqual([10_352, 10_352])
    // 0.25 × 18,329 = 4582.25 more.
    const page = { urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://a.test' }] } }
    expect(await charged({ ...search, ...page })).toEqual([14_934, 14_934])
    expect(await charged(page)).toEqual([7934, 7934])
  })

  test('Vertex’ search without data storage and its document search have their own prices', async () => {
    const charged = async (tool: Json, groundingMetadata: Json): Promise<number> => {
      const beside = { modelVersion: 'gemini-2.5-flash' }
      const asking = { ...CONTENTS, tools: [tool] }
      const model = await served()
      answer = said('Spain.', { ...STOP, groundingMetadata }, beside)
      const whole = await post(setup, client, asking, { path: path(model) })
      answer = [said('Spa', {}, beside), said('in.', { ...STOP, groundingMetadata })]
      const events = await streaming(model, asking)
      const { quota } = await bookedCall(setup, requestIdOf(whole))
      expect((await bookedCall(setup, requestIdOf(events))).quota).toBe(quota)
      return quota
    }
    const found = { webSearchQueries: ['who won', 'score'] }
    const read = { groundingChunks: [{ retrievedContext: { uri: 'gs://a/b' } }] }
    const documents = { retrieval: { vertex_ai_search: { datastore: 'd' } } }
    // $45 and $2.50 for a thousand requests.
    expect(await charged({ enterpriseWebSearch: {} }, found)).toBe(10 + 22_500)
    expect(await charged(documents, read)).toBe(10 + 1250)
    expect(await charged(documents, {})).toBe(10)
    // File search is charged by the content that it retrieves.
    expect(await charged({ fileSearch: { fileSearchStoreNames: ['f'] } }, read)).toBe(10)
    const poor = await aClient(setup, { quota: 1000 })
    const asking = { ...CONTENTS, tools: [documents] }
    expect((await post(setup, poor, asking, { path: path(await served()) })).status).toBe(403)
  })

  test('a failed response ends with an error for clients of other dialects', async () => {
    const model = await served()
    const finishMessage = 'Malformed function call: w(city='
    const failed = (finishReason: string): Json => ({
      candidates: [{ content: {}, finishReason, finishMessage, index: 0 }],
      usageMetadata: USAGE,
    })
    const chat = { model, messages: QUESTION }
    for (const reason of ['MALFORMED_FUNCTION_CALL', 'OTHER', 'NO_IMAGE']) {
      answer = failed(reason)
      const whole = await post(setup, client, chat)
      answer = [answer]
      const events = await stream(setup, client, chat)
      expect([whole.status, events.status]).toEqual([502, 502])
      expect(whole.json).toMatchObject({ error: { message: expect.stringContaining('w(city=') } })
    }
    // The text so far stays, followed by an error.
    answer = [said('So: '), failed('MALFORMED_FUNCTION_CALL')]
    const broken = await stream(setup, client, chat)
    expect(broken.text()).toContain('w(city=')
    expect(eventsOf(broken.text()).at(-1)).not.toBe('[DONE]')
    answer = said('Here it is:', { finishReason: 'NO_IMAGE' })
    const cut = await post(setup, client, chat)
    expect(cut.json).toMatchObject({ choices: [{ finish_reason: 'content_filter' }] })
    // A client of this dialect gets the finish reason itself.
    answer = failed('MALFORMED_FUNCTION_CALL')
    const native = await post(setup, client, CONTENTS, { path: path(model) })
    expect(native.json).toMatchObject({ candidates: [{ finishMessage }] })
  })

  test('charges embeddings of audio and images as Google does, under both names', async () => {
    const model = 'gemini-embedding-2'
    const details = [
      { modality: 'TEXT', tokenCount: 10 },
      { modality: 'IMAGE', tokenCount: 258 },
      { modality: 'AUDIO', tokenCount: 800 },
      { modality: 'VIDEO', tokenCount: 200 },
    ]
    await served(model)
    for (const name of ['promptTokenDetails', 'promptTokensDetails']) {
      const usageMetadata = { promptTokenCount: 1268, [name]: details }
      answer = { embedding: { values: [0.5] }, usageMetadata }
      const content = { content: { parts: [{ text: 'x' }] } }
      const embedded = await post(setup, client, content, { path: path(model, 'embedContent') })
      const { quota } = await bookedCall(setup, requestIdOf(embedded))
      // $0.20, $0.45 and $6.50 a million: 0.1 × 10 + 0.225 × 258 + 3.25 × 1000 = 3309.05 points.
      expect(quota).toBe(3310)
    }
  })

  test('does not request images from a channel that cannot generate them', async () => {
    answer = said('Drawn.', STOP)
    const model = await served()
    const body = { model, messages: QUESTION, modalities: ['image', 'text'] }
    const drawn = await post(setup, client, body)
    expect(drawn.status).toBe(200)
    const claude = aModel()
    await aRoute(setup, claude, { type: ANTHROPIC, base_url: upstream.url })
    const refused = await post(setup, client, { ...body, model: claude })
    expect(refused.status).toBe(400)
    expect(refused.json).toMatchObject({
      error: { message: expect.stringContaining('modalities') },
    })
    expect(asked).toHaveLength(1)
  })

  test('an unused search is reserved and not charged', async () => {
    answer = said('Spain.', STOP)
    const poor = await aClient(setup, { quota: 5000 })
    const model = await served()
    const free = await post(setup, poor, CONTENTS, { path: path(model) })
    expect(free.status).toBe(200)
    expect((await post(setup, poor, SEARCHING, { path: path(model) })).status).toBe(403)
    const rich = await post(setup, client, SEARCHING, { path: path(model) })
    expect((await bookedCall(setup, requestIdOf(rich))).quota).toBe(10)
  })

  test('tries another channel after a response without a candidate', async () => {
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

  test('joins a list of responses to one', async () => {
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

  test('keeps only the first call if parallel calls are off', async () => {
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
      // Responses are objects.
      speakers.openai.whole(whole.json as unknown as Json),
      speakers.openai.streamed(events.text()),
    ]) {
      expect(calls).toMatchObject([{ name: 'first', args: { city: 'Paris' } }])
      expect(finish).toBe('tools')
    }
    expect(JSON.stringify(whole.json)).toContain('sealed')
  })

  test('sends a finish reason that every event repeats once, at the end', async () => {
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

test('uses GEMINI_VERSION for a channel without a version, also in tests', async () => {
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
