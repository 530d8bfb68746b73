import Client, { toFile } from 'openai'
import { describe, expect, test } from 'vitest'
import {
  aModel,
  aRoute,
  bookedCall,
  post,
  requestIdOf,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'
import { cloudflareUrl } from './address.ts'

/** What Workers AI has at the addresses of its models, for OpenAI's clients. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

const CLOUDFLARE = 37
const ACCOUNT = '0123456789abcdef0123456789abcdef'
const RUN = `/client/v4/accounts/${ACCOUNT}/ai/run`
const PICTURES = { path: '/v1/images/generations' }
const RANKING = { path: '/v1/rerank' }
const SCHNELL = '@cf/black-forest-labs/flux-1-schnell'
const LUCID = '@cf/leonardo/lucid-origin'
const DIFFUSION = '@cf/stabilityai/stable-diffusion-xl-base-1.0'
const TURBO = '@cf/openai/whisper-large-v3-turbo'
const WHISPER = '@cf/openai/whisper'
const RERANKER = '@cf/baai/bge-reranker-base'
const BYTES =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkQM9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Our name for one of Cloudflare's models; the price is Cloudflare's. */
async function aServed(cloudflares: string): Promise<string> {
  const model = aModel()
  await aRoute(setup, model, {
    type: CLOUDFLARE,
    base_url: setup.upstream.url,
    config: JSON.stringify({ user_id: ACCOUNT }),
    model_mapping: JSON.stringify({ [model]: cloudflares }),
  })
  return model
}

const sdk = () => new Client({ apiKey: client.key, baseURL: `${setup.url}/v1`, maxRetries: 0 })
const lastCall = () => setup.upstream.seen().at(-1)
const quotaOf = async (answer: Parameters<typeof requestIdOf>[0]) =>
  (await bookedCall(setup, requestIdOf(answer))).quota

test('the gateway has models beneath the account', () => {
  const channel = { type: CLOUDFLARE, key: 'k', apiVersion: '', config: {} }
  const call = {
    task: 'rerank' as const,
    model: RERANKER,
    isStream: false,
    clientQuery: new URLSearchParams(),
    clientHeaders: {},
    ownAddress: '',
  }
  const base = 'https://gateway.ai.cloudflare.com/v1/account/gateway/workers-ai'
  for (const baseUrl of [base, `${base}/v1`]) {
    expect(cloudflareUrl({ ...channel, baseUrl }, call)).toBe(`${base}/${RERANKER}`)
  }
  const odd = { ...call, model: '@cf/../../x/bge-reranker-base' }
  expect(cloudflareUrl({ ...channel, baseUrl: base }, odd)).toBeNull()
})

describe('pictures', () => {
  test('are drawn by Flux, and charged by the piece with its steps', async () => {
    const model = await aServed(SCHNELL)
    const wish = { prompt: 'a cat', size: '1024x1024', seed: 7, quality: 'auto', user: 'me' }
    const answer = await post(setup, client, { model, ...wish }, PICTURES)
    const call = lastCall()
    expect(call?.url).toBe(`${RUN}/${SCHNELL}`)
    expect(call?.body).toEqual({ prompt: 'a cat', seed: 7 })
    expect(answer.json).toMatchObject({ data: [{ b64_json: BYTES }] })
    // Four tiles at $0.0000528 and four steps at $0.0001056.
    expect(await quotaOf(answer)).toBe(Math.ceil(0.0006336 * 500_000))
  })

  test.each([LUCID, DIFFUSION])('are drawn by %s in the size that is paid for', async (name) => {
    const model = await aServed(name)
    const wish = { prompt: 'a cat', negative_prompt: 'dogs', response_format: 'url' }
    const answer = await post(setup, client, { model, ...wish }, PICTURES)
    const call = lastCall()
    expect(call?.url).toBe(`${RUN}/${name}`)
    expect(call?.body).toEqual({
      prompt: 'a cat',
      negative_prompt: 'dogs',
      width: 1024,
      height: 1024,
    })
    expect(answer.json).toMatchObject({ data: [{ url: `data:image/png;base64,${BYTES}` }] })
    await post(setup, client, { model, prompt: 'a cat', size: '512x768' }, PICTURES)
    expect(lastCall()?.body).toEqual({ prompt: 'a cat', width: 512, height: 768 })
  })

  test.each<[string, string, unknown]>([
    [SCHNELL, 'n', 2],
    [SCHNELL, 'steps', 8],
    [SCHNELL, 'size', '512x512'],
    [SCHNELL, 'negative_prompt', 'dogs'],
    [LUCID, 'size', '2048x2048'],
    [LUCID, 'num_steps', 40],
    [LUCID, 'background', 'transparent'],
  ])('%s: %s %j is refused by name', async (name, member, value) => {
    const model = await aServed(name)
    const answer = await post(setup, client, { model, prompt: 'x', [member]: value }, PICTURES)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(member)
    expect(setup.upstream.seen()).toEqual([])
  })

  test('a model that takes forms alone draws nothing here', async () => {
    const model = await aServed('@cf/black-forest-labs/flux-2-dev')
    expect((await post(setup, client, { model, prompt: 'x' }, PICTURES)).status).toBe(501)
  })
})

describe('recordings', () => {
  const WAV = Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1')
  const recording = () => toFile(WAV, 'said.wav', { type: 'audio/wav' })
  const SAID = 'The answer is forty-two.'

  test('are written down, and charged by the length that is told', async () => {
    const model = await aServed(TURBO)
    const asking = { file: await recording(), model, prompt: 'Gatehouse', language: 'en' }
    const { data, response } = await sdk().audio.transcriptions.create(asking).withResponse()
    expect(data).toEqual({ text: SAID, usage: { type: 'duration', seconds: 3.2 } })
    const call = lastCall()
    expect(call?.url).toBe(`${RUN}/${TURBO}`)
    expect(call?.body).toEqual({
      audio: WAV.toString('base64'),
      task: 'transcribe',
      language: 'en',
      initial_prompt: 'Gatehouse',
    })
    const headers = Object.fromEntries(response.headers)
    expect(await quotaOf({ headers })).toBe(Math.ceil((4 / 60) * 1000 * 0.255))
  })

  test('are translated, as a text or as subtitles', async () => {
    const model = await aServed(TURBO)
    const { translations } = sdk().audio
    const file = await recording()
    const text = await translations.create({ file, model, response_format: 'text' })
    expect(text).toBe(`${SAID}\n`)
    expect(lastCall()?.body).toMatchObject({ task: 'translate' })
    const vtt = await translations.create({ file, model, response_format: 'vtt' })
    expect(vtt).toBe('WEBVTT\n\nforty-two')
  })

  test('go to the older Whisper as they are, charged by what they say of themselves', async () => {
    const model = await aServed(WHISPER)
    const asking = { file: await recording(), model }
    const { data, response } = await sdk().audio.transcriptions.create(asking).withResponse()
    expect(data).toEqual({ text: SAID })
    const call = lastCall()
    expect(call?.url).toBe(`${RUN}/${WHISPER}`)
    expect(call?.bytes).toEqual(WAV)
    const headers = Object.fromEntries(response.headers)
    expect(await quotaOf({ headers })).toBe(Math.ceil((1 / 60) * 1000 * 0.25))
    await expect(sdk().audio.translations.create(asking)).rejects.toMatchObject({ status: 501 })
  })

  test.each([
    [TURBO, 'response_format', 'srt'],
    [TURBO, 'temperature', 0.4],
    [TURBO, 'timestamp_granularities', ['word']],
    [WHISPER, 'language', 'en'],
    [WHISPER, 'prompt', 'Gatehouse'],
  ])('%s: %s %j is refused by name', async (name, member, value) => {
    const model = await aServed(name)
    const asking = { file: await recording(), model, [member]: value }
    await expect(sdk().audio.transcriptions.create(asking)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(member),
    })
    expect(setup.upstream.seen()).toEqual([])
  })
})

describe('rankings', () => {
  const documents = ['first', { text: 'second' }, 'third']

  test('are asked for in Cloudflare’s words, and given back in the common ones', async () => {
    const model = await aServed(RERANKER)
    const asked = { model, query: 'q', documents, top_n: 2, return_documents: true }
    const answer = await post(setup, client, asked, RANKING)
    const call = lastCall()
    expect(call?.url).toBe(`${RUN}/${RERANKER}`)
    expect(call?.body).toEqual({
      query: 'q',
      contexts: [{ text: 'first' }, { text: 'second' }, { text: 'third' }],
      top_k: 2,
    })
    expect(answer.json).toEqual({
      results: [
        { index: 2, relevance_score: 0.3, document: { text: 'third' } },
        { index: 1, relevance_score: 0.2, document: { text: 'second' } },
      ],
    })
    const { detail, quota } = await bookedCall(setup, requestIdOf(answer))
    expect(detail['usage_source']).toBe('estimated')
    expect(quota).toBeGreaterThan(0)
  })

  test('what Cloudflare has no word for is refused by name', async () => {
    const model = await aServed(RERANKER)
    const asked = { model, query: 'q', documents, instruct: 'news first' }
    const answer = await post(setup, client, asked, RANKING)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain('instruct')
    const other = { model: await aServed('@cf/baai/bge-m3'), query: 'q', documents }
    expect((await post(setup, client, other, RANKING)).status).toBe(501)
  })
})
