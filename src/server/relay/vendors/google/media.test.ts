import type { ServerResponse } from 'node:http'
import Client, { toFile } from 'openai'
import { describe, expect, test } from 'vitest'
import { SAMPLES } from '../../../../../tools/fake-upstream/dialects/gemini-media.ts'
import { nativeChannels } from '../../../test/native-channels.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  expectNothingCharged,
  heldPoints,
  openCall,
  post,
  requestIdOf,
  startScriptedUpstream,
  stream,
  type OpenAnswer,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay, useRelaySetup } from '../../../test/use-relay.ts'

/** Pictures and voices of Google's models, for OpenAI's clients. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now))

const PICTURES = { path: '/v1/images/generations' }
const EDITS = { path: '/v1/images/edits' }
const SPEECH = { path: '/v1/audio/speech' }
const DRAWS = 'gemini-2.5-flash-image'
const SPEAKS = 'gemini-2.5-flash-preview-tts'
const GEMINI = 24
const VERTEX = 42

/** Our name for one of Google's models; the price is Google's. */
async function aServed(type: number, googles: string, url = setup.upstream.url): Promise<string> {
  const model = aModel()
  const key = nativeChannels.find((native) => native.type === type)?.key(setup.upstream.url)
  await aRoute(setup, model, {
    type,
    base_url: url,
    model_mapping: JSON.stringify({ [model]: googles }),
    ...(key === undefined ? {} : { key }),
  })
  return model
}

const lastCall = () => setup.upstream.seen().at(-1)
const asked = () => setup.upstream.seen().filter(({ url }) => url.includes('/models/'))
const quotaOf = async (answer: Parameters<typeof requestIdOf>[0]) =>
  (await bookedCall(setup, requestIdOf(answer))).quota

const dataIn = (text: string): unknown[] =>
  [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']): unknown => JSON.parse(data))

/** The whole answer to a text that is to be read. */
async function heard(body: object): Promise<OpenAnswer> {
  const answer = await openCall(setup, client, body, SPEECH)
  await answer.ended
  return answer
}

/** Points of so many dollars for a million tokens, which a quota of 500,000 for a dollar halves. */
const points = (tokens: number, dollars: number): number => (tokens * dollars) / 2

const promptPoints = points(11, 0.3)
const picturePoints = points(1290, 30)

describe.each([
  ['the Gemini API', GEMINI],
  ['Vertex', VERTEX],
])('pictures by %s', (_label, type) => {
  test('are drawn by talking, and charged by the tokens that are told', async () => {
    const model = await aServed(type, DRAWS)
    const body = { model, prompt: 'a cat', size: '1536x1024', quality: 'auto', user: 'me' }
    const answer = await post(setup, client, body, PICTURES)
    expect(lastCall()).toMatchObject({
      url: expect.stringMatching(new RegExp(`/models/${DRAWS}:generateContent$`)),
      body: {
        contents: [{ role: 'user', parts: [{ text: 'a cat' }] }],
        generationConfig: {
          responseModalities: ['IMAGE'],
          imageConfig: { aspectRatio: '3:2' },
        },
      },
    })
    expect(answer.json).toMatchObject({
      data: [{ b64_json: expect.stringMatching(/^iVBOR/) }],
      usage: {
        input_tokens: 11,
        output_tokens: 1290,
        output_tokens_details: { image_tokens: 1290, text_tokens: 0 },
        total_tokens: 1301,
      },
    })
    expect(await quotaOf(answer)).toBe(Math.ceil(promptPoints + picturePoints))
  })

  test('several take as many calls, and cost as much', async () => {
    const model = await aServed(type, DRAWS)
    const body = { model, prompt: 'a cat', n: 3, response_format: 'url' }
    const answer = await post(setup, client, body, PICTURES)
    expect(asked()).toHaveLength(3)
    const url = expect.stringMatching(/^data:image\/png;base64,iVBOR/)
    expect(answer.json).toMatchObject({ data: [{ url }, { url }, { url }] })
    expect(await quotaOf(answer)).toBe(Math.ceil(3 * (promptPoints + picturePoints)))
  })

  test('Imagen draws by its own method, by the piece', async () => {
    const model = await aServed(type, 'imagen-4.0-fast-generate-001')
    const body = { model, prompt: 'a cat', n: 2, size: '1024x1024' }
    const answer = await post(setup, client, body, PICTURES)
    expect(lastCall()).toMatchObject({
      url: expect.stringMatching(/\/models\/imagen-4\.0-fast-generate-001:predict$/),
      body: { parameters: { sampleCount: 2, aspectRatio: '1:1' } },
    })
    expect(answer.json).toMatchObject({ data: [{}, {}] })
    expect(await quotaOf(answer)).toBe(2 * 0.02 * 500_000)
    expect((await post(setup, client, body, EDITS)).status).toBe(501)
  })
})

describe('pictures', () => {
  const sdk = () => new Client({ apiKey: client.key, baseURL: `${setup.url}/v1`, maxRetries: 0 })
  const PNG = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkQM9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  )

  test('are changed, sent as files or in JSON', async () => {
    const model = await aServed(GEMINI, DRAWS)
    const image = [await toFile(PNG, 'a.png'), await toFile(PNG, 'b.png')]
    const { data } = await sdk().images.edit({ model, image, prompt: 'hats on', n: 1 })
    expect(data?.map(({ b64_json: bytes }) => bytes?.slice(0, 5))).toEqual(['iVBOR'])
    const inlineData = { mimeType: 'image/png', data: PNG.toString('base64') }
    const contents = [
      { role: 'user', parts: [{ text: 'hats on' }, { inlineData }, { inlineData }] },
    ]
    expect(lastCall()).toMatchObject({
      headers: { 'content-type': 'application/json' },
      body: { contents },
    })
    const picture = { image_url: `data:image/png;base64,${inlineData.data}` }
    const body = { model, prompt: 'hats on', images: [picture, picture] }
    expect((await post(setup, client, body, EDITS)).status).toBe(200)
    expect(lastCall()?.body).toMatchObject({ contents })
  })

  test('are streamed where a stream is asked for', async () => {
    const model = await aServed(GEMINI, DRAWS)
    const { text } = await stream(setup, client, { model, prompt: 'a cat' }, PICTURES)
    const [event] = dataIn(text())
    expect(event).toMatchObject({
      type: 'image_generation.completed',
      b64_json: expect.stringMatching(/^iVBOR/),
      usage: { output_tokens: 1290 },
    })
  })

  test.each([
    ['gemini-3-pro-image', '2048x2048', { aspectRatio: '1:1', imageSize: '2K' }],
    ['gemini-3.1-flash-image', '3840x2160', { aspectRatio: '16:9', imageSize: '2K' }],
    ['gemini-3.1-flash-image', '5504x3072', { aspectRatio: '16:9', imageSize: '4K' }],
    ['gemini-3-pro-image', '1792x1024', { aspectRatio: '16:9' }],
  ])('%s draws %s', async (googles, size, imageConfig) => {
    const model = await aServed(GEMINI, googles)
    await post(setup, client, { model, prompt: 'a cat', size }, PICTURES)
    expect(lastCall()?.body).toMatchObject({ generationConfig: { imageConfig } })
  })

  test('an older model says something, too', async () => {
    const model = await aServed(GEMINI, 'gemini-2.0-flash-image')
    await post(setup, client, { model, prompt: 'a cat' }, PICTURES)
    const responseModalities = ['TEXT', 'IMAGE']
    expect(lastCall()?.body).toMatchObject({ generationConfig: { responseModalities } })
  })

  test.each([
    ['size', '100x900'],
    ['size', '2048x2048'],
    ['size', 7],
    ['quality', 'hd'],
    ['style', 'natural'],
    ['background', 'transparent'],
    ['output_format', 'webp'],
    ['mask', { image_url: 'data:image/png;base64,AA==' }],
    ['images', [{ image_url: 'https://pictures.example/a.png' }]],
    ['tools', [{ google_search: {} }]],
  ])('%s %j is refused by name', async (name, value) => {
    const model = await aServed(GEMINI, DRAWS)
    const answer = await post(setup, client, { model, prompt: 'x', [name]: value }, PICTURES)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(name)
    expect(asked()).toEqual([])
  })

  test('a file that is no picture is refused', async () => {
    const model = await aServed(GEMINI, DRAWS)
    const image = await toFile(Buffer.from('%PDF-1.7'), 'a.pdf')
    await expect(sdk().images.edit({ model, image, prompt: 'x' })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('image'),
    })
  })

  test('why none was drawn is told, for nothing', async () => {
    const model = await aServed(GEMINI, `${DRAWS}+filtered`)
    const answer = await post(setup, client, { model, prompt: 'a cat' }, PICTURES)
    expect(answer.status).toBe(400)
    expect(answer.json).toMatchObject({
      error: { message: expect.stringMatching(/Unable to show/), code: 'content_filter' },
    })
    await expectNothingCharged(setup, client)
  })

  test('what a model cannot draw is its upstream’s to say', async () => {
    const model = await aServed(GEMINI, 'gemini-2.0-flash')
    const answer = await post(setup, client, { model, prompt: 'a cat' }, PICTURES)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain('modalities')
    await expectNothingCharged(setup, client)
  })

  test('count by the list where nobody says what they took', async () => {
    const model = await aServed(GEMINI, DRAWS, `${setup.upstream.url}/~no-usage`)
    const answer = await post(setup, client, { model, prompt: 'a cat', n: 2 }, PICTURES)
    expect(await quotaOf(answer)).toBe(Math.ceil(2 * picturePoints))
  })

  test.each<[object, number]>([
    [{ imageSize: '4K' }, 2520],
    [{ image_size: '4K' }, 2520],
    [{ imageSize: '1K', image_size: '4K' }, 2520],
    [{ imageSize: '8K' }, 2520],
    [{ imageSize: '2K', image_size: null }, 1680],
    [{ aspectRatio: '1:1' }, 1120],
  ])('of a size in Gemini’s own words count as such: %j', async (imageConfig, tokens) => {
    const model = await aServed(GEMINI, 'gemini-3-pro-image', `${setup.upstream.url}/~no-usage`)
    const answer = await post(setup, client, { model, prompt: 'a cat', imageConfig }, PICTURES)
    expect(await quotaOf(answer)).toBe(Math.ceil(points(tokens, 120)))
  })

  test('are held for by what they count', async () => {
    const model = await aServed(GEMINI, DRAWS)
    const poor = await aClient(setup, { quota: Math.floor(2 * picturePoints) })
    const answer = await post(setup, poor, { model, prompt: 'a cat', n: 2 }, PICTURES)
    expect(answer).toMatchObject({ status: 403 })
    expect(await heldPoints(setup, poor.userId)).toBe(0)
  })

  test.each<[string, (response: ServerResponse) => void]>([
    ['a refusal', (response) => response.writeHead(429).end('{"error":{"code":429}}')],
    ['a broken connection', (response) => response.destroy()],
  ])('those that came before %s are given, and charged', async (_label, fail) => {
    let calls = 0
    const scripted = await startScriptedUpstream((_request, response) => {
      calls += 1
      if (calls === 3) {
        fail(response)
        return
      }
      response.setHeader('content-type', 'application/json')
      const parts = [{ inlineData: { mimeType: 'image/png', data: 'AA==' } }]
      const usageMetadata = { promptTokenCount: 11, candidatesTokenCount: 1290 }
      response.end(JSON.stringify({ candidates: [{ content: { parts } }], usageMetadata }))
    })
    const model = await aServed(GEMINI, DRAWS, scripted.url)
    const answer = await post(setup, client, { model, prompt: 'a cat', n: 5 }, PICTURES)
    expect(answer.json).toMatchObject({ data: [{ b64_json: 'AA==' }, { b64_json: 'AA==' }] })
    expect(await quotaOf(answer)).toBe(Math.ceil(2 * (promptPoints + picturePoints)))
    expect(calls).toBe(3)
    await scripted.close()
  })
})

describe.each([
  ['the Gemini API', GEMINI],
  ['Vertex', VERTEX],
])('voices of %s', (_label, type) => {
  const said = points(50, 10)
  const read = points(11, 0.5)

  test('read aloud into a file, and are charged by the tokens that are told', async () => {
    const model = await aServed(type, SPEAKS)
    const body = { model, input: 'Hello.', voice: 'Kore', instructions: 'Whisper.' }
    const answer = await heard(body)
    expect(lastCall()).toMatchObject({
      url: expect.stringMatching(new RegExp(`/models/${SPEAKS}:generateContent$`)),
      body: {
        contents: [{ role: 'user', parts: [{ text: 'Whisper.\n\nHello.' }] }],
        generationConfig: {
          responseModalities: ['AUDIO'],
          speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
        },
      },
    })
    expect(answer.headers['content-type']).toBe('audio/wav')
    const file = answer.bytes()
    expect(file.subarray(0, 16).toString('latin1')).toBe('RIFF\x2c\0\0\0WAVEfmt ')
    expect(file.readUInt32LE(24)).toBe(24_000)
    expect(file.subarray(44)).toEqual(SAMPLES)
    expect(await quotaOf(answer)).toBe(Math.ceil(said + read))
  })

  test('give bare samples to whoever asks for them', async () => {
    const model = await aServed(type, SPEAKS)
    const body = { model, input: 'Hello.', voice: 'Kore', response_format: 'pcm' }
    const answer = await heard(body)
    expect(answer.headers['content-type']).toBe('audio/pcm')
    expect(answer.bytes()).toEqual(SAMPLES)
  })
})

describe('voices', () => {
  test('are streamed where a stream is asked for, with what they took', async () => {
    const model = await aServed(GEMINI, SPEAKS)
    const body = { model, input: 'Hello.', voice: 'Kore', response_format: 'pcm' }
    const answer = await heard({ ...body, stream_format: 'sse' })
    const events = dataIn(answer.text())
    expect(events).toEqual([
      { type: 'speech.audio.delta', audio: SAMPLES.toString('base64') },
      {
        type: 'speech.audio.done',
        usage: { input_tokens: 11, output_tokens: 50, total_tokens: 61 },
      },
    ])
    expect(await quotaOf(answer)).toBe(Math.ceil(points(50, 10) + points(11, 0.5)))
  })

  test.each([
    ['response_format', 'mp3'],
    ['speed', 2],
    ['tools', []],
  ])('%s %j is refused by name', async (name, value) => {
    const model = await aServed(GEMINI, SPEAKS)
    const answer = await post(setup, client, { model, input: 'x', [name]: value }, SPEECH)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain(name)
    expect(asked()).toEqual([])
  })

  test.each([
    ['audio/mpeg\r\nX-Own: 1', 200, 'audio/mpeg'],
    ['audio/ogg; codecs=“opus”', 200, 'audio/ogg'],
    ['text/html', 400, 'application/json; charset=utf-8'],
  ])('sound that is said to be %j is answered with %i', async (mimeType, status, told) => {
    const scripted = await startScriptedUpstream((_request, response) => {
      response.setHeader('content-type', 'application/json')
      const parts = [{ inlineData: { mimeType, data: SAMPLES.toString('base64') } }]
      response.end(JSON.stringify({ candidates: [{ content: { parts } }] }))
    })
    const answer = await heard({ model: await aServed(GEMINI, SPEAKS, scripted.url), input: 'x' })
    expect(answer).toMatchObject({ status, headers: { 'content-type': told } })
    expect(answer.headers['x-own']).toBeUndefined()
    await scripted.close()
  })

  test('a voice that it does not have is its upstream’s to refuse', async () => {
    const model = await aServed(GEMINI, SPEAKS)
    const answer = await post(setup, client, { model, input: 'x', voice: 'alloy' }, SPEECH)
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.json)).toContain('alloy')
    await expectNothingCharged(setup, client)
  })
})

describe('recordings', () => {
  const sdk = () => new Client({ apiKey: client.key, baseURL: `${setup.url}/v1`, maxRetries: 0 })
  const HEARS = 'gemini-2.5-flash'
  const WAV = Buffer.from('RIFF\x24\0\0\0WAVEfmt ', 'latin1')
  const recording = () => toFile(WAV, 'said.wav', { type: 'audio/wav' })

  test.each([
    ['the Gemini API', GEMINI],
    ['Vertex', VERTEX],
  ])('are written down by %s, and charged by the tokens that are told', async (_label, type) => {
    const model = await aServed(type, HEARS)
    const file = await recording()
    const asking = { file, model, prompt: 'Gatehouse', language: 'en', temperature: 0 }
    const { data, response } = await sdk().audio.transcriptions.create(asking).withResponse()
    const { text, usage } = data
    expect(text).toBe('The answer is forty-two.')
    const inlineData = { mimeType: 'audio/wav', data: WAV.toString('base64') }
    const words = expect.stringMatching(/word for word.*language[^]*is en\.[^]*: Gatehouse$/)
    expect(lastCall()).toMatchObject({
      url: expect.stringMatching(new RegExp(`/models/${HEARS}:generateContent$`)),
      headers: { 'content-type': 'application/json' },
      body: {
        contents: [{ role: 'user', parts: [{ text: words }, { inlineData }] }],
        generationConfig: { temperature: 0 },
      },
    })
    expect(usage).toMatchObject({ input_tokens: 11, input_token_details: { audio_tokens: 11 } })
    const written = usage?.type === 'tokens' ? usage.output_tokens : 0
    const headers = Object.fromEntries(response.headers)
    expect(await quotaOf({ headers })).toBe(Math.ceil(points(11, 1) + points(written, 2.5)))
  })

  test('are translated', async () => {
    const model = await aServed(GEMINI, HEARS)
    const { text } = await sdk().audio.translations.create({ file: await recording(), model })
    expect(text).toBe('The answer is forty-two.')
    expect(JSON.stringify(lastCall()?.body)).toContain('into English')
  })

  test('are plain text for whoever asks for it, charged alike', async () => {
    const model = await aServed(GEMINI, HEARS)
    const asking = { file: await recording(), model, response_format: 'text' as const }
    const { data, response } = await sdk().audio.transcriptions.create(asking).withResponse()
    expect(data).toBe('The answer is forty-two.\n')
    const headers = Object.fromEntries(response.headers)
    const { detail } = await bookedCall(setup, requestIdOf({ headers }))
    expect(detail['usage_source']).toBe('upstream')
  })

  test('are streamed where a stream is asked for', async () => {
    const model = await aServed(GEMINI, HEARS)
    const asking = { file: await recording(), model, stream: true as const }
    const events = []
    for await (const event of await sdk().audio.transcriptions.create(asking)) events.push(event)
    expect(events).toMatchObject([
      {
        type: 'transcript.text.done',
        text: 'The answer is forty-two.',
        usage: { input_tokens: 11 },
      },
    ])
  })

  test.each([
    ['response_format', 'srt'],
    ['response_format', 'verbose_json'],
    ['timestamp_granularities', ['word']],
  ])('%s %j is refused by name', async (name, value) => {
    const model = await aServed(GEMINI, HEARS)
    const asking = { file: await recording(), model, [name]: value }
    await expect(sdk().audio.transcriptions.create(asking)).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining(name),
    })
    expect(asked()).toEqual([])
  })

  test('a file that is no recording is refused', async () => {
    const model = await aServed(GEMINI, HEARS)
    const file = await toFile(Buffer.from('%PDF-1.7'), 'a.pdf')
    await expect(sdk().audio.transcriptions.create({ file, model })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('file'),
    })
  })

  test('one without a word is an empty text', async () => {
    const scripted = await startScriptedUpstream((_request, response) => {
      response.setHeader('content-type', 'application/json')
      const candidates = [{ content: { role: 'model' }, finishReason: 'STOP' }]
      response.end(JSON.stringify({ candidates, usageMetadata: { promptTokenCount: 258 } }))
    })
    const model = await aServed(GEMINI, HEARS, scripted.url)
    const { text } = await sdk().audio.transcriptions.create({ file: await recording(), model })
    expect(text).toBe('')
    await scripted.close()
  })
})

describe('pictures of a call', () => {
  let hurried: RelaySetup
  useRelaySetup((started) => (hurried = started), {
    settings: { RELAY_WHOLE_ANSWER_TIMEOUT: '1' },
  })

  test('may take as long together as a whole answer', async () => {
    let calls = 0
    const scripted = await startScriptedUpstream((_request, response) => {
      calls += 1
      response.setHeader('content-type', 'application/json')
      const parts = [{ inlineData: { mimeType: 'image/png', data: 'AA==' } }]
      const answer = JSON.stringify({ candidates: [{ content: { parts } }] })
      setTimeout(() => response.end(answer), 600)
    })
    const model = aModel()
    const mapping = JSON.stringify({ [model]: DRAWS })
    await aRoute(hurried, model, { type: GEMINI, base_url: scripted.url, model_mapping: mapping })
    const body = { model, prompt: 'a cat', n: 5 }
    expect((await post(hurried, await aClient(hurried), body, PICTURES)).status).toBe(200)
    expect(calls).toBe(2)
    await scripted.close()
  })
})

describe('a stream that is made of a whole answer', () => {
  let hurried: RelaySetup
  useRelaySetup((started) => (hurried = started), {
    settings: { RELAY_FIRST_BYTE_TIMEOUT: '1', RELAY_WHOLE_ANSWER_TIMEOUT: '9' },
  })

  test('may take as long as that', async () => {
    const scripted = await startScriptedUpstream((_request, response) => {
      response.setHeader('content-type', 'application/json')
      const data = SAMPLES.toString('base64')
      const parts = [{ inlineData: { mimeType: 'audio/L16;rate=24000', data } }]
      setTimeout(() => response.end(JSON.stringify({ candidates: [{ content: { parts } }] })), 2600)
    })
    const model = aModel()
    const mapping = JSON.stringify({ [model]: SPEAKS })
    await aRoute(hurried, model, { type: GEMINI, base_url: scripted.url, model_mapping: mapping })
    const body = { model, input: 'Hello.', response_format: 'pcm', stream_format: 'sse' }
    const answer = await openCall(hurried, await aClient(hurried), body, SPEECH)
    await answer.ended
    expect(dataIn(answer.text())).toMatchObject([{ audio: SAMPLES.toString('base64') }, {}])
    await scripted.close()
  })
})
