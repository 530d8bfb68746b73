import { describe, expect, test } from 'vitest'
import { BAIDU_ACCOUNT } from '../../../../tools/fake-upstream/providers/baidu-answers.ts'
import { SPARK_ACCOUNT } from '../../../../tools/fake-upstream/providers/spark/spark-frames.ts'
import { TENCENT_ACCOUNT } from '../../../../tools/fake-upstream/providers/tencent-answers.ts'
import { ask as askAs, type Question } from '../../test/dialect-call.ts'
import { speakers, type Wish } from '../../test/dialect-clients.ts'
import type { DialectName } from '../protocols/canonical/chat-request.ts'
import {
  aClient,
  aRoute,
  bookedCall,
  channelTestOf,
  eventually,
  expectNothingCharged,
  openCall,
  post,
  requestIdOf,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/**
 * Channels of Tencent, Baidu and iFlytek, over HTTP and WebSocket. The upstream checks signatures,
 * tokens, frames and bounds as the providers do, and refuses members it does not know.
 */
interface Cloud {
  label: string
  type: number
  key: string
  /** Prefix of the cloud's model names. */
  model: string
  /** Maximum number of tool calls in one turn. */
  calls: number
}

const { appId, secretId, secretKey } = TENCENT_ACCOUNT
const clouds: Cloud[] = [
  {
    label: 'Tencent',
    type: 23,
    key: `${appId}|${secretId}|${secretKey}`,
    model: 'hunyuan-turbo',
    calls: 2,
  },
  {
    label: 'Baidu',
    type: 15,
    key: `${BAIDU_ACCOUNT.apiKey}|${BAIDU_ACCOUNT.secretKey}`,
    model: 'ERNIE-4.0-Turbo-8K',
    calls: 1,
  },
  {
    label: 'Spark',
    type: 18,
    key: `${SPARK_ACCOUNT.appId}|${SPARK_ACCOUNT.secret}|${SPARK_ACCOUNT.key}`,
    model: 'SparkDesk-v3.5',
    calls: 1,
  },
]

const names: DialectName[] = ['openai', 'anthropic', 'gemini']
const ANSWER = 'The answer is forty-two.'
const SPOKEN = { text: ANSWER, calls: [], finish: 'stop', prompt: 11, completion: 7 }
const FIGURES = { prompt_tokens: 11, completion_tokens: 7, usage_source: 'upstream' }
const args = { city: 'forty-two' }
const CALLED = [
  { name: 'weather', args },
  { name: 'clock', args },
]

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

let made = 0

/** Adds a model of a new channel; `words` control the upstream's response. */
async function aServed({ type, key, model: base }: Cloud, words = '', base_url?: string) {
  made += 1
  const model = `${base}-${made}${words === '' ? '' : `+${words}`}`
  const id = await aRoute(setup, model, { type, key, ...(base_url ? { base_url } : {}) })
  return { model, id }
}

interface Asked extends Question {
  name?: DialectName
}

const ask = ({ name = 'openai', ...question }: Asked) =>
  askAs({ setup, client }, speakers[name], question)

describe.each(clouds)('$label', (cloud) => {
  test.each(names)(
    'serves a client of %s with and without streaming, and is charged',
    async (name) => {
      const wish: Wish = { system: 'Be brief.', temperature: 0.5, maxTokens: 64 }
      for (const isStream of [false, true]) {
        const { model } = await aServed(cloud)
        const { said, answer } = await ask({ model, wish, isStream, name })
        expect(said).toMatchObject({ ...SPOKEN, isComplete: true })
        const { detail, quota } = await bookedCall(setup, requestIdOf(answer))
        expect(detail).toMatchObject(FIGURES)
        expect(quota).toBeGreaterThanOrEqual(18)
      }
    },
  )

  test('calls tools and accepts their results', async () => {
    for (const isStream of [false, true]) {
      const { model } = await aServed(cloud)
      const wish: Wish = { tools: ['weather', 'clock'], words: 'Use weather and clock.' }
      const { said } = await ask({ model, wish, isStream })
      expect(said).toMatchObject({
        calls: CALLED.slice(0, cloud.calls),
        finish: 'tools',
        isComplete: true,
      })
      const results: Wish = { tools: ['weather', 'clock'], results: ['sunny', 'noon'] }
      const next = await ask({ model, wish: results, isStream })
      expect(next.said).toMatchObject({ ...SPOKEN, isComplete: true })
    }
  })

  test('reads a response byte by byte, and counts missing usage', async () => {
    const { model } = await aServed(cloud, 'one-byte+usage-missing')
    const { said, answer } = await ask({ model, isStream: true })
    expect(said).toMatchObject({ text: ANSWER, isComplete: true })
    const { detail } = await bookedCall(setup, requestIdOf(answer))
    expect(detail['usage_source']).toBe('counted')
  })

  test.each([400, 429, 503])('reports status %i without a charge', async (status) => {
    const { model } = await aServed(cloud, `fail-${status}`)
    for (const isStream of [false, true]) {
      const answer = await post(setup, client, speakers.openai.body(model, {}, isStream))
      expect(answer.status).toBe(status)
      if (status !== 429) expect(JSON.stringify(answer.json)).toContain(`upstream says ${status}`)
    }
    await expectNothingCharged(setup, client)
  })

  test('replaces the text of a 403 about the account, without a charge', async () => {
    const { model } = await aServed(cloud, 'fail-403')
    const answer = await post(setup, client, speakers.openai.body(model, {}, false))
    expect(answer.status).toBe(503)
    expect(JSON.stringify(answer.json)).toContain('channel_account_refused')
    expect(JSON.stringify(answer.json)).not.toContain('upstream says')
    await expectNothingCharged(setup, client)
  })

  test('reports an error within a stream, and charges what was received', async () => {
    const { model } = await aServed(cloud, 'error-mid-stream')
    const { said, answer } = await ask({ model, isStream: true })
    expect(said).toMatchObject({ isComplete: false })
    expect(said.error).toContain('failed in the middle')
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBeGreaterThan(0)
  })

  test.each(['end-without-done', 'cut-after-3'])('a stream that breaks off: %s', async (words) => {
    const { model } = await aServed(cloud, words)
    const { said, answer } = await ask({ model, isStream: true })
    expect(said.isComplete).toBe(false)
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBeGreaterThan(0)
  })

  test('tests the channel, and does not reveal rejected keys', async () => {
    const good = await channelTestOf(setup, (await aServed(cloud)).model)
    expect(good.json).toMatchObject({ success: true })
    const key = cloud.key.replace(/[^|]+$/, 'a-secret-that-nobody-knows')
    const { model } = await aServed({ ...cloud, key })
    const answer = await post(setup, client, speakers.openai.body(model, {}, false))
    expect(answer.status).toBe(503)
    expect(JSON.stringify(answer.json)).toContain('channel_account_refused')
    expect(JSON.stringify(answer.json)).not.toContain('a-secret-that')
    await expectNothingCharged(setup, client)
  })

  test('an incomplete key makes the channel incomplete', async () => {
    const { model } = await aServed({ ...cloud, key: 'only-one' })
    const answer = await post(setup, client, speakers.openai.body(model, {}, false))
    expect({ status: answer.status, sent: setup.upstream.seen() }).toEqual({
      status: 503,
      sent: [],
    })
  })
})

function cloudOf(label: string): Cloud {
  const cloud = clouds.find((row) => row.label === label)
  if (cloud === undefined) throw new Error(`no cloud ${label}`)
  return cloud
}

/** The provider's own names of its embedding and reranking models. */
async function anExact(label: string, model: string): Promise<string> {
  const { type, key } = cloudOf(label)
  await aRoute(setup, model, { type, key })
  return model
}

const pathsSeen = (): string[] => setup.upstream.seen().map(({ url }) => url.replace(/\?.*/, ''))

test('Tencent accepts images; providers without vision reject them by name, without a charge', async () => {
  const image = 'https://example.com/a.png'
  const seeing = await aServed(cloudOf('Tencent'))
  const { said } = await ask({ model: seeing.model, wish: { image }, isStream: false })
  expect(said).toMatchObject(SPOKEN)
  client = await aClient(setup)
  for (const label of ['Baidu', 'Spark']) {
    const { model } = await aServed(cloudOf(label))
    const answer = await post(setup, client, speakers.openai.body(model, { image }, false))
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain('messages[0].content[1]')
  }
  await expectNothingCharged(setup, client)
})

test.each([
  ['Tencent', 'hunyuan-embedding', { InputList: ['one', 'two'] }],
  ['Baidu', 'Embedding-V1', { input: ['one', 'two'] }],
])('%s embeds several texts at once, in their order', async (label, name, sent) => {
  const model = await anExact(label, name)
  const path = '/v1/embeddings'
  const answer = await post(setup, client, { model, input: ['one', 'two'] }, { path })
  expect(setup.upstream.seen().at(-1)?.body).toEqual(sent)
  expect(answer.json).toEqual({
    object: 'list',
    model,
    data: [
      { object: 'embedding', index: 0, embedding: [0.5, -0.25, 0] },
      { object: 'embedding', index: 1, embedding: [0.5, -0.25, 1] },
    ],
    usage: { prompt_tokens: 4, total_tokens: 4 },
  })
  const { detail } = await bookedCall(setup, requestIdOf(answer))
  expect(detail).toMatchObject({ prompt_tokens: 4, usage_source: 'upstream' })
  const sized = { model, input: 'one', dimensions: 3 }
  expect((await post(setup, client, sized, { path })).status).toBe(400)
})

test.each([
  ['Tencent', 'hunyuan-embedding', 60, [50, 10]],
  ['Baidu', 'bge-large-zh', 20, [16, 4]],
  ['Baidu', 'tao-8k', 3, [1, 1, 1]],
])('%s takes so many texts at once for %s: more go in several calls', async (...row) => {
  const [label, name, count, parts] = row
  const model = await anExact(label, name)
  const input = Array.from({ length: count }, (_, index) => `text ${index}`)
  const answer = await post(setup, client, { model, input }, { path: '/v1/embeddings' })
  const asked = setup.upstream.seen().flatMap(({ body }) => {
    const { input: texts, InputList } = body as Record<string, string[] | undefined>
    return texts ?? InputList ?? []
  })
  expect(asked).toEqual(input)
  const sizes = parts.flatMap((size) => Array.from({ length: size }, (_, index) => index))
  const data = sizes.map((place, index) => ({ index, embedding: [0.5, -0.25, place] }))
  expect(answer.json).toMatchObject({ data, usage: { prompt_tokens: count * 2 } })
})

test('the second version of Qianfan accepts as many texts as the first', async () => {
  const model = 'one-text'
  const model_mapping = JSON.stringify({ [model]: 'tao-8k' })
  await aRoute(setup, model, { type: 47, key: 'bce-v3/ALTAK-x/y', model_mapping })
  const body = { model, input: ['one', 'two'] }
  const answer = await post(setup, client, body, { path: '/v1/embeddings' })
  expect(answer.json).toMatchObject({ data: [{ index: 0 }, { index: 1 }] })
  expect(setup.upstream.seen().map(({ url }) => url)).toEqual(Array(2).fill('/v2/embeddings'))
})

test('Baidu reranks in the usual format', async () => {
  const model = await anExact('Baidu', 'bce-reranker-base')
  const documents = ['a', { text: 'b' }]
  const body = { model, query: 'q', documents, top_n: 1, return_documents: true }
  const answer = await post(setup, client, body, { path: '/v1/rerank' })
  expect(answer.json).toMatchObject({ results: [{ index: 0, relevance_score: 1 }] })
  const sent = setup.upstream.seen().at(-1)
  expect(sent?.body).toEqual({ query: 'q', documents: ['a', 'b'], top_n: 1 })
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(6)
})

test('a revoked Baidu token is replaced once for a burst of calls', async () => {
  for (const isStream of [false, true]) {
    const { model } = await aServed(cloudOf('Baidu'), 'revoked')
    // A valid token must exist first, so that it can be revoked.
    await ask({ model: (await aServed(cloudOf('Baidu'))).model, isStream: false })
    setup.upstream.seen()
    const asked = [1, 2, 3].map(() => ask({ model, isStream }))
    for (const { said } of await Promise.all(asked)) {
      expect(said).toMatchObject({ ...SPOKEN, isComplete: true })
    }
    const paths = pathsSeen().toSorted()
    expect(paths.filter((path) => path === '/oauth/2.0/token')).toHaveLength(1)
    // Three responses, and one rejection for each call that started with the old token.
    expect(paths.filter((path) => path.includes('/chat/')).length).toBeGreaterThan(3)
  }
})

test('another channel serves a call if the socket closes before its first frame', async () => {
  const { type, key } = cloudOf('Spark')
  const { model } = await aServed(cloudOf('Spark'), 'fail-cut')
  const mapping = JSON.stringify({ [model]: 'SparkDesk-v3.5-x' })
  await aRoute(setup, model, { type, key, priority: -1, model_mapping: mapping })
  const { said } = await ask({ model, isStream: true })
  expect(said).toMatchObject({ ...SPOKEN, isComplete: true })
  expect(setup.upstream.seen()).toHaveLength(2)
})

test('a client that disconnects closes the socket and pays for the received part', async () => {
  const { model } = await aServed(cloudOf('Spark'), 'chunks-40+tokens-40+slow-chunk-20')
  const answer = await openCall(setup, client, speakers.openai.body(model, {}, true))
  await eventually(() => answer.text().includes('word'), 'the first words')
  answer.leave()
  const { quota } = await bookedCall(setup, requestIdOf(answer))
  expect(quota).toBeGreaterThan(0)
  expect(quota).toBeLessThan(51)
  const [seen] = setup.upstream.seen()
  await eventually(() => seen?.outcome === 'client-gone', 'the end of the socket')
})

test('the version in a channel’s form selects Spark’s model', async () => {
  const { type, key } = cloudOf('Spark')
  const config = JSON.stringify({ api_version: 'v1.1' })
  await aRoute(setup, 'spark', { type, key, config })
  const { said } = await ask({ model: 'spark', wish: { system: 'Be brief.' }, isStream: false })
  expect(said).toMatchObject(SPOKEN)
  const [seen] = setup.upstream.seen()
  expect(seen?.url).toMatch(/^\/v1\.1\/chat\?/)
  expect(seen?.body).toMatchObject({ parameter: { chat: { domain: 'lite' } } })
})

test('the second version of Qianfan receives the application id that follows the key', async () => {
  await aRoute(setup, 'ernie-5.0', { type: 47, key: 'bce-v3/ALTAK-x/y|app-1' })
  const { said } = await ask({ model: 'ernie-5.0', isStream: true })
  expect(said).toMatchObject(SPOKEN)
  const [seen] = setup.upstream.seen()
  expect(seen).toMatchObject({
    url: '/v2/chat/completions',
    headers: { authorization: 'Bearer bce-v3/ALTAK-x/y', appid: 'app-1' },
  })
})
