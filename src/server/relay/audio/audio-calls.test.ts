import type { ServerResponse } from 'node:http'
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
  expectAllWell,
  expectNothingCharged,
  expectRefusal,
  heldPoints,
  openCall,
  post,
  requestIdOf,
  startRelay,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

const SPEECH = '/v1/audio/speech'
const TRANSCRIPTIONS = '/v1/audio/transcriptions'

/** 16-bit mono at 8 kHz. */
function wav(seconds: number): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8000, 24)
  head.writeUInt32LE(16_000, 28)
  head.writeUInt16LE(16, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(seconds * 16_000, 40)
  return Buffer.concat([head, Buffer.alloc(seconds * 16_000)])
}

function formOf(fields: Record<string, string>, audio = wav(61)): { body: Buffer; type: string } {
  const texts = Object.entries(fields).map(
    ([name, value]) =>
      `--b0undary\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  )
  const head =
    '--b0undary\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n' +
    'Content-Type: audio/wav\r\n\r\n'
  return {
    body: Buffer.concat([
      Buffer.from(texts.join('') + head),
      audio,
      Buffer.from('\r\n--b0undary--\r\n'),
    ]),
    type: 'multipart/form-data; boundary=b0undary',
  }
}

onSqlite('speech', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })

  async function transcribe(
    fields: Record<string, string>,
    input: { path?: string; own?: RelayClient } = {},
  ) {
    const { body, type } = formOf(fields)
    const answer = await openCall(setup, input.own ?? client, body, {
      path: input.path ?? TRANSCRIPTIONS,
      headers: { 'content-type': type },
    })
    await answer.ended
    return answer
  }

  test('is charged per character, not per byte', async () => {
    await aRoute(setup, 'tts-1')
    const answer = await post(
      setup,
      client,
      { model: 'tts-1', input: '四十二 🎉', voice: 'a' },
      { path: SPEECH },
    )
    expect(answer.headers['content-type']).toBe('audio/mpeg')
    const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
    expect(quota).toBe(Math.ceil(5 * 7.5))
    expect(detail).toMatchObject({ prompt_tokens: 5, completion_tokens: 0 })
  })

  test('a text that is too long for the model is rejected', async () => {
    await aRoute(setup, 'tts-1')
    const own = await aClient(setup)
    const speak = (input: string) =>
      post(setup, own, { model: 'tts-1', input, voice: 'a' }, { path: SPEECH })
    const refused = await speak('长'.repeat(4097))
    expectRefusal(refused, {
      code: 'spoken_text_too_long',
      wireCode: 'text_too_long',
      status: 400,
      params: { model: 'tts-1', max: 4096 },
    })
    await expectNothingCharged(setup, own)
    expect((await speak('长'.repeat(4096))).status).toBe(200)
  })

  test('an input that is not a text is rejected with OpenAI’s error', async () => {
    const model = await aServedModel(setup)
    const answer = await post(setup, client, { model, input: ['x'] }, { path: SPEECH })
    expectRefusal(answer, {
      code: 'spoken_field_invalid',
      wireCode: 'invalid_json',
      status: 400,
      params: { field: 'input' },
    })
  })

  describe('streamed audio:', () => {
    const SPOKEN = { input: 'hello, you', voice: 'a' }
    const PIECE = Buffer.alloc(64 * 1024, 7)
    const speak = (own: RelayClient, model: string, isPaused = false) =>
      openCall(setup, own, { model, ...SPOKEN }, { path: SPEECH, isPaused })

    /** An upstream whose audio a test writes. */
    async function aRecorder() {
      const opened = Promise.withResolvers<ServerResponse>()
      const upstream = await startScriptedUpstream((_request, response) => {
        response.writeHead(200, { 'content-type': 'audio/mpeg' })
        opened.resolve(response)
      })
      const model = aModel()
      await aRoute(setup, model, { base_url: upstream.url })
      return { model, opened: opened.promise, close: () => upstream.close() }
    }

    test('sends the first bytes before the last are generated, and the last byte after settlement', async () => {
      const own = await aClient(setup)
      const { model, opened, close } = await aRecorder()
      const speaking = speak(own, model)
      const upstream = await opened
      upstream.write(PIECE)
      const answer = await speaking
      await eventually(() => answer.bytes().length === PIECE.length - 1, 'the first sound')
      expect(answer.headers).toMatchObject({ 'content-type': 'audio/mpeg' })
      expect(answer.headers['x-gatehouse-quota']).toBe('10')
      expect(await heldPoints(setup, own.userId)).toBe(10)
      upstream.end(Buffer.from('end'))
      expect(await answer.ended).toBe('complete')
      expect(answer.bytes()).toEqual(Buffer.concat([PIECE, Buffer.from('end')]))
      expect(await heldPoints(setup, own.userId)).toBe(0)
      expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(10)
      await close()
    })

    test('is read no faster than its client reads', async () => {
      const { model, opened, close } = await aRecorder()
      const speaking = speak(client, model, true)
      const upstream = await opened
      let isFull = false
      let written = 0
      // Twice what sockets on the way can hold.
      while (!isFull && written < 64 * 2 ** 20) {
        written += PIECE.length
        isFull = !upstream.write(PIECE) && !(await drained(upstream))
      }
      expect(isFull).toBe(true)
      const answer = await speaking
      upstream.end()
      answer.response.resume()
      expect(await answer.ended).toBe('complete')
      await close()
    })

    const drained = (response: ServerResponse): Promise<boolean> =>
      Promise.race([
        new Promise<boolean>((resolve) => response.once('drain', () => resolve(true))),
        new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 300)),
      ])

    test('a client that leaves ends the upstream request and pays for the text', async () => {
      const { model, opened, close } = await aRecorder()
      const speaking = speak(client, model)
      const upstream = await opened
      upstream.write(PIECE)
      const answer = await speaking
      const stopped = new Promise((resolve) => upstream.once('close', resolve))
      answer.leave()
      await stopped
      expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(10)
      await close()
    })

    test('one that breaks is charged, and its client cannot take it for complete', async () => {
      const { model, opened, close } = await aRecorder()
      const speaking = speak(client, model)
      const upstream = await opened
      upstream.write(PIECE)
      const answer = await speaking
      await eventually(() => answer.bytes().length > 0, 'the first sound')
      upstream.destroy()
      expect(await answer.ended).toBe('broken')
      const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
      expect({ quota, source: detail.usage_source }).toEqual({ quota: 10, source: 'estimated' })
      await close()
    })

    test.each(['fail-cut', 'cut-after-0', 'fail-empty', 'error-200', 'html-200', 'fail-500'])(
      'what is none leads to another channel: %s',
      async (words) => {
        const model = aModel()
        await aRoute(setup, model, { words, priority: 9 })
        await aRoute(setup, model)
        const answer = await speak(client, model)
        expect(await answer.ended).toBe('complete')
        expect(answer.bytes().length).toBe(256)
        expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(10)
      },
    )

    test.each(['{"status":"queued","id":"x"}', '\n {"error":{"message":"Went wrong"}}'])(
      'words in its place lead to another channel, for nothing: %j',
      async (words) => {
        const upstream = await startScriptedUpstream((_request, response) => {
          response.writeHead(200, { 'content-type': 'application/json' })
          response.end(words)
        })
        const own = await aClient(setup)
        const model = aModel()
        await aRoute(setup, model, { base_url: upstream.url, priority: 9 })
        const refused = await speak(own, model)
        expect(refused.status).toBeGreaterThanOrEqual(400)
        await refused.ended
        await expectNothingCharged(setup, own)
        await aRoute(setup, model)
        const answer = await speak(own, model)
        expect(await answer.ended).toBe('complete')
        expect(answer.bytes().length).toBe(256)
        await upstream.close()
      },
    )
  })

  test('is estimated from the text, or counted in a stream, for models priced by the token', async () => {
    await aRoute(setup, 'gpt-4o-mini-tts')
    const body = { model: 'gpt-4o-mini-tts', input: 'hello, you there', voice: 'a' }
    const whole = await post(setup, client, body, { path: SPEECH })
    const booked = await bookedCall(setup, requestIdOf(whole))
    expect(booked.detail).toMatchObject({ usage_source: 'estimated', completion_tokens: 24 })
    const events = await openCall(
      setup,
      client,
      { ...body, stream_format: 'sse' },
      { path: SPEECH },
    )
    expect(await events.ended).toBe('complete')
    expect(events.text()).toContain('speech.audio.done')
    const streamed = await bookedCall(setup, requestIdOf(events))
    expect(streamed.detail).toMatchObject({
      usage_source: 'upstream',
      prompt_tokens: 9,
      completion_tokens: 40,
    })
  })

  test('counts the instructions, too', async () => {
    await aRoute(setup, 'gpt-4o-mini-tts')
    const body = { model: 'gpt-4o-mini-tts', input: 'hello, you there', voice: 'a' }
    const promptOf = async (instructions: unknown) => {
      const answer = await post(setup, client, { ...body, instructions }, { path: SPEECH })
      return (await bookedCall(setup, requestIdOf(answer))).detail['prompt_tokens']
    }
    expect(await promptOf(null)).toBe(6)
    expect(await promptOf('Speak slowly. '.repeat(200))).toBe(1070)
    const wrong = await post(setup, client, { ...body, instructions: ['x'] }, { path: SPEECH })
    expectRefusal(wrong, {
      code: 'spoken_field_invalid',
      wireCode: 'invalid_json',
      status: 400,
      params: { field: 'instructions' },
    })
  })

  test('B18: a transcript is charged by the length of its recording, at the model’s ratio', async () => {
    await aRoute(setup, 'whisper-1')
    const { quota, detail } = await bookedCall(
      setup,
      requestIdOf(await transcribe({ model: 'whisper-1' })),
    )
    expect(quota).toBe(Math.ceil((61 * 3000) / 60))
    expect(detail.lines).toEqual([{ kind: 'second', count: 61, ratios: ['3', '1000'], per: 60 }])
    // The requested model has the price; whisper is only the default.
    const other = await aServedModel(setup)
    expect((await bookedCall(setup, requestIdOf(await transcribe({ model: other })))).quota).toBe(
      1017,
    )
    expect((await bookedCall(setup, requestIdOf(await transcribe({})))).log.model_name).toBe(
      'whisper-1',
    )
  })

  test.each([
    ['json', 3050],
    ['text', 3050],
    ['srt', 3050],
    ['vtt', 3050],
    // The upstream reports 1.5 seconds.
    ['verbose_json', 100],
  ])('a transcript as %s', async (format, quota) => {
    await aRoute(setup, 'whisper-1')
    const answer = await transcribe({ model: 'whisper-1', response_format: format })
    expect(answer.text()).toContain('forty-two')
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(quota)
  })

  test('tokens beside the length of a model that is sold by the second cost nothing', async () => {
    const model = 'voxtral-mini-transcribe-2602'
    const counts = { prompt_tokens: 4, completion_tokens: 635, total_tokens: 3264 }
    const usage = { prompt_audio_seconds: 203, ...counts }
    const events = [
      { type: 'transcription.text.delta', text: 'forty-two' },
      { type: 'transcription.done', text: 'forty-two', usage },
    ]
    const upstream = await startScriptedUpstream((request, response) => {
      const isStream = String(request.headers.accept).includes('event-stream')
      response.setHeader('content-type', isStream ? 'text/event-stream' : 'application/json')
      const parts = events.map((event) => `data: ${JSON.stringify(event)}\n\n`)
      response.end(isStream ? parts.join('') : JSON.stringify({ text: 'forty-two', usage }))
    })
    await aRoute(setup, model, { type: 28, base_url: upstream.url })
    for (const isStream of ['false', 'true']) {
      const answer = await transcribe({ model, stream: isStream })
      const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
      expect({ quota, source: detail.usage_source }).toEqual({ quota: 5075, source: 'upstream' })
    }
    await upstream.close()
  })

  test('of models priced by the token costs the reported tokens', async () => {
    await aRoute(setup, 'gpt-4o-transcribe')
    const expected = Math.ceil(14 * 1.25 * 2.4 + 3 * 1.25 * 4)
    const whole = await transcribe({ model: 'gpt-4o-transcribe' })
    expect((await bookedCall(setup, requestIdOf(whole))).quota).toBe(expected)
    const streamed = await transcribe({ model: 'gpt-4o-transcribe', stream: 'true' })
    expect(streamed.text()).toContain('transcript.text.done')
    expect((await bookedCall(setup, requestIdOf(streamed))).quota).toBe(expected)
  })

  test('is estimated from its length if usage is missing', async () => {
    await aRoute(setup, 'gpt-4o-mini-transcribe', { words: 'no-usage' })
    const answer = await transcribe({ model: 'gpt-4o-mini-transcribe' })
    const { detail } = await bookedCall(setup, requestIdOf(answer))
    expect(detail).toMatchObject({ usage_source: 'estimated', prompt_tokens: 610 })
  })

  test('or from its reported length, never charged by the second', async () => {
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('{"text":"forty-two","usage":{"type":"duration","seconds":60}}')
    })
    const model = 'gpt-4o-mini-transcribe-2025-12-15'
    await aRoute(setup, model, { base_url: upstream.url })
    const { detail } = await bookedCall(setup, requestIdOf(await transcribe({ model })))
    expect(detail).toMatchObject({ prompt_tokens: 600, completion_tokens: 300 })
    await upstream.close()
  })

  // The price of the model that is sent applies: the alias does not determine the pricing unit.
  test.each([
    ['gpt-4o-mini-tts', 'voice', SPEECH],
    ['tts-1', 'gpt-voice', SPEECH],
    ['gpt-4o-transcribe', 'ear', TRANSCRIPTIONS],
    ['whisper-1', 'gpt-transcribe', TRANSCRIPTIONS],
  ])('%s costs the same under another name, %s', async (model, word, path) => {
    const alias = `${word}-${aModel()}`
    await aRoute(setup, model, { words: 'no-usage', priority: 9 })
    await aRoute(setup, alias, {
      words: 'no-usage',
      model_mapping: JSON.stringify({ [alias]: model }),
    })
    const own = await aClient(setup)
    const charged = async (name: string) => {
      const answer =
        path === SPEECH
          ? await post(setup, own, { model: name, input: 'hello, you', voice: 'a' }, { path })
          : await transcribe({ model: name }, { own })
      const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
      // The header of raw speech states the reserved length.
      const told = answer.headers['x-gatehouse-quota']
      return { quota, told, source: detail.usage_source, lines: detail.lines }
    }
    expect(await charged(alias)).toEqual(await charged(model))
  })

  test('an alias with its own price is measured by the alias', async () => {
    const alias = `ear-${aModel()}`
    const ratios = setup.app.options.text('ModelRatio')
    await setup.app.options.set('ModelRatio', JSON.stringify({ [alias]: 3 }))
    await aRoute(setup, alias, { model_mapping: JSON.stringify({ [alias]: 'gpt-4o-transcribe' }) })
    const answer = await transcribe({ model: alias, response_format: 'text' })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(3050)
    await setup.app.options.set('ModelRatio', ratios)
  })

  test('each channel measures by the model that it maps to', async () => {
    const alias = aModel()
    const mapped = (model: string) => JSON.stringify({ [alias]: model })
    await aRoute(setup, alias, {
      words: 'fail-500',
      priority: 9,
      model_mapping: mapped('gpt-4o-transcribe'),
    })
    await aRoute(setup, alias, { words: 'no-usage', model_mapping: mapped('whisper-1') })
    const { quota, detail } = await bookedCall(
      setup,
      requestIdOf(await transcribe({ model: alias })),
    )
    expect(quota).toBe(3050)
    expect(detail.priced_as).toBe('whisper-1')
  })

  test.each(['text', 'srt'])('silence is an answer as any: %s', async (format) => {
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      response.end('\n')
    })
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    const answer = await transcribe({ model, response_format: format })
    expect({ status: answer.status, text: answer.text() }).toEqual({ status: 200, text: '\n' })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(1017)
    await upstream.close()
  })

  test('a translation is charged like a transcript', async () => {
    await aRoute(setup, 'whisper-1')
    const answer = await transcribe({ model: 'whisper-1' }, { path: '/v1/audio/translations' })
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(3050)
  })

  test('a failed transcription costs nothing', async () => {
    const own = await aClient(setup)
    for (const words of ['fail-500', 'error-200', 'html-200', 'fail-empty', 'fail-cut']) {
      const model = await aServedModel(setup, words)
      const spoken = await post(setup, own, { model, input: 'x', voice: 'a' }, { path: SPEECH })
      expect(spoken.status).toBeGreaterThanOrEqual(400)
      expect((await transcribe({ model }, { own })).status).toBeGreaterThanOrEqual(400)
    }
    await expectNothingCharged(setup, own)
  })

  test('the whole form is sent to another channel after a failure', async () => {
    const model = aModel()
    await aRoute(setup, model, { words: 'fail-500', priority: 9 })
    await aRoute(setup, model, { model_mapping: JSON.stringify({ [model]: 'whisper-1' }) })
    setup.upstream.seen()
    expect((await transcribe({ model })).status).toBe(200)
    const [first, second] = setup.upstream.seen()
    const sent = (first?.bytes.toString('latin1') ?? '').replace(model, 'whisper-1')
    expect(second?.bytes.toString('latin1')).toBe(sent)
  })

  test.each([
    ['as JSON', null, { code: 'form_required', params: {} }],
    ['without a recording', 'x', { code: 'relay_field_required', params: { field: 'file' } }],
    ['as a text', 'file', { code: 'form_file_unnamed', params: { field: 'file' } }],
    ['by its address', 'url', { code: 'recording_by_address', params: { field: 'url' } }],
    ['and Mistral’s', 'file_url', { code: 'recording_by_address', params: { field: 'file_url' } }],
  ] as const)('a recording %s is refused with what to do', async (_, name, { code, params }) => {
    const model = await aServedModel(setup)
    const part = (field: string, value: string) =>
      `--b\r\nContent-Disposition: form-data; name="${field}"\r\n\r\n${value}\r\n`
    const form = Buffer.from(`${part('model', model)}${part(name ?? '', 'a.mp3')}--b--`)
    const headers = { 'content-type': 'multipart/form-data; boundary=b' }
    const answer =
      name === null
        ? await post(setup, client, { model, file: 'x' }, { path: TRANSCRIPTIONS })
        : await post(setup, client, form, { path: TRANSCRIPTIONS, headers })
    const wireCode = code === 'relay_field_required' ? 'invalid_text_request' : code
    expectRefusal(answer, { code, wireCode, status: 400, params })
  })

  test('a form is rejected by an endpoint for JSON', async () => {
    const { body, type } = formOf({ model: 'dall-e-3', prompt: 'x' })
    const path = '/v1/images/generations'
    const answer = await post(setup, client, body, { path, headers: { 'content-type': type } })
    expectRefusal(answer, {
      code: 'form_unexpected',
      wireCode: 'form_unexpected',
      status: 400,
      params: {},
    })
  })

  test('a token may use only its models, also in a form', async () => {
    const limited = await aClient(setup, { token: { models: 'whisper-1' } })
    await aRoute(setup, 'whisper-1')
    const other = await aServedModel(setup)
    expect((await transcribe({ model: 'whisper-1' }, { own: limited })).status).toBe(200)
    expect((await transcribe({ model: other }, { own: limited })).status).toBe(403)
  })

  test('a broken stream is charged by the length of the recording', async () => {
    const own = await aClient(setup)
    const model = await aServedModel(setup, 'cut-after-1')
    const answer = await transcribe({ model, stream: 'true' }, { own })
    const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
    expect(detail.usage_source).toBe('estimated')
    expect(quota).toBe(1017)
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

  test('synthesizes speech', async () => {
    const model = await aServedModel(setup)
    const answer = await sdk().audio.speech.create({ model, input: 'hello', voice: 'alloy' })
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(Buffer.alloc(256, 1))
  })

  test('transcribes and translates', async () => {
    const model = await aServedModel(setup)
    const file = await toFile(wav(2), 'a.wav', { type: 'audio/wav' })
    expect((await sdk().audio.transcriptions.create({ model, file })).text).toBe('forty-two')
    expect((await sdk().audio.translations.create({ model, file })).text).toBe('forty-two')
    const verbose = await sdk().audio.transcriptions.create({
      model,
      file,
      response_format: 'verbose_json',
    })
    expect(verbose).toMatchObject({ text: 'forty-two', duration: 1.5 })
  })
})

test('openai 7 transcribes in a stream', async () => {
  const setup = await startRelay()
  const client = await aClient(setup)
  const model = await aServedModel(setup)
  const sdk = new OpenAI({ apiKey: client.key, baseURL: `${setup.url}/v1`, maxRetries: 0 })
  const file = await toFile(wav(2), 'a.wav', { type: 'audio/wav' })
  const events = await sdk.audio.transcriptions.create({ model, file, stream: true })
  const types: string[] = []
  for await (const event of events) types.push(event.type)
  expect(types).toEqual(['transcript.text.delta', 'transcript.text.delta', 'transcript.text.done'])
  expect((await stream(setup, client, { model, input: 'x' }, { path: SPEECH })).status).toBe(200)
  await expectAllWell(setup)
  await setup.close()
})
