import Client, { toFile } from 'openai'
import { describe, expect, test } from 'vitest'
import { DASHSCOPE_SOUND } from '../../../../../tools/fake-upstream/providers/dashscope-answers.ts'
import { aNativeModel } from '../../../test/native-channels.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  eventually,
  expectNothingCharged,
  heldPoints,
  openCall,
  post,
  requestIdOf,
  startScriptedUpstream,
  type OpenAnswer,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'

/** Speech, transcription and image editing by Alibaba's models, for OpenAI clients. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

const EDITS = { path: '/v1/images/edits' }
const SPEECH = { path: '/v1/audio/speech' }
const SPEAKS = 'qwen3-tts-flash'
const HEARS = 'qwen3-asr-flash'
const DASHSCOPE = 17
const BAILIAN = 49
const GENERATION = '/api/v1/services/aigc/multimodal-generation/generation'
const SYNTHESIS = '/api/v1/services/audio/tts/SpeechSynthesizer'

/** Adds a model that maps to one of Alibaba's; its price is Alibaba's price. */
async function aServed(
  alibabas: string,
  { type = DASHSCOPE, url = setup.upstream.url } = {},
): Promise<string> {
  const model = aModel()
  const mapping = JSON.stringify({ [model]: alibabas })
  await aRoute(setup, model, { type, base_url: url, model_mapping: mapping })
  return model
}

const sdk = () => new Client({ apiKey: client.key, baseURL: `${setup.url}/v1`, maxRetries: 0 })
const sentTo = (path: string) => setup.upstream.seen().filter(({ url }) => url === path)
const quotaOf = async (answer: Parameters<typeof requestIdOf>[0]) =>
  (await bookedCall(setup, requestIdOf(answer))).quota

async function heard(body: object): Promise<OpenAnswer> {
  const answer = await openCall(setup, client, body, SPEECH)
  await answer.ended
  return answer
}

/** Serves the generated file at this address; other paths are not found. */
async function aMaker(address: string) {
  let made = 0
  const scripted = await startScriptedUpstream(({ method, headers }, response) => {
    if (method === 'GET') {
      if (address.endsWith('.cut')) response.destroy()
      else response.writeHead(address.endsWith('.none') ? 404 : 200).end()
      return
    }
    made += 1
    const url = new URL(address, `http://${headers.host}`).href
    const message = { content: [{ image: url }] }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ output: { audio: { url }, choices: [{ message }] } }))
  })
  return { url: scripted.url, made: () => made, close: () => scripted.close() }
}

describe.each(['/a.none', '/a.empty', '/a.cut', 'https://example.com/a'])(
  'what was made and cannot be had from %s',
  (address) => {
    test.each([
      [SPEAKS, SPEECH.path, { input: 'x', voice: 'Cherry' }],
      [SPEAKS, SPEECH.path, { input: 'x', voice: 'Cherry', stream_format: 'sse' }],
      ['qwen-image', '/v1/images/generations', { prompt: 'x', response_format: 'b64_json' }],
    ])('is not made twice: %s, %s', async (alibabas, path, body) => {
      const { url, made, close } = await aMaker(address)
      const own = await aClient(setup)
      const model = await aServed(alibabas, { url })
      const second = { type: DASHSCOPE, base_url: url, priority: -1 }
      const mapping = JSON.stringify({ [model]: alibabas })
      await aRoute(setup, model, { ...second, model_mapping: mapping })
      const answer = await post(setup, own, { model, ...body }, { path })
      expect(answer).toMatchObject({ status: 502, headers: { 'x-should-retry': 'false' } })
      expect(made()).toBe(1)
      await expectNothingCharged(setup, own)
      await close()
    })
  },
)

describe.each([
  ['DashScope', DASHSCOPE],
  ['Bailian', BAILIAN],
])('voices by %s', (_label, type) => {
  test('is returned as a file and charged by the reported characters', async () => {
    const model = await aServed(SPEAKS, { type })
    const body = { model, input: '你好 you', voice: 'Cherry', language_type: 'Chinese', text: 'x' }
    const answer = await heard({ ...body, instructions: 'Whisper.' })
    const seen = setup.upstream.seen()
    expect(seen.map(({ url }) => url)).toEqual([GENERATION, '/dashscope-result/1.wav'])
    expect(seen[0]?.body).toEqual({
      model: SPEAKS,
      input: {
        text: '你好 you',
        voice: 'Cherry',
        language_type: 'Chinese',
        instructions: 'Whisper.',
      },
    })
    expect(answer.headers['content-type']).toBe('audio/wav')
    expect(answer.bytes()).toEqual(DASHSCOPE_SOUND)
    expect(await quotaOf(answer)).toBe(Math.ceil(8 * 5.714286))
  })

  test('CosyVoice has its own URL and format', async () => {
    const model = await aServed('cosyvoice-v3-flash', { type })
    const body = { model, input: 'hello', voice: 'longanyang', speed: 1.5, instructions: 'Softly.' }
    const answer = await heard(body)
    expect(sentTo(SYNTHESIS).map(({ body: sent }) => sent)).toEqual([
      {
        model: 'cosyvoice-v3-flash',
        input: {
          text: 'hello',
          voice: 'longanyang',
          format: 'mp3',
          rate: 1.5,
          instruction: 'Softly.',
        },
      },
    ])
    expect(answer.bytes()).toEqual(DASHSCOPE_SOUND)
    expect(await quotaOf(answer)).toBe(5)
  })
})

describe('speech', () => {
  test('counts characters as Alibaba does if usage is missing', async () => {
    const model = await aNativeModel(setup, { type: DASHSCOPE, model: 'cosyvoice-no-usage' })
    expect(await quotaOf(await heard({ model, input: '你好 you', voice: 'a' }))).toBe(8)
  })

  test('reserves the maximum cost during the request', async () => {
    const held = Promise.withResolvers<number>()
    const own = await aClient(setup)
    const scripted = await startScriptedUpstream((_request, response) => {
      heldPoints(setup, own.userId).then((points) => {
        held.resolve(points)
        response.end('{}')
      }, held.reject)
    })
    const model = await aServed(SPEAKS, { url: scripted.url })
    const answer = await post(setup, own, { model, input: '你好', voice: 'Cherry' }, SPEECH)
    expect(await held.promise).toBe(Math.ceil(4 * 5.714286))
    expect(answer.status).toBe(502)
    await expectNothingCharged(setup, own)
    await scripted.close()
  })

  test('does not fetch a file from another host', async () => {
    const { url, close } = await aMaker('http://169.254.169.254/a.wav')
    const own = await aClient(setup)
    const model = await aServed(SPEAKS, { url })
    const answer = await post(setup, own, { model, input: 'x', voice: 'Cherry' }, SPEECH)
    expect(answer.status).toBeGreaterThanOrEqual(500)
    await expectNothingCharged(setup, own)
    await close()
  })

  test.each([
    [SPEAKS, 'response_format', 'mp3'],
    [SPEAKS, 'speed', 2],
    ['cosyvoice-v3-flash', 'response_format', 'flac'],
  ])('%s: %s %j is refused by name', async (alibabas, name, value) => {
    const model = await aServed(alibabas)
    const body = { model, input: 'x', voice: 'Cherry', [name]: value }
    const answer = await post(setup, client, body, SPEECH)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(name)
    expect(setup.upstream.seen()).toEqual([])
  })

  test.each(['qwen3-tts-flash-realtime', 'sambert-zhiqi-v1'])(
    '%s is not called this way',
    async (alibabas) => {
      const model = await aServed(alibabas)
      const answer = await post(setup, client, { model, input: 'x', voice: 'a' }, SPEECH)
      expect(answer.status).toBe(501)
    },
  )
})

describe('transcription', () => {
  const WAV = Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1')
  const recording = () => toFile(WAV, 'said.wav', { type: 'audio/wav' })
  const audio = `data:audio/wav;base64,${WAV.toString('base64')}`
  const SAID = 'The answer is forty-two.'

  test.each([
    ['DashScope', DASHSCOPE],
    ['Bailian', BAILIAN],
  ])('are written down by %s, and charged by the length that is told', async (_label, type) => {
    const model = await aServed(HEARS, { type })
    const asking = { file: await recording(), model, prompt: 'Gatehouse', language: 'en' }
    const { data, response } = await sdk().audio.transcriptions.create(asking).withResponse()
    expect(data).toEqual({ text: SAID, usage: { type: 'duration', seconds: 3 } })
    expect(sentTo(GENERATION).map(({ body }) => body)).toEqual([
      {
        model: HEARS,
        input: {
          messages: [
            { role: 'system', content: [{ text: 'Gatehouse' }] },
            { role: 'user', content: [{ audio }] },
          ],
        },
        parameters: { asr_options: { language: 'en' } },
      },
    ])
    const headers = Object.fromEntries(response.headers)
    expect(await quotaOf({ headers })).toBe(Math.ceil((3 / 60) * 1000 * 1.05))
  })

  test('returns plain text or a stream on request', async () => {
    const model = await aServed(HEARS)
    const asking = { file: await recording(), model, temperature: 0 }
    const create = sdk().audio.transcriptions
    expect(await create.create({ ...asking, response_format: 'text' })).toBe(`${SAID}\n`)
    const events = []
    for await (const event of await create.create({ ...asking, stream: true })) events.push(event)
    expect(events).toMatchObject([{ type: 'transcript.text.done', text: SAID }])
  })

  test('uses the length of the recording if usage is missing', async () => {
    const model = await aServed('qwen3-asr-flash+no-usage')
    const asking = { file: await recording(), model }
    const { response } = await sdk().audio.transcriptions.create(asking).withResponse()
    const headers = Object.fromEntries(response.headers)
    expect(await quotaOf({ headers })).toBe(Math.ceil(1000 / 60))
  })

  test.each([
    ['response_format', 'srt'],
    ['temperature', 0.4],
    ['timestamp_granularities', ['word']],
  ])('%s %j is refused by name', async (name, value) => {
    const model = await aServed(HEARS)
    const asking = { file: await recording(), model, [name]: value }
    await expect(sdk().audio.transcriptions.create(asking)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(name),
    })
    expect(setup.upstream.seen()).toEqual([])
  })

  test.each(['paraformer-v2', 'qwen3-asr-flash-filetrans'])(
    '%s is not called this way',
    async (alibabas) => {
      const model = await aServed(alibabas)
      const asking = { file: await recording(), model }
      await expect(sdk().audio.transcriptions.create(asking)).rejects.toMatchObject({ status: 501 })
    },
  )
})

describe('image editing', () => {
  const PNG = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkQM9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  )
  const inline = `data:image/png;base64,${PNG.toString('base64')}`
  const elsewhere = 'https://example.com/b.png'

  test.each([
    ['DashScope', DASHSCOPE],
    ['Bailian', BAILIAN],
  ])('are changed by %s, sent as files or in JSON', async (_label, type) => {
    const model = await aServed('qwen-image-edit', { type })
    const image = await toFile(PNG, 'a.png')
    const { data, response } = await sdk()
      .images.edit({ model, image, prompt: 'hat on', size: '1024x1024' })
      .withResponse()
    expect(data.data?.[0]?.url).toContain('/dashscope-result/1.png')
    const headers = Object.fromEntries(response.headers)
    expect(await quotaOf({ headers })).toBe(0.0375 * 500_000)
    const images = [{ image_url: inline }, { image_url: elsewhere }]
    await post(setup, client, { model, prompt: 'hats on', images, watermark: false }, EDITS)
    const content = (...pictures: string[]) => pictures.map((picture) => ({ image: picture }))
    expect(sentTo(GENERATION).map(({ body }) => body)).toEqual([
      {
        model: 'qwen-image-edit',
        input: { messages: [{ role: 'user', content: [...content(inline), { text: 'hat on' }] }] },
        parameters: { n: 1, size: '1024*1024' },
      },
      {
        model: 'qwen-image-edit',
        input: {
          messages: [
            { role: 'user', content: [...content(inline, elsewhere), { text: 'hats on' }] },
          ],
        },
        parameters: { n: 1, watermark: false },
      },
    ])
  })

  test('sends numbers and booleans of a form typed, and texts as texts', async () => {
    const model = await aServed('qwen-image-edit-plus')
    const form = new FormData()
    const fields = { n: '2', seed: '7', watermark: 'False', prompt_extend: 'true', size: '' }
    for (const [name, text] of Object.entries({ model, prompt: '42', user: '1', ...fields })) {
      form.set(name, text)
    }
    form.set('image', new Blob([PNG]), 'a.png')
    const packed = new Response(form)
    const headers = { 'content-type': packed.headers.get('content-type') ?? '' }
    const body = Buffer.from(await packed.arrayBuffer())
    const answer = await post(setup, client, body, { ...EDITS, headers })
    expect(answer.status).toBe(200)
    expect(sentTo(GENERATION).map(({ body: sent }) => sent)).toEqual([
      {
        model: 'qwen-image-edit-plus',
        input: { messages: [{ role: 'user', content: [{ image: inline }, { text: '42' }] }] },
        parameters: { n: 2, seed: 7, watermark: false, prompt_extend: true },
      },
    ])
  })

  test('some models edit by a task', async () => {
    const model = await aServed('wan2.5-i2i-preview')
    const images = [{ image_url: inline }]
    const answer = await post(setup, client, { model, prompt: 'a hat', images, n: 2 }, EDITS)
    expect(answer.json).toMatchObject({ data: [{}, {}] })
    expect(sentTo('/api/v1/services/aigc/image2image/image-synthesis')).toMatchObject([
      {
        headers: { 'x-dashscope-async': 'enable' },
        body: { input: { prompt: 'a hat', images: [inline] }, parameters: { n: 2 } },
      },
    ])
    expect(await quotaOf(answer)).toBe(2000)
  })

  test('does not fail over a task whose state cannot be read', async () => {
    const told: string[] = []
    const scripted = await startScriptedUpstream(({ method = '', url = '' }, response) => {
      told.push(`${method} ${url.split('/').at(-1)}`)
      response.writeHead(method === 'GET' ? 429 : 200, { 'content-type': 'application/json' })
      response.end('{"output":{"task_id":"1","task_status":"PENDING"}}')
    })
    const model = await aServed('wanx2.1-t2i-turbo', { url: scripted.url })
    const mapping = JSON.stringify({ [model]: 'wanx2.1-t2i-turbo' })
    const other = { type: DASHSCOPE, base_url: scripted.url, model_mapping: mapping }
    await aRoute(setup, model, { ...other, priority: -1 })
    const path = '/v1/images/generations'
    const answer = await post(setup, client, { model, prompt: 'x' }, { path })
    expect(answer).toMatchObject({ status: 502, headers: { 'x-should-retry': 'false' } })
    const asked = ['GET 1', 'GET 1', 'GET 1', 'POST cancel']
    await eventually(() => told.length > asked.length, 'the cancelling')
    expect(told).toEqual(['POST image-synthesis', ...asked])
    await scripted.close()
  })

  test.each([
    ['mask', { image_url: inline }],
    ['input_fidelity', 'high'],
    ['output_format', 'webp'],
    ['background', 'transparent'],
  ])('%s is refused by name', async (name, value) => {
    const model = await aServed('qwen-image-edit')
    const asked = { model, prompt: 'x', images: [{ image_url: inline }], [name]: value }
    const answer = await post(setup, client, asked, EDITS)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(name)
    expect(setup.upstream.seen()).toEqual([])
  })

  test('models that only generate images reject editing', async () => {
    const model = await aServed('wanx2.1-t2i-turbo')
    const asked = { model, prompt: 'x', images: [{ image_url: inline }] }
    expect((await post(setup, client, asked, EDITS)).status).toBe(501)
  })
})
