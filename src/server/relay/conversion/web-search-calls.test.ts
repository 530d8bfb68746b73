import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  openCall,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../../test/relay-setup.ts'
import { events, json, list, type Json } from '../../test/dialect-clients.ts'
import { useRelay } from '../../test/use-relay.ts'

/**
 * Web searches between clients and upstreams of OpenAI, Anthropic and Google: requests, responses
 * with and without streaming, and charges.
 */

const URL = 'https://example.com/a'
const TEXT = 'Sö. Rain.'
const PAGE = { url: URL, title: 'A' }

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [
    { type: 'text', text: 'Sö. ' },
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'weather' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [{ type: 'web_search_result', ...PAGE, encrypted_content: 'x', page_age: null }],
    },
    {
      type: 'text',
      text: 'Rain.',
      citations: [
        {
          type: 'web_search_result_location',
          ...PAGE,
          encrypted_index: 'x',
          cited_text: 'It rains.',
        },
      ],
    },
  ],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 3, output_tokens: 2, server_tool_use: { web_search_requests: 1 } },
}

function messageEvents(): Json[] {
  const [said, call, result, cited] = MESSAGE.content
  const blocks: [unknown, Json[]][] = [
    [{ ...said, text: '' }, [{ type: 'text_delta', text: said?.text }]],
    [
      { ...call, input: {} },
      ['{"que', 'ry":"weather"}'].map((partial_json) => ({
        type: 'input_json_delta',
        partial_json,
      })),
    ],
    [result, []],
    [
      { type: 'text', text: '', citations: [] },
      [
        { type: 'citations_delta', citation: cited?.citations?.[0] },
        { type: 'text_delta', text: 'Rain.' },
      ],
    ],
  ]
  const usage = { input_tokens: 3, output_tokens: 1 }
  return [
    { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null, usage } },
    ...blocks.flatMap(([content_block, deltas], index) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: MESSAGE.usage },
    { type: 'message_stop' },
  ]
}

const ANNOTATION = { type: 'url_citation', ...PAGE, start_index: 4, end_index: 9 }
const SEARCH_ITEM = {
  id: 'ws_1',
  type: 'web_search_call',
  status: 'completed',
  action: { type: 'search', query: 'weather', sources: [{ type: 'url', url: URL }] },
}
const MESSAGE_ITEM = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: TEXT, annotations: [ANNOTATION] }],
}
const RESPONSE = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [SEARCH_ITEM, MESSAGE_ITEM],
  usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
}

function responseEvents(): Json[] {
  const at = { output_index: 1, content_index: 0, item_id: 'msg_1' }
  return [
    { type: 'response.created', response: { ...RESPONSE, output: [], status: 'in_progress' } },
    { type: 'response.output_item.added', output_index: 0, item: SEARCH_ITEM },
    { type: 'response.web_search_call.completed', output_index: 0, item_id: 'ws_1' },
    { type: 'response.output_item.done', output_index: 0, item: SEARCH_ITEM },
    { type: 'response.output_item.added', output_index: 1, item: { ...MESSAGE_ITEM, content: [] } },
    { type: 'response.content_part.added', ...at, part: { type: 'output_text', text: '' } },
    { type: 'response.output_text.delta', ...at, delta: 'Sö. ' },
    { type: 'response.output_text.delta', ...at, delta: 'Rain.' },
    {
      type: 'response.output_text.annotation.added',
      ...at,
      annotation_index: 0,
      annotation: ANNOTATION,
    },
    { type: 'response.output_item.done', output_index: 1, item: MESSAGE_ITEM },
    { type: 'response.completed', response: RESPONSE },
  ]
}

const GROUNDING = {
  webSearchQueries: ['weather'],
  groundingChunks: [{ web: { uri: URL, title: 'A' } }],
  groundingSupports: [
    { segment: { startIndex: 5, endIndex: 10, text: 'Rain.' }, groundingChunkIndices: [0] },
  ],
}
const geminiAnswer = (text: string, end?: Json): Json => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...end }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  modelVersion: 'gemini-3-test',
  responseId: 'r1',
})
const GEMINI_END = { finishReason: 'STOP', groundingMetadata: GROUNDING }

/** Responses and stream events by the end of the URL path. */
const ANSWERS: readonly [RegExp, Json, Json[]][] = [
  [/messages/, MESSAGE, messageEvents()],
  [/responses/, RESPONSE, responseEvents()],
  [
    /enerateContent/,
    geminiAnswer(TEXT, GEMINI_END),
    [geminiAnswer('Sö. '), geminiAnswer('Rain.', GEMINI_END)],
  ],
]

const UPSTREAMS = {
  anthropic: { type: 14, prefix: 'claude-', points: 5000, tokens: 9 },
  responses: { type: 1, prefix: '', points: 5000, tokens: 5 },
  gemini: { type: 24, prefix: 'gemini-3-test-', points: 7000, tokens: 9 },
} as const
type UpstreamKind = keyof typeof UPSTREAMS

/** The parts of a response that a client shows. */
interface Shown {
  queries: unknown[]
  /** The pages that searches have found. */
  found: unknown[]
  /** URL of a cited page, and the text based on it if the dialect reports it. */
  cited: [unknown, unknown?][]
}

interface Client {
  path(model: string, isStream: boolean): string
  body(model: string): Json
  whole(answer: Json): Shown
  streamed(text: string): Shown
}

const slice = (text: unknown, start: unknown, end: unknown): string =>
  String(text).slice(Number(start), Number(end))

const chat: Client = {
  path: () => '/v1/chat/completions',
  body: (model) => ({
    model,
    messages: [{ role: 'user', content: 'x' }],
    web_search_options: { user_location: { type: 'approximate', approximate: { country: 'DE' } } },
  }),
  whole(answer) {
    const { content, annotations } = json(json(list(answer.choices)[0]).message)
    const cited = list(annotations).map((one): [unknown, unknown] => {
      const { url, start_index, end_index } = json(one.url_citation)
      return [url, slice(content, start_index, end_index)]
    })
    return { queries: [], found: [], cited }
  },
  streamed(text) {
    const deltas = events(text)
      .filter(({ data }) => data !== '[DONE]')
      .map(({ data }) => json(json(list(json(JSON.parse(data)).choices)[0]).delta))
    const content = deltas.map((delta) => delta.content ?? '').join('')
    const annotations = deltas.flatMap((delta) => list(delta.annotations))
    return chat.whole({ choices: [{ message: { content, annotations } }] })
  },
}

const responses: Client = {
  path: () => '/v1/responses',
  body: (model) => ({
    model,
    input: 'x',
    tools: [{ type: 'web_search', user_location: { type: 'approximate', country: 'DE' } }],
  }),
  whole(answer) {
    const output = list(answer.output)
    const actions = output
      .filter(({ type }) => type === 'web_search_call')
      .map(({ action }) => json(action))
    const texts = output.flatMap(({ content }) => list(content))
    return {
      queries: actions.flatMap(({ queries }) => queries),
      found: actions.flatMap(({ sources }) => list(sources).map(({ url }) => url)),
      cited: texts.flatMap(({ text, annotations }) =>
        list(annotations).map((one): [unknown, unknown] => [
          one.url,
          slice(text, one.start_index, one.end_index),
        ]),
      ),
    }
  },
  streamed(text) {
    const sent = events(text).map(({ data }) => json(JSON.parse(data)))
    const added = sent.filter(({ type }) => type === 'response.output_text.annotation.added')
    expect(added).toHaveLength(1)
    expect(sent.map(({ sequence_number }) => sequence_number)).toEqual([...sent.keys()])
    return responses.whole(json(sent.at(-1)?.response))
  },
}

const messages: Client = {
  path: () => '/v1/messages',
  body: (model) => ({
    model,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'x' }],
    tools: [
      {
        type: 'web_search_20250305',
        name: 'web_search',
        max_uses: 2,
        user_location: { type: 'approximate', country: 'DE' },
      },
    ],
  }),
  whole(answer) {
    const content = list(answer.content)
    const of = (type: string) => content.filter((block) => block.type === type)
    expect(answer.stop_reason).toBe('end_turn')
    expect(json(json(answer.usage).server_tool_use).web_search_requests).toBe(1)
    const [call, result] = [of('server_tool_use')[0], of('web_search_tool_result')[0]]
    expect(call?.id).toMatch(/^srvtoolu_\w+$/)
    expect(result?.tool_use_id).toBe(call?.id)
    return {
      queries: of('server_tool_use').map(({ input }) => json(input).query),
      found: of('web_search_tool_result').flatMap((block) => list(block.content).map((p) => p.url)),
      cited: of('text').flatMap((block) =>
        list(block.citations).map(({ url }): [unknown, unknown?] => [url]),
      ),
    }
  },
  streamed(text) {
    const sent = events(text).map(({ data }) => json(JSON.parse(data)))
    const content: Json[] = []
    let open = false
    let end: Json = {}
    for (const event of sent) {
      if (event.type === 'content_block_start') {
        expect([open, event.index]).toEqual([false, content.length])
        open = true
        content.push({ ...json(event.content_block) })
      }
      if (event.type === 'content_block_stop') open = false
      if (event.type === 'message_delta') {
        end = { ...json(event.delta), usage: event.usage }
      }
      if (event.type !== 'content_block_delta') continue
      const { citation, partial_json } = json(event.delta)
      const block = content[Number(event.index)] ?? {}
      if (citation !== undefined) block.citations = [...list(block.citations), citation]
      if (partial_json !== undefined) block.input = JSON.parse(String(partial_json))
    }
    return messages.whole({ ...end, content })
  },
}

const google: Client = {
  path: (model, isStream) =>
    `/v1beta/models/${model}:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: () => ({
    contents: [{ role: 'user', parts: [{ text: 'x' }] }],
    tools: [{ googleSearch: {} }],
  }),
  whole(answer) {
    const [candidate] = list(answer.candidates)
    const metadata = json(candidate?.groundingMetadata)
    const text = list(json(candidate?.content).parts)
      .map((part) => part.text)
      .join('')
    const chunks = list(metadata.groundingChunks).map(({ web }) => json(web).uri)
    return {
      queries: list(metadata.webSearchQueries),
      found: chunks,
      cited: list(metadata.groundingSupports).flatMap(({ segment, groundingChunkIndices }) => {
        const { startIndex, endIndex, text: words } = json(segment)
        const bytes = Buffer.from(text).subarray(Number(startIndex), Number(endIndex))
        expect(bytes.toString()).toBe(words)
        return list(groundingChunkIndices).map((at): [unknown, unknown] => [
          chunks[Number(at)],
          words,
        ])
      }),
    }
  },
  streamed(text) {
    const sent = events(text).map(({ data }) => json(JSON.parse(data)))
    const candidates = sent.map((answer) => json(list(answer.candidates)[0]))
    const parts = candidates.flatMap(({ content }) => list(json(content).parts))
    return google.whole({ candidates: [{ ...candidates.at(-1), content: { parts } }] })
  },
}

const CLIENTS = { chat, responses, messages, google } as const
type ClientKind = keyof typeof CLIENTS
/** Clients of the upstream's dialect: their calls pass unchanged. */
const SAME: Readonly<Record<UpstreamKind, readonly ClientKind[]>> = {
  anthropic: ['messages'],
  responses: ['responses', 'chat'],
  gemini: ['google'],
}
const PAIRS = (Object.keys(UPSTREAMS) as UpstreamKind[]).flatMap((upstream) =>
  (Object.keys(CLIENTS) as ClientKind[])
    .filter((client) => !SAME[upstream].includes(client))
    .map((client): [ClientKind, UpstreamKind] => [client, upstream]),
)

let setup: RelaySetup
let client: RelayClient
let upstream: ScriptedUpstream
let asked: Json = {}
/** Ends the upstream's streams before their last events. */
let eventsMax = Infinity
useRelay((now) => ({ setup, client } = now), { sharesClient: true })

beforeAll(async () => {
  upstream = await startScriptedUpstream((request, response, body) => {
    asked = json(JSON.parse(body.toString()))
    const url = String(request.url)
    const found = ANSWERS.find(([path]) => path.test(url))
    if (found === undefined) {
      response.writeHead(404).end('{}')
      return
    }
    const [, whole, sent] = found
    const isStream = asked.stream === true || url.includes('stream')
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    const shown = sent.slice(0, eventsMax)
    if (!isStream) response.end(JSON.stringify(whole))
    else response.end(shown.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
  })
})
beforeEach(() => {
  asked = {}
  eventsMax = Infinity
})
afterAll(() => upstream.close())

async function aVendor(kind: UpstreamKind, prefix: string = UPSTREAMS[kind].prefix) {
  const model = `${prefix}${aModel()}`
  await aRoute(setup, model, { type: UPSTREAMS[kind].type, base_url: upstream.url })
  return model
}

const quotaOf = async (answer: Parameters<typeof requestIdOf>[0]) =>
  (await bookedCall(setup, requestIdOf(answer))).quota

describe.each(PAIRS)('a client of %s at an upstream of %s', (from, to) => {
  const { path, body, whole, streamed } = CLIENTS[from]
  const { points, tokens } = UPSTREAMS[to]
  const hasCalls = from !== 'chat'
  const hasSpans = from !== 'messages'
  const shown: Shown = {
    queries: hasCalls ? ['weather'] : [],
    found: hasCalls ? [URL] : [],
    cited: [hasSpans ? [URL, 'Rain.'] : [URL]],
  }

  test('gets the results without streaming, and pays for the search', async () => {
    const model = await aVendor(to)
    const answer = await post(setup, client, body(model), { path: path(model, false) })
    expect(answer.status).toBe(200)
    expect(whole(json(answer.json))).toEqual(shown)
    expect(JSON.stringify(asked.tools)).toMatch(/web_search|googleSearch/)
    expect(await quotaOf(answer)).toBe(tokens + points)
  })

  test('gets the results with streaming, and pays for the search', async () => {
    const model = await aVendor(to)
    const sent = from === 'google' ? body(model) : { ...body(model), stream: true }
    const answer = await openCall(setup, client, sent, { path: path(model, true) })
    await answer.ended
    expect(streamed(answer.text())).toEqual(shown)
    expect(await quotaOf(answer)).toBe(tokens + points)
  })

  test('is rejected without the points for the possible cost', async () => {
    const poor = await aClient(setup, { quota: points - 1000 })
    const model = await aVendor(to)
    const answer = await post(setup, poor, body(model), { path: path(model, false) })
    expect(answer.status).toBe(403)
  })
})

test.each<[UpstreamKind, ClientKind]>([
  ['anthropic', 'chat'],
  ['responses', 'messages'],
])('a stream of %s that breaks off pays for the search that it had made', async (kind, from) => {
  const model = await aVendor(kind)
  const found = ANSWERS.find(([path]) => path.test(kind === 'anthropic' ? 'messages' : kind))
  eventsMax = (found?.[2].length ?? 0) - 2
  const body = { ...CLIENTS[from].body(model), stream: true }
  const answer = await stream(setup, client, body, { path: CLIENTS[from].path(model, true) })
  const quota = await quotaOf(answer)
  expect(quota).toBeGreaterThan(5000)
  expect(quota).toBeLessThan(5500)
})

describe('the request', () => {
  const ask = async (kind: UpstreamKind, from: ClientKind, over: Json, prefix?: string) => {
    const model = await aVendor(kind, prefix)
    const { path, body } = CLIENTS[from]
    return post(setup, client, { ...body(model), ...over }, { path: path(model, false) })
  }
  const place = { type: 'approximate', city: 'Bern' }
  const ofAnthropic = (members: Json) => ({
    tools: [{ type: 'web_search_20250305', name: 'web_search', ...members }],
  })
  const ofOpenai = (members: Json) => ({ tools: [{ type: 'web_search', ...members }] })

  test('of Anthropic is converted to OpenAI’s', async () => {
    const members = { allowed_domains: ['a.com'], user_location: place, max_uses: 3 }
    const choice = { tool_choice: { type: 'tool', name: 'web_search' } }
    const answer = await ask('responses', 'messages', { ...ofAnthropic(members), ...choice })
    expect(asked).toMatchObject({
      tools: [
        { type: 'web_search', filters: { allowed_domains: ['a.com'] }, user_location: place },
      ],
      tool_choice: { type: 'web_search' },
      max_tool_calls: 3,
    })
    expect(answer.headers['x-gatehouse-dropped']).toBeUndefined()
  })

  test('of OpenAI is converted to Anthropic’s', async () => {
    const members = {
      filters: { allowed_domains: ['a.com'] },
      user_location: place,
      search_context_size: 'high',
      external_web_access: false,
    }
    const answer = await ask('anthropic', 'responses', {
      ...ofOpenai(members),
      max_tool_calls: 3,
      tool_choice: { type: 'web_search' },
      include: ['web_search_call.action.sources'],
    })
    expect(asked).toMatchObject({
      tools: [
        {
          type: 'web_search_20250305',
          name: 'web_search',
          allowed_domains: ['a.com'],
          user_location: place,
          max_uses: 3,
        },
      ],
      tool_choice: { type: 'tool', name: 'web_search' },
    })
    expect(answer.headers['x-gatehouse-dropped']).toBe(
      'tools[0].external_web_access,tools[0].search_context_size',
    )
  })

  test('is sent to Google beside functions, without steering options', async () => {
    const tool = { name: 'f', input_schema: { type: 'object' } }
    const [search] = ofAnthropic({ user_location: place, max_uses: 3 }).tools
    const answer = await ask('gemini', 'messages', { tools: [tool, search] })
    expect(asked).toMatchObject({
      tools: [{ googleSearch: {} }, { functionDeclarations: [{ name: 'f' }] }],
      toolConfig: { includeServerSideToolInvocations: true },
    })
    expect(answer.headers['x-gatehouse-dropped']).toBe(
      'tools[0].user_location,tools[0].max_uses'.replaceAll('[0]', '[1]'),
    )
  })

  const functions = { type: 'function', name: 'f', parameters: {} }
  test.each<[string, UpstreamKind, ClientKind, Json, string, string?]>([
    [
      'domains at Google',
      'gemini',
      'messages',
      ofAnthropic({ allowed_domains: ['a.com'] }),
      'tools[0].allowed_domains',
    ],
    [
      'blocked domains at Google',
      'gemini',
      'messages',
      ofAnthropic({ blocked_domains: ['a.com'] }),
      'tools[0].blocked_domains',
    ],
    [
      'blocked domains at OpenAI',
      'responses',
      'messages',
      ofAnthropic({ blocked_domains: ['a.com'] }),
      'tools[0].blocked_domains',
    ],
    [
      'functions beside it at Gemini 2',
      'gemini',
      'responses',
      { tools: [{ type: 'web_search' }, functions] },
      'tools[0].type',
      'gemini-2.5-',
    ],
    ['Gemma', 'gemini', 'responses', ofOpenai({}), 'tools[0].type', 'gemma-'],
  ])(
    'is refused by its name, or left out if the operator wants that: %s',
    async (_what, ...call) => {
      const [kind, from, over, field, prefix] = call
      const refused = await ask(kind, from, over, prefix)
      expect(refused.status).toBe(400)
      expect(JSON.stringify(refused.json)).toContain(field)
      expect(asked).toEqual({})
      await setup.app.options.set('DropHostedTools', `52, ${UPSTREAMS[kind].type}`)
      const answer = await ask(kind, from, over, prefix)
      await setup.app.options.set('DropHostedTools', '')
      expect(answer.status).toBe(200)
      expect(answer.headers['x-gatehouse-dropped']).toMatch(/^tools\.web_search/)
      expect(JSON.stringify(asked)).not.toMatch(/oogleSearch|web_search/)
    },
  )

  test('is rejected in the client’s words if the vendor has no search', async () => {
    const model = aModel()
    await aRoute(setup, model, { type: 18, key: 'a|b|c' })
    const answer = await post(setup, client, messages.body(model), { path: '/v1/messages' })
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: expect.stringContaining('web_search_20250305') as string,
      },
    })
  })
})

test('drops other makers’ search results from a conversation for Anthropic', async () => {
  const first = await aVendor('gemini')
  const asking = messages.body(first)
  const answer = await post(setup, client, asking, { path: '/v1/messages' })
  const turns = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: json(answer.json).content },
    { role: 'user', content: 'y' },
  ]
  for (const kind of ['anthropic', 'responses', 'gemini'] as const) {
    const model = await aVendor(kind)
    const body = { ...messages.body(model), messages: turns }
    expect((await post(setup, client, body, { path: '/v1/messages' })).status).toBe(200)
    expect(JSON.stringify(asked)).toContain('Rain.')
    expect(JSON.stringify(asked)).not.toMatch(/encrypted_content":|encrypted_index|srvtoolu/)
  }
})
