import { expect, test } from 'vitest'
import { finished } from '../../protocols/dialect/provider.ts'
import { events } from '../../../test/dialect-clients.ts'
import { aProviderCall } from '../../../test/provider-call.ts'
import {
  aModel,
  aRoute,
  bookedCall,
  openCall,
  requestIdOf,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'
import { providerOf } from '../registry.ts'

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now), { sharesClient: true })

const MISTRAL = 28
const CHANNEL = { type: MISTRAL, key: 'k', baseUrl: '', apiVersion: '' }
const MODEL = 'voxtral-tts-2603'

test.each([
  [{ voice: 'gb_jane_neutral' }, { voice_id: 'gb_jane_neutral' }],
  [
    { voice: 'a', stream_format: 'sse' },
    { voice_id: 'a', stream: true },
  ],
  [{ voice: 'a', stream_format: 'audio' }, { voice_id: 'a' }],
  [{ ref_audio: 'UklGRg==' }, { ref_audio: 'UklGRg==' }],
])('%j is asked for as %j', (asked, sent) => {
  const to = aProviderCall({ model: MODEL, task: 'speech' })
  const provider = providerOf(MISTRAL, MODEL, 'speech')
  if (provider === null) throw new Error('Mistral does not read aloud')
  const bytes = Buffer.from(JSON.stringify({ model: MODEL, input: 'hello', ...asked }))
  const body: unknown = JSON.parse(finished(provider, { channel: CHANNEL, to }, bytes).toString())
  expect(body).toEqual({ model: MODEL, input: 'hello', ...sent })
})

/** The client's response for a response of Mistral. */
async function spoken(answered: { mediaType: string; body: string }, over: object = {}) {
  const upstream = await startScriptedUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': answered.mediaType })
    response.end(answered.body)
  })
  const model = aModel()
  const mapping = JSON.stringify({ [model]: MODEL })
  await aRoute(setup, model, { type: MISTRAL, base_url: upstream.url, model_mapping: mapping })
  const body = { model, input: 'hello', voice: 'gb_jane_neutral', ...over }
  const answer = await openCall(setup, client, body, { path: '/v1/audio/speech' })
  expect(await answer.ended).toBe('complete')
  await upstream.close()
  return answer
}

const SOUND = Buffer.from('ID3 and sound')

test.each([
  [undefined, 'audio/mpeg'],
  ['mp3', 'audio/mpeg'],
  ['flac', 'audio/flac'],
])('its sound reaches the client as sound: %j', async (format, mediaType) => {
  const json = JSON.stringify({ audio_data: SOUND.toString('base64') })
  const answered = { mediaType: 'application/json', body: json }
  const answer = await spoken(answered, { response_format: format })
  expect(answer.headers['content-type']).toBe(mediaType)
  expect(answer.bytes()).toEqual(SOUND)
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(5 * 8)
})

test('its events become OpenAI’s events and are charged per character', async () => {
  const usage = { prompt_tokens: 4, completion_tokens: 635, total_tokens: 639 }
  const delta = { type: 'speech.audio.delta', audio_data: SOUND.toString('base64') }
  const sent = [delta, { type: 'speech.audio.done', usage }]
  const body = sent.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  const answered = { mediaType: 'text/event-stream', body: body.join('') }
  const answer = await spoken(answered, { stream_format: 'sse' })
  const told = events(answer.text())
  expect(told.map(({ name, data }) => ({ name, ...Object(JSON.parse(data)) }))).toEqual([
    { name: delta.type, type: delta.type, audio: delta.audio_data },
    { name: 'speech.audio.done', type: 'speech.audio.done', usage },
  ])
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(5 * 8)
})
