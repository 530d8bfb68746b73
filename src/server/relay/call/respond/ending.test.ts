import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
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
  QUESTION,
  requestIdOf,
  startCall,
  startScriptedUpstream,
  type OpenAnswer,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelaySetup } from '../../../test/use-relay.ts'

/**
 * The policy for answers that do not end well, as an operator can change it, on every surface whose
 * cost depends on the answer. As it is by default: client-gone.test.ts, stream-answer.test.ts,
 * pair-troubles.test.ts and the tests of the surfaces.
 */

type Json = Record<string, unknown>

const CONTENTS = [{ role: 'user', parts: [{ text: 'What is the answer?' }] }]

/** Streams of text, by who is asked and how; `type`: of the channel. */
const streams: [string, { path: string; body: Json; type: number }][] = [
  ['chat', { path: '/v1/chat/completions', body: { messages: QUESTION }, type: 1 }],
  ['chat, converted', { path: '/v1/chat/completions', body: { messages: QUESTION }, type: 14 }],
  ['completions', { path: '/v1/completions', body: { prompt: 'The answer is' }, type: 1 }],
  ['Responses', { path: '/v1/responses', body: { input: 'hi' }, type: 1 }],
  ['Responses, converted', { path: '/v1/responses', body: { input: 'hi' }, type: 24 }],
  ['Messages', { path: '/v1/messages', body: { max_tokens: 99, messages: QUESTION }, type: 14 }],
  [
    'Messages, converted',
    { path: '/v1/messages', body: { max_tokens: 99, messages: QUESTION }, type: 1 },
  ],
  [
    'Gemini',
    {
      path: '/v1beta/models/MODEL:streamGenerateContent?alt=sse',
      body: { contents: CONTENTS },
      type: 24,
    },
  ],
]
const SPEECH = { path: '/v1/audio/speech', body: { input: 'hello, you', voice: 'a' } }
const PICTURE = { path: '/v1/images/generations', body: { prompt: 'a cat' } }

describe('answers that do not end well, given away', () => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), {
    settings: {
      RELAY_CLIENT_GONE: 'finish',
      RELAY_BROKEN_ANSWER: 'free',
      RELAY_MISSING_USAGE: 'free',
    },
  })

  const opened = (
    client: RelayClient,
    model: string,
    { path, body }: { path: string; body: Json },
  ): Promise<OpenAnswer> => {
    const isGemini = path.includes('MODEL')
    const sent = isGemini ? body : { model, stream: true, ...body }
    const headers: Record<string, string> = isGemini
      ? { authorization: '', 'x-goog-api-key': client.key }
      : {}
    return openCall(setup, client, sent, { path: path.replace('MODEL', model), headers })
  }

  async function aModelAt(type: number, words: string): Promise<string> {
    const model = `given-${(made += 1)}`
    await aRoute(setup, model, { type, words })
    return model
  }
  let made = 0

  describe.each(streams)('%s', (_name, asked) => {
    test('that the upstream breaks off costs nothing', async () => {
      const client = await aClient(setup)
      for (const words of ['chunks-8+cut-after-5', 'chunks-8+error-mid-stream']) {
        const answer = await opened(client, await aModelAt(asked.type, words), asked)
        await answer.ended
        expect(answer.bytes().length).toBeGreaterThan(0)
      }
      await expectNothingCharged(setup, client)
    })

    test('whose usage is missing costs nothing', async () => {
      const client = await aClient(setup)
      const answer = await opened(client, await aModelAt(asked.type, 'no-usage'), asked)
      expect(await answer.ended).toBe('complete')
      await expectNothingCharged(setup, client)
    })

    test('whose client left is finished, and charged as the upstream says', async () => {
      const client = await aClient(setup)
      const words = 'chunks-30+tokens-30+slow-chunk-5'
      const answer = await opened(client, await aModelAt(asked.type, words), asked)
      await eventually(() => answer.text().includes('word'), 'the first words')
      setup.upstream.seen()
      answer.leave()
      const { detail } = await bookedCall(setup, requestIdOf(answer))
      expect(detail).toMatchObject({ usage_source: 'upstream', completion_tokens: 30 })
    })
  })

  test('a recording that breaks costs nothing', async () => {
    const client = await aClient(setup)
    const model = await aServedModel(setup, 'cut-after-100')
    const answer = await openCall(setup, client, { model, ...SPEECH.body }, SPEECH)
    expect(await answer.ended).toBe('broken')
    await expectNothingCharged(setup, client)
  })

  test('a recording whose client left is finished, and has its price', async () => {
    const client = await aClient(setup)
    const begun = Promise.withResolvers<ServerResponse>()
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'audio/mpeg' })
      response.write('sound')
      begun.resolve(response)
    })
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    const answer = await openCall(setup, client, { model, ...SPEECH.body }, SPEECH)
    answer.leave()
    await answer.ended
    const response = await begun.promise
    await new Promise<void>((resolve) => response.end('more', () => resolve()))
    const { quota, ledger } = await bookedCall(setup, requestIdOf(answer))
    expect({ quota, rest: await heldPoints(setup, ledger.user_id) }).toEqual({ quota: 10, rest: 0 })
    await upstream.close()
  })

  test('images without reported usage keep their price, which is not a count of this server', async () => {
    const client = await aClient(setup)
    const model = await aServedModel(setup)
    const answer = await post(setup, client, { model, ...PICTURE.body }, PICTURE)
    expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(1000)
  })

  test('a whole response without usage costs nothing, and reports that cost', async () => {
    const client = await aClient(setup)
    const model = await aServedModel(setup, 'no-usage')
    const answer = await post(setup, client, { model, messages: QUESTION })
    expect(answer.headers['x-gatehouse-quota']).toBe('0')
    await expectNothingCharged(setup, client)
  })

  test('a whole answer whose client left before it began is waited for and charged', async () => {
    const client = await aClient(setup)
    const model = await aServedModel(setup, 'slow-200+tokens-20')
    const { userId } = client
    const sent = startCall(setup, client, { model, messages: QUESTION })
    await eventually(
      () => setup.upstream.seen().some(({ bytes }) => bytes.includes(model)),
      'the upstream to be called',
    )
    sent.destroy()
    const row = await eventually(
      () =>
        setup.database.read
          .selectFrom('ledger')
          .selectAll()
          .where('user_id', '=', userId)
          .where('kind', '=', 'consume')
          .executeTakeFirst(),
      'the booking',
    )
    expect(row).toMatchObject({ prompt_tokens: 11, completion_tokens: 20 })
  })
})
