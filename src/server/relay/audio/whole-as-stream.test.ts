import { expect, test } from 'vitest'
import { events } from '../../test/dialect-clients.ts'
import {
  aModel,
  aRoute,
  bookedCall,
  openCall,
  requestIdOf,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/** Upstreams without streaming, and clients that request a stream. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now), { sharesClient: true })

/** A model whose upstream responds to every call with these bytes. */
async function aModelThatAnswers(mediaType: string, bytes: string | Buffer) {
  const upstream = await startScriptedUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': mediaType })
    response.end(bytes)
  })
  const model = aModel()
  await aRoute(setup, model, { base_url: upstream.url })
  return { model, close: () => upstream.close() }
}

const eventsIn = (text: string): Record<string, unknown>[] =>
  events(text).map(({ data }) => Object(JSON.parse(data)))

const part = (head: string, content: string): string =>
  `--x\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`

test.each([
  ['text', 'text/plain', 'forty-two\n'],
  ['srt', 'text/plain', '1\n00:00:00,000 --> 00:00:01,500\nforty-two\n'],
  ['vtt', 'text/vtt', 'WEBVTT\n\n00:00.000 --> 00:01.500\nforty-two'],
])('a transcript as %s is told as the last event', async (format, mediaType, sent) => {
  const { model, close } = await aModelThatAnswers(mediaType, sent)
  const body =
    part('name="model"', model) +
    part('name="stream"', 'true') +
    part('name="response_format"', format) +
    part('name="file"; filename="a.mp3"', 'x'.repeat(8000))
  const headers = { 'content-type': 'multipart/form-data; boundary=x' }
  const answer = await openCall(setup, client, Buffer.from(`${body}--x--\r\n`), {
    path: '/v1/audio/transcriptions',
    headers,
  })
  expect(await answer.ended).toBe('complete')
  expect(answer.headers['content-type']).toContain('text/event-stream')
  expect(eventsIn(answer.text())).toEqual([{ type: 'transcript.text.done', text: sent }])
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBeGreaterThan(0)
  await close()
})

test('audio is sent in events that contain all of it', async () => {
  const sound = Buffer.from(Array.from({ length: 60_001 }, (_, index) => index % 251))
  const { model, close } = await aModelThatAnswers('audio/mpeg', sound)
  const body = { model, input: 'hello, you', voice: 'a', stream_format: 'sse' }
  const answer = await openCall(setup, client, body, { path: '/v1/audio/speech' })
  expect(await answer.ended).toBe('complete')
  expect(answer.headers['content-type']).toContain('text/event-stream')
  const told = eventsIn(answer.text())
  expect(told.map(({ type }) => type)).toEqual([
    ...Array(3).fill('speech.audio.delta'),
    'speech.audio.done',
  ])
  const pieces = told.map(({ audio = '' }) => Buffer.from(String(audio), 'base64'))
  expect(Buffer.concat(pieces).equals(sound)).toBe(true)
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(10)
  await close()
})
