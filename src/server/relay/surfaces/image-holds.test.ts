import type { IncomingMessage, ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { forEachDatabase } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  eventually,
  expectNothingCharged,
  heldPoints,
  openCall,
  post,
  quotaOf,
  requestIdOf,
  startCall,
  startScriptedUpstream,
  stream,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelaySetup } from '../../test/use-relay.ts'

/**
 * Reserves the possible cost of image calls, and charges the images received. Prices are computed
 * by hand.
 */

const path = '/v1/images/generations'
const edits = '/v1/images/edits'
const PICTURE = { b64_json: 'AA' }

/** The start of a PNG with its size. */
function pngOf(width: number, height: number): string {
  const bytes = Buffer.alloc(33)
  bytes.write('\x89PNG\r\n\x1a\n', 'latin1')
  bytes.writeUInt32BE(13, 8)
  bytes.write('IHDR', 12)
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return `data:image/png;base64,${bytes.toString('base64')}`
}

function answerWith(value: object) {
  return (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(value))
  }
}

forEachDatabase('points for pictures', (open) => {
  let setup: RelaySetup
  useRelaySetup((now) => (setup = now), { open })

  /** Asserts that a call succeeds with exactly this many points, and fails with one less. */
  async function expectHeld(quota: number, body: Record<string, unknown>, input = path) {
    const poor = await aClient(setup, { quota: quota - 1 })
    const refused = await post(setup, poor, { prompt: 'a cat', ...body }, { path: input })
    expect(refused).toMatchObject({
      status: 403,
      json: { error: { code: 'insufficient_user_quota' } },
    })
    await expectNothingCharged(setup, poor)
    const able = await aClient(setup, { quota })
    const answer = await post(setup, able, { prompt: 'a cat', ...body }, { path: input })
    expect(answer.status).toBe(200)
    return bookedCall(setup, requestIdOf(answer))
  }

  const GROUP = {
    sequential_image_generation: 'auto',
    sequential_image_generation_options: { max_images: 4 },
  }

  test.each([
    [1000, { parameters: { n: 4 } }],
    [2000, { n: 2, num_outputs: 4 }],
    [1000, { batch_size: 4 }],
    [1000, GROUP],
  ])('cost %i for what came, and are held for as many as can come: %j', async (cost, wish) => {
    const { quota } = await expectHeld(4000, { model: await aServedModel(setup), ...wish })
    expect(quota).toBe(cost)
  })

  const group = (count: number, isWhole: boolean) => (_: unknown, response: ServerResponse) => {
    const events: object[] = Array.from({ length: count }, (_one, index) => ({
      type: 'image_generation.partial_succeeded',
      image_index: index,
      url: `https://example.com/${index}.jpeg`,
    }))
    const usage = { generated_images: count, output_tokens: 65_536, total_tokens: 65_536 }
    if (isWhole) events.push({ type: 'image_generation.completed', usage })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.end(isWhole ? 'data: [DONE]\n\n' : '')
  }

  test.each([
    ['to its end', true, 4, 'upstream'],
    ['and cut', false, 3, 'estimated'],
  ] as const)('a group that is streamed %s costs what came of it', async (...row) => {
    const [, isWhole, count, usage_source] = row
    const scripted = await startScriptedUpstream(group(count, isWhole))
    const model = aModel()
    await aRoute(setup, model, { base_url: scripted.url, type: 40 })
    const body = { model, prompt: 'a cat', size: '2K', ...GROUP }
    const answer = await stream(setup, await aClient(setup), body, { path })
    const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
    expect(quota).toBe(count * 1000)
    expect(detail).toMatchObject({
      usage_source,
      lines: [{ kind: 'picture', name: '2K', count }],
    })
    await scripted.close()
  })

  test('a group whose client leaves costs the images received', async () => {
    const scripted = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let index = 0; index < 3; index += 1) {
        const event = { type: 'image_generation.partial_succeeded', url: 'https://a/b' }
        response.write(`data: ${JSON.stringify(event)}\n\n`)
      }
    })
    const model = aModel()
    await aRoute(setup, model, { base_url: scripted.url, type: 40 })
    const body = { model, prompt: 'a cat', stream: true, ...GROUP }
    const answer = await openCall(setup, await aClient(setup), body, { path })
    await eventually(() => answer.text().split('\n\n').length > 3, 'three pictures')
    answer.leave()
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(3000)
    await scripted.close()
  })

  test('reserve the tokens of the input images', async () => {
    const usage = {
      input_tokens: 100_020,
      output_tokens: 272,
      total_tokens: 100_292,
      input_tokens_details: { text_tokens: 20, image_tokens: 100_000 },
    }
    const scripted = await startScriptedUpstream(answerWith({ data: [PICTURE], usage }))
    await aRoute(setup, 'gpt-image-1', { base_url: scripted.url })
    const images = Array.from({ length: 16 }, () => ({ image_url: pngOf(1024, 1536) }))
    const body = { model: 'gpt-image-1', quality: 'low', size: '1024x1024', images }
    // Two text tokens at 2.5; each image 65 + 2 × 129 + 6240 at 5; 2200 generated at 2.5.
    const most = 2 * 2.5 + 16 * 6563 * 5 + 5500
    const { quota } = await expectHeld(most, { ...body, input_fidelity: 'high' }, edits)
    expect(most).toBe(530_545)
    // 20 at 2.5, 100,000 at 5, 272 at 20.
    expect(quota).toBe(505_490)
    await scripted.close()
  })

  test('reserve less for a small edit', async () => {
    const model = 'gpt-image-1-mini'
    await aRoute(setup, model)
    const size = { quality: 'low', size: '1024x1024' }
    // Two text tokens at 1; 65 + 129 of the image at 1.25; 2.5 × 1000 generated.
    const body = { model, ...size, images: [{ image_url: pngOf(512, 512) }] }
    await expectHeld(Math.ceil(2 + 194 * 1.25 + 2500), body, edits)
    // The size is unknown: 65 + 2 × 129. Two are generated.
    const two = { model, ...size, n: 2, image: 'https://example.com/a.png' }
    await expectHeld(Math.ceil(2 * (2 + 323 * 1.25 + 2500)), two, edits)
  })

  test('reserve the files of a form, except the mask', async () => {
    const model = 'gpt-image-1.5'
    await aRoute(setup, model)
    const file = Buffer.from(pngOf(1024, 1024).replace(/^.*,/, ''), 'base64')
    const form = new FormData()
    const texts = { model, prompt: 'a cat', quality: 'low', size: '1024x1024' }
    for (const [name, text] of Object.entries(texts)) form.append(name, text)
    for (const name of ['image[]', 'image[]', 'mask']) form.append(name, new Blob([file]), 'a.png')
    const sent = new Response(form)
    const body = Buffer.from(await sent.arrayBuffer())
    // Two tokens at 2.5; twice 65 + 129 at 4; 1.8 × 2500 generated.
    const held = 2 * 2.5 + 2 * 194 * 4 + 4500
    for (const [quota, status] of [
      [held - 1, 403],
      [held, 200],
    ] as const) {
      const { key } = await aClient(setup, { quota })
      const headers = {
        authorization: `Bearer sk-${key}`,
        'content-type': sent.headers.get('content-type') ?? '',
      }
      const answer = await fetch(`${setup.url}${edits}`, { method: 'POST', headers, body })
      expect(answer.status).toBe(status)
      await answer.arrayBuffer()
    }
  })

  test('reserve partial images', async () => {
    const model = 'gpt-image-1-mini'
    await aRoute(setup, model)
    const wish = { model, prompt: 'a cat', quality: 'low', size: '1024x1024', partial_images: 3 }
    // Two tokens at 1, 2.5 × 1000 generated, and three times 100 tokens at 4.
    const held = 2 + 2500 + 1200
    const refused = await openCall(
      setup,
      await aClient(setup, { quota: held - 1 }),
      { ...wish, stream: true },
      { path },
    )
    expect(refused.status).toBe(403)
    await refused.ended
    const answer = await stream(setup, await aClient(setup, { quota: held }), wish, { path })
    expect(answer.status).toBe(200)
    // Without streaming there are no partial images.
    await expectHeld(2 + 2500, wish)
  })

  test('reserve a long prompt, and charge it if the client has left', async () => {
    const model = 'gpt-image-1-mini'
    await aRoute(setup, model, { words: 'slow-5000', group: 'slow' })
    const own = await aClient(setup, { group: 'slow' })
    const wish = { model, quality: 'low', size: '1024x1024' }
    // Of 1,002 bytes 380 tokens, at 1.
    const held = 380 + 2500
    const sent = startCall(setup, own, { ...wish, prompt: 'x'.repeat(1000) }, { path })
    await eventually(async () => (await heldPoints(setup, own.userId)) === held, 'the hold')
    await eventually(() => setup.upstream.seen().length > 0, 'the call')
    const before = await quotaOf(setup, own.userId)
    sent.destroy()
    await eventually(async () => (await heldPoints(setup, own.userId)) === 0, 'the booking')
    expect(await quotaOf(setup, own.userId)).toBe(before)
  })
})

describe('xAI', () => {
  let setup: RelaySetup
  useRelaySetup((now) => (setup = now))

  test('is charged for the images received', async () => {
    const usage = { cost_in_usd_ticks: 400_000_000 }
    const scripted = await startScriptedUpstream(answerWith({ data: [PICTURE, PICTURE], usage }))
    const model = aModel()
    await aRoute(setup, model, { type: 45, base_url: scripted.url })
    const body = { model, prompt: 'a cat', n: 4 }
    const answer = await post(setup, await aClient(setup), body, { path })
    const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
    expect(quota).toBe(2000)
    expect(detail).toMatchObject({ usage_source: 'upstream' })
    await scripted.close()
  })

  // xAI's list: $0.04, $0.06 and $0.08; the defaults are medium and 1k.
  test.each([
    [{}, 30_000],
    [{ quality: 'auto', aspect_ratio: '16:9' }, 30_000],
    [{ quality: 'low' }, 20_000],
    [{ quality: 'low', resolution: '1k' }, 20_000],
    [{ quality: 'low', resolution: '2k' }, 30_000],
    [{ quality: 'medium', resolution: '1k' }, 30_000],
    [{ quality: 'medium', resolution: '2K' }, 40_000],
    [{ resolution: '2k' }, 40_000],
    // xAI has no size.
    [{ quality: 'low', size: '2048x2048' }, 20_000],
    [{ quality: 'low', resolution: '2k', size: '1024x1024' }, 30_000],
    // Unknown values.
    [{ quality: 'low', resolution: '4k' }, 40_000],
    [{ quality: 'low', resolution: 4 }, 40_000],
    [{ quality: 'high' }, 40_000],
  ])('draws by its own words: %j for %i', async (wish, quota) => {
    const model = 'grok-imagine-image-2.0'
    await aRoute(setup, model, { type: 45 })
    const body = { model, prompt: 'a cat', ...wish }
    const answer = await post(setup, await aClient(setup), body, { path })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(quota)
  })
})
