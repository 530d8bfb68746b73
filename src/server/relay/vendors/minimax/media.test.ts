import { describe, expect, test } from 'vitest'
import { MINIMAX_SOUND } from '../../../../../tools/fake-upstream/providers/minimax-answers.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  expectNothingCharged,
  openCall,
  post,
  requestIdOf,
  type OpenAnswer,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'

/** Speech and images at MiniMax's own URLs, for OpenAI clients. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

const MINIMAX = 27
const SPEECH = { path: '/v1/audio/speech' }
const PICTURES = { path: '/v1/images/generations' }
const SPEAKS = 'speech-2.8-hd'

async function aServed(minimaxs: string, model = aModel()): Promise<string> {
  const mapping = JSON.stringify({ [model]: minimaxs })
  await aRoute(setup, model, {
    type: MINIMAX,
    base_url: setup.upstream.url,
    model_mapping: mapping,
  })
  return model
}

const lastCall = () => setup.upstream.seen().at(-1)
const quotaOf = async (answer: Parameters<typeof requestIdOf>[0]) =>
  (await bookedCall(setup, requestIdOf(answer))).quota

async function heard(body: object): Promise<OpenAnswer> {
  const answer = await openCall(setup, client, body, SPEECH)
  await answer.ended
  return answer
}

describe('speech', () => {
  test('is charged by the reported characters', async () => {
    const model = await aServed(SPEAKS)
    const own = { voice_setting: { emotion: 'happy' }, language_boost: 'Chinese' }
    const asked = { model, input: '你好 you', voice: 'male-qn-qingse', speed: 1.5, ...own }
    const answer = await heard(asked)
    const call = lastCall()
    expect(call?.url).toBe('/v1/t2a_v2')
    expect(call?.body).toEqual({
      model: SPEAKS,
      text: '你好 you',
      stream: false,
      output_format: 'hex',
      voice_setting: { voice_id: 'male-qn-qingse', speed: 1.5, emotion: 'happy' },
      audio_setting: { format: 'mp3' },
      language_boost: 'Chinese',
    })
    expect(answer.headers['content-type']).toBe('audio/mpeg')
    expect(answer.bytes()).toEqual(MINIMAX_SOUND)
    expect(await quotaOf(answer)).toBe(8)
  })

  test('is counted as MiniMax counts if usage is missing', async () => {
    const name = 'speech-2.8-turbo+no-usage'
    const model = await aServed(name, name)
    expect(await quotaOf(await heard({ model, input: '你好 you', voice: 'a' }))).toBe(8)
  })

  test('an error with status 200 is an error, without a charge', async () => {
    const own = await aClient(setup)
    const model = await aServed(SPEAKS)
    const answer = await post(setup, own, { model, input: 'x', voice: 'alloy' }, SPEECH)
    expect(answer.status).toBeGreaterThanOrEqual(400)
    await expectNothingCharged(setup, own)
  })

  test.each([
    ['response_format', 'opus'],
    ['instructions', 'Whisper.'],
    ['subtitle_enable', true],
  ])('%s %j is refused by name', async (name, value) => {
    const model = await aServed(SPEAKS)
    const asked = { model, input: 'x', voice: 'a', [name]: value }
    const answer = await post(setup, client, asked, SPEECH)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(name)
    expect(setup.upstream.seen()).toEqual([])
  })
})

describe('images', () => {
  test.each([
    ['image-01', { width: 1280, height: 720 }],
    ['image-01-live', { aspect_ratio: '16:9' }],
  ])('are drawn by %s, and charged by the piece', async (name, sides) => {
    const model = await aServed(name)
    const wish = { prompt: 'a cat', n: 2, size: '1280x720', user: 'me', seed: 7 }
    const answer = await post(setup, client, { model, ...wish }, PICTURES)
    const call = lastCall()
    expect(call?.url).toBe('/v1/image_generation')
    expect(call?.body).toEqual({
      model: name,
      prompt: 'a cat',
      n: 2,
      ...sides,
      seed: 7,
      response_format: 'url',
    })
    const url = `${setup.upstream.url}/minimax-result/1.jpeg`
    expect(answer.json).toMatchObject({ data: [{ url }, { url }] })
    expect(await quotaOf(answer)).toBe(2000)
  })

  test('are returned as bytes on request', async () => {
    const model = await aServed('image-01')
    const asked = { model, prompt: 'a cat', response_format: 'b64_json' }
    const answer = await post(setup, client, asked, PICTURES)
    expect(answer.json).toMatchObject({ data: [{ b64_json: expect.stringMatching(/^iVBOR/) }] })
  })

  test.each([
    ['background', 'transparent'],
    ['quality', 'hd'],
    ['output_format', 'webp'],
  ])('%s %j is refused by name', async (name, value) => {
    const model = await aServed('image-01')
    const answer = await post(setup, client, { model, prompt: 'x', [name]: value }, PICTURES)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(name)
    expect(setup.upstream.seen()).toEqual([])
  })

  test('other models are called in OpenAI’s format', async () => {
    const model = await aServed('minimax-h3-image')
    await post(setup, client, { model, prompt: 'x' }, PICTURES)
    expect(lastCall()?.url).toBe('/v1/images/generations')
  })
})
