import Client, { toFile } from 'openai'
import { describe, expect, test } from 'vitest'
import { nativeChannels } from '../../../test/native-channels.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  expectNothingCharged,
  heldPoints,
  post,
  requestIdOf,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'

/** Pictures and rankings of models that Bedrock invokes, for OpenAI's clients. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

const BEDROCK = 33
const PICTURES = { path: '/v1/images/generations' }
const EDITS = { path: '/v1/images/edits' }
const RANKING = { path: '/v1/rerank' }
const CANVAS = 'amazon.nova-canvas-v1:0'
const TITAN = 'amazon.titan-image-generator-v2:0'
const STABILITY = 'stability.stable-image-core-v1:1'
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkQM9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const BYTES = PNG.toString('base64')
const inline = `data:image/png;base64,${BYTES}`

/** Our name for one of Bedrock's models; the price is Bedrock's. */
async function aServed(
  bedrocks: string,
  url = setup.upstream.url,
  model = aModel(),
): Promise<string> {
  const key = nativeChannels.find(({ type }) => type === BEDROCK)?.key(setup.upstream.url) ?? ''
  const mapping = JSON.stringify({ [model]: bedrocks })
  await aRoute(setup, model, { type: BEDROCK, key, base_url: url, model_mapping: mapping })
  return model
}

const sdk = () => new Client({ apiKey: client.key, baseURL: `${setup.url}/v1`, maxRetries: 0 })
const lastCall = () => setup.upstream.seen().at(-1)
const quotaOf = async (answer: Parameters<typeof requestIdOf>[0]) =>
  (await bookedCall(setup, requestIdOf(answer))).quota
const invoked = (model: string) => `/model/${encodeURIComponent(model)}/invoke`

describe('pictures', () => {
  test.each([CANVAS, TITAN])('are drawn by %s, and charged by the piece', async (bedrocks) => {
    const model = await aServed(bedrocks)
    const wish = { prompt: 'a cat', n: 2, size: '1280x720', quality: 'hd', user: 'me', seed: 7 }
    const answer = await post(setup, client, { model, ...wish, negativeText: 'dogs' }, PICTURES)
    expect(lastCall()).toMatchObject({
      url: invoked(bedrocks),
      headers: { authorization: expect.stringMatching(/^AWS4-HMAC-SHA256 /) },
    })
    expect(answer.json).toMatchObject({ data: [{ b64_json: BYTES }, { b64_json: BYTES }] })
    expect(await quotaOf(answer)).toBe(2000)
  })

  test('go out in Amazon’s words', async () => {
    const model = await aServed(CANVAS)
    const wish = { prompt: 'a cat', n: 2, size: '1280x720', quality: 'hd', user: 'me', seed: 7 }
    await post(setup, client, { model, ...wish, negativeText: 'dogs' }, PICTURES)
    expect(lastCall()?.body).toEqual({
      taskType: 'TEXT_IMAGE',
      textToImageParams: { text: 'a cat', negativeText: 'dogs' },
      imageGenerationConfig: {
        numberOfImages: 2,
        width: 1280,
        height: 720,
        quality: 'premium',
        seed: 7,
      },
    })
  })

  test('are drawn by Stability, one a call, in the nearest shape', async () => {
    const model = await aServed(STABILITY)
    const wish = { prompt: 'a cat', size: '1536x1024', output_format: 'jpeg', n: 1 }
    const asked = { model, ...wish, response_format: 'url' }
    const answer = await post(setup, client, asked, PICTURES)
    const call = lastCall()
    expect(call?.url).toBe(invoked(STABILITY))
    expect(call?.body).toEqual({
      prompt: 'a cat',
      aspect_ratio: '3:2',
      output_format: 'jpeg',
    })
    expect(answer.json).toMatchObject({ data: [{ url: `data:image/jpeg;base64,${BYTES}` }] })
    expect(await quotaOf(answer)).toBe(1000)
  })

  test('are drawn after others, sent as files or in JSON', async () => {
    const model = await aServed(CANVAS)
    const image = [await toFile(PNG, 'a.png'), await toFile(PNG, 'b.png')]
    const wish = { prompt: 'hats on', size: '512x512' as const, n: 2 }
    const { data } = await sdk().images.edit({ model, image, ...wish })
    expect(data).toMatchObject([{ b64_json: BYTES }, { b64_json: BYTES }])
    expect(lastCall()).toMatchObject({
      headers: { 'content-type': 'application/json' },
      body: {
        taskType: 'IMAGE_VARIATION',
        imageVariationParams: { text: 'hats on', images: [BYTES, BYTES] },
        imageGenerationConfig: { numberOfImages: 2, width: 512, height: 512 },
      },
    })
    const images = [{ image_url: inline }]
    const part = { model, prompt: 'a hat', images, maskPrompt: 'head' }
    const answer = await post(setup, client, part, EDITS)
    expect(lastCall()?.body).toEqual({
      taskType: 'INPAINTING',
      inPaintingParams: { text: 'a hat', image: BYTES, maskPrompt: 'head' },
      imageGenerationConfig: { numberOfImages: 1 },
    })
    expect(await quotaOf(answer)).toBe(1000)
  })

  test.each<[string, string, unknown]>([
    [CANVAS, 'style', 'natural'],
    [CANVAS, 'quality', 'low'],
    [CANVAS, 'background', 'transparent'],
    [CANVAS, 'output_format', 'webp'],
    [CANVAS, 'maskPrompt', 'head'],
    [STABILITY, 'n', 2],
    [STABILITY, 'quality', 'hd'],
    [STABILITY, 'size', '1024x300'],
    [STABILITY, 'output_format', 'webp'],
  ])('%s: %s %j is refused by name', async (bedrocks, name, value) => {
    const model = await aServed(bedrocks)
    const answer = await post(setup, client, { model, prompt: 'x', [name]: value }, PICTURES)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(name)
    expect(setup.upstream.seen()).toEqual([])
  })

  test.each([
    ['mask', { images: [{ image_url: inline }], mask: { image_url: inline } }],
    ['images', { images: [{ image_url: 'https://example.com/a.png' }] }],
  ])('a change with such %s is refused by name', async (name, wish) => {
    const model = await aServed(CANVAS)
    const answer = await post(setup, client, { model, prompt: 'x', ...wish }, EDITS)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(name)
    expect(setup.upstream.seen()).toEqual([])
  })

  test('Stability’s models that draw change nothing, and models that talk draw nothing', async () => {
    const images = [{ image_url: inline }]
    const drawing = { model: await aServed(STABILITY), prompt: 'x', images }
    expect((await post(setup, client, drawing, EDITS)).status).toBe(501)
    const talking = { model: await aServed('amazon.nova-lite-v1:0'), prompt: 'x' }
    expect((await post(setup, client, talking, PICTURES)).status).toBe(501)
  })

  test.each([
    [CANVAS, 'All of the generated images were blocked.'],
    [STABILITY, 'Filter reason: prompt'],
  ])(
    'one that %s has withheld is refused with its reason, for nothing',
    async (bedrocks, reason) => {
      const own = await aClient(setup)
      const model = await aServed(bedrocks)
      const answer = await post(setup, own, { model, prompt: 'blocked' }, PICTURES)
      expect(answer.status).toBe(400)
      expect(JSON.stringify(answer.json)).toContain(reason)
      await expectNothingCharged(setup, own)
    },
  )

  test.each(['{}', '{"images":[]}', '<html>Busy</html>'])(
    'an answer without one, or a reason for that, leads to another channel: %s',
    async (said) => {
      const scripted = await startScriptedUpstream((_request, response) => response.end(said))
      const model = await aServed(CANVAS, scripted.url)
      const refused = await post(setup, client, { model, prompt: 'x' }, PICTURES)
      expect(refused.status).toBe(502)
      await aServed(CANVAS, setup.upstream.url, model)
      const answer = await post(setup, client, { model, prompt: 'x' }, PICTURES)
      expect(answer.json).toMatchObject({ data: [{ b64_json: BYTES }] })
      await scripted.close()
    },
  )

  test('what they may cost is held while they are drawn; those that came are paid for', async () => {
    const held = Promise.withResolvers<number>()
    const own = await aClient(setup)
    const scripted = await startScriptedUpstream((_request, response) => {
      heldPoints(setup, own.userId).then((points) => {
        held.resolve(points)
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ images: [BYTES, BYTES], error: 'One was blocked.' }))
      }, held.reject)
    })
    const model = await aServed(CANVAS, scripted.url)
    const answer = await post(setup, own, { model, prompt: 'x', n: 3 }, PICTURES)
    expect(await held.promise).toBe(3000)
    expect(await quotaOf(answer)).toBe(2000)
    await scripted.close()
  })
})

describe('rankings', () => {
  const documents = ['first', { text: 'second' }, 'third']
  const sent = ['first', 'second', 'third']

  test.each([
    ['cohere.rerank-v3-5:0', { api_version: 2 }, 1000],
    ['amazon.rerank-v1:0', {}, 500],
  ])('by %s, sold by the search', async (bedrocks, own, quota) => {
    const model = await aServed(bedrocks)
    const asked = { model, query: 'q', documents, top_n: 2, return_documents: true }
    const answer = await post(setup, client, asked, RANKING)
    const call = lastCall()
    expect(call?.url).toBe(invoked(bedrocks))
    expect(call?.body).toEqual({ query: 'q', documents: sent, top_n: 2, ...own })
    expect(answer.json).toEqual({
      results: [
        { index: 0, relevance_score: 1 },
        { index: 1, relevance_score: 0.5 },
      ],
    })
    expect(await quotaOf(answer)).toBe(quota)
  })

  test('more than a hundred documents are two searches', async () => {
    const model = await aServed('cohere.rerank-v3-5:0')
    const many = Array.from({ length: 120 }, (_, index) => `document ${index}`)
    const answer = await post(setup, client, { model, query: 'q', documents: many }, RANKING)
    expect(await quotaOf(answer)).toBe(2000)
  })

  test.each([
    ['amazon.rerank-v1:0', 'max_tokens_per_doc', 512],
    ['cohere.rerank-v3-5:0', 'instruct', 'news first'],
  ])('%s: %s is refused by name', async (bedrocks, name, value) => {
    const model = await aServed(bedrocks)
    const asked = { model, query: 'q', documents: sent, [name]: value }
    const answer = await post(setup, client, asked, RANKING)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(name)
    expect(setup.upstream.seen()).toEqual([])
  })

  test('models that do not rank are not asked to', async () => {
    const asked = { model: await aServed('amazon.nova-lite-v1:0'), query: 'q', documents: sent }
    expect((await post(setup, client, asked, RANKING)).status).toBe(501)
  })
})
