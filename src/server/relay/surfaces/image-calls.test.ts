import OpenAI, { toFile } from 'openai'
import OldOpenAI from 'openai-v4'
import { describe, expect, test } from 'vitest'
import { onSqlite } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  eventually,
  expectNothingCharged,
  expectRefusal,
  heldPoints,
  post,
  requestIdOf,
  startCall,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

const path = '/v1/images/generations'

onSqlite('pictures', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })

  async function charged(body: Record<string, unknown>, input = path) {
    const answer = await post(setup, client, { prompt: 'a cat', ...body }, { path: input })
    expect(answer.status).toBe(200)
    return bookedCall(setup, requestIdOf(answer))
  }

  test.each([
    [{}, 20_000],
    [{ size: '1792x1024' }, 40_000],
    [{ quality: 'hd' }, 40_000],
    [{ quality: 'hd', size: '1024x1792' }, 60_000],
  ])('are sold by the piece: dall-e-3 %j for %i', async (wish, quota) => {
    await aRoute(setup, 'dall-e-3')
    const { quota: booked, log } = await charged({ model: 'dall-e-3', ...wish })
    expect(booked).toBe(quota)
    expect(log).toMatchObject({ prompt_tokens: 0, completion_tokens: 0 })
  })

  test.each([
    ['prompt_missing', { model: 'dall-e-3', prompt: '' }],
    ['prompt_missing', { model: 'gpt-image-1', prompt: undefined }],
    ['n_not_within_range', { model: 'dall-e-3', n: 2 }],
    ['n_not_within_range', { model: 'dall-e-2', n: 11 }],
    ['n_not_within_range', { model: 'dall-e-2', n: -1 }],
    ['n_not_within_range', { model: 'gpt-image-1', n: 1e9 }],
    ['size_not_supported', { model: 'dall-e-2', size: '1792x1024' }],
    ['size_not_supported', { model: 'dall-e-3', size: '256x256' }],
    ['prompt_too_long', { model: 'dall-e-2', prompt: '猫'.repeat(334) }],
    ['prompt_too_long', { model: 'dall-e-3', prompt: 'a'.repeat(4001) }],
  ])('nobody can draw: %s', async (code, wish) => {
    await aRoute(setup, wish.model)
    const own = await aClient(setup)
    const answer = await post(setup, own, { prompt: 'a cat', ...wish }, { path })
    expect(answer).toMatchObject({ status: 400, json: { error: { code } } })
    await expectNothingCharged(setup, own)
  })

  test('dall-e-3 costs the same under another name', async () => {
    const alias = aModel()
    await aRoute(setup, alias, { model_mapping: JSON.stringify({ [alias]: 'dall-e-3' }) })
    expect((await charged({ model: alias })).quota).toBe(20_000)
  })

  test('a response without an image leads to another channel', async () => {
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('{"created":1,"data":[]}')
    })
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url, priority: 9 })
    await aRoute(setup, model)
    expect((await charged({ model })).quota).toBe(1000)
    await upstream.close()
  })

  test('dall-e-2 is the default model', async () => {
    await aRoute(setup, 'dall-e-2')
    expect((await charged({ size: '256x256' })).quota).toBe(8000)
    expect((await charged({})).quota).toBe(10_000)
  })

  test('cost the reported tokens for models priced by the token', async () => {
    await aRoute(setup, 'gpt-image-1')
    const { quota, detail } = await charged({ model: 'gpt-image-1', quality: 'low', n: 2 })
    // 11 text tokens at 2.5, 200 image tokens at 2.5 × 8.
    expect(quota).toBe(Math.ceil(11 * 2.5 + 200 * 20))
    expect(detail).toMatchObject({ usage_source: 'upstream', completion_tokens: 200 })
  })

  test('are charged per image if usage is missing', async () => {
    const model = 'gpt-image-1-mini'
    await aRoute(setup, model, { words: 'no-usage' })
    const { quota } = await charged({ model, quality: 'medium', size: '1024x1024' })
    expect(quota).toBe(5500)
  })

  test('are charged by the reported tokens if streamed', async () => {
    const model = 'gpt-image-1.5'
    await aRoute(setup, model)
    const answer = await stream(setup, client, { model, prompt: 'a cat' }, { path })
    expect(answer.end).toBe('complete')
    expect(answer.text()).toContain('image_generation.completed')
    const { quota } = await bookedCall(setup, requestIdOf(answer))
    expect(quota).toBe(Math.ceil(11 * 2.5 + 100 * 16))
  })

  test('B19: a failed image costs nothing for any failure', async () => {
    const own = await aClient(setup)
    for (const words of [
      'fail-500',
      'fail-400',
      'error-200',
      'html-200',
      'fail-cut',
      'fail-empty',
    ]) {
      const model = await aServedModel(setup, words)
      const answer = await post(setup, own, { model, prompt: 'a cat' }, { path })
      expect(answer.status).toBeGreaterThanOrEqual(400)
    }
    await expectNothingCharged(setup, own)
  })

  test('are charged if the client leaves after the upstream has begun', async () => {
    const own = await aClient(setup)
    const model = await aServedModel(setup, 'slow-5000')
    const sent = startCall(setup, own, { model, prompt: 'a cat', n: 2 }, { path })
    await eventually(async () => (await heldPoints(setup, own.userId)) === 2000, 'the reservation')
    await eventually(
      () => setup.upstream.seen().some(({ url }) => url.includes('images')),
      'the call',
    )
    sent.destroy()
    const row = await eventually(
      () =>
        setup.database.read
          .selectFrom('ledger')
          .selectAll()
          .where('user_id', '=', own.userId)
          .where('kind', '=', 'consume')
          .executeTakeFirst(),
      'the booking',
    )
    expect(JSON.parse(row.detail)).toMatchObject({ usage_source: 'estimated' })
    expect(row.user_amount).toBe(-2000)
  })

  test('are reserved before they are generated', async () => {
    const poor = await aClient(setup, { quota: 1999 })
    const model = await aServedModel(setup)
    const answer = await post(setup, poor, { model, prompt: 'a cat', n: 2 }, { path })
    expectRefusal(answer, {
      code: 'user_quota_insufficient',
      status: 403,
      wireCode: 'insufficient_user_quota',
    })
    expect((await post(setup, poor, { model, prompt: 'a cat' }, { path })).status).toBe(200)
  })

  test.each([
    [{ prompt: 7 }, 'prompt'],
    [{ prompt: 'x', n: '2' }, 'n'],
    [{ prompt: 'x', n: 1.5 }, 'n'],
    [{ prompt: 'x', size: 5 }, 'size'],
    [{ prompt: 'x', quality: [] }, 'quality'],
    [{ prompt: 'x', stream: 'yes' }, 'stream'],
  ] as const)('a request for nothing that can be drawn is refused: %j', async (body, field) => {
    const model = await aServedModel(setup)
    const answer = await post(setup, client, { model, ...body }, { path })
    expectRefusal(answer, {
      code: 'picture_field_invalid',
      status: 400,
      params: { field },
      wireCode: 'invalid_image_request',
    })
  })

  test.each([{}, { n: null }, { n: 0 }])('one is generated without a number: %j', async (n) => {
    const model = await aServedModel(setup)
    setup.upstream.seen()
    expect((await charged({ model, ...n })).quota).toBe(1000)
    expect(setup.upstream.seen()[0]?.body).not.toHaveProperty('n', 0)
  })

  test('limits follow the model name that is sent upstream', async () => {
    const [alias, drawing] = [aModel(), aModel()]
    await aRoute(setup, alias, { model_mapping: JSON.stringify({ [alias]: 'dall-e-2' }) })
    const wish = { prompt: 'a cat', size: '1792x1024' }
    const refused = await post(setup, client, { ...wish, model: alias }, { path })
    expectRefusal(refused, {
      code: 'picture_size_unsupported',
      status: 400,
      params: { model: 'dall-e-2', size: wish.size },
      wireCode: 'size_not_supported',
    })
    const own = await aClient(setup, { group: 'drawing' })
    await aRoute(setup, 'dall-e-2', {
      group: 'drawing',
      model_mapping: JSON.stringify({ 'dall-e-2': drawing }),
    })
    expect((await post(setup, own, { ...wish, model: 'dall-e-2' }, { path })).status).toBe(200)
  })

  test('channels without image generation return an error', async () => {
    const model = aModel()
    await aRoute(setup, model, { type: 14 })
    const answer = await post(setup, client, { model, prompt: 'x' }, { path })
    expect(answer.status).toBe(501)
  })

  test('variations are not implemented, right after the key was checked', async () => {
    const variations = '/v1/images/variations'
    const answer = await post(setup, client, {}, { path: variations })
    expectRefusal(answer, { code: 'not_implemented', status: 501, wireCode: 'api_not_implemented' })
    expect((await post(setup, { key: 'wrong' }, {}, { path: variations })).status).toBe(401)
  })
})

const clients: [string, typeof OpenAI][] = [
  ['7', OpenAI],
  // The surface used here is the same in both.
  ['4', OldOpenAI as unknown as typeof OpenAI],
]

describe.each(clients)('openai %s', (_version, Client) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { sharesClient: true })
  const sdk = () => new Client({ apiKey: client.key, baseURL: `${setup.url}/v1`, maxRetries: 0 })

  test('generates images', async () => {
    const model = await aServedModel(setup)
    const { data } = await sdk().images.generate({ model, prompt: 'a cat', n: 2 })
    expect(data?.map(({ url }) => url)).toEqual(Array(2).fill('http://127.0.0.1/image.png'))
  })

  test('edits: the form is sent unchanged except for the model name', async () => {
    const model = aModel()
    const mapped = aModel()
    await aRoute(setup, model, { model_mapping: JSON.stringify({ [model]: mapped }) })
    setup.upstream.seen()
    const image = await toFile(Buffer.from('\u0089PNG\r\n\r\n--'), 'cat.png', { type: 'image/png' })
    const { data } = await sdk().images.edit({ model, image, prompt: 'a dog', n: 1 })
    expect(data).toHaveLength(1)
    const [seen] = setup.upstream.seen()
    expect(seen?.url).toBe('/v1/images/edits')
    expect(seen?.headers['content-type']).toMatch(/^multipart\/form-data; ?boundary=/)
    const text = seen?.bytes.toString('utf8') ?? ''
    expect(text).toContain('\u0089PNG\r\n\r\n--')
    expect(text).toContain(`\r\n\r\n${mapped}\r\n`)
    expect(text).not.toContain(`${model}\r\n`)
  })
})
