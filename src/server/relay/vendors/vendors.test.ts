import { describe, expect, test } from 'vitest'
import { ask } from '../../test/dialect-call.ts'
import { PIXEL, speakers, type Wish } from '../../test/dialect-clients.ts'
import { onSqlite } from '../../test/for-each-database.ts'
import { aNativeModel, nativeChannels } from '../../test/native-channels.ts'
import type { DialectName } from '../protocols/canonical/chat-request.ts'
import {
  bookedCall,
  channelTestOf,
  expectNothingCharged,
  post,
  requestIdOf,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/**
 * Clients of every dialect with channels of every provider here, over HTTP. The upstream rejects
 * members, paths and signatures that the provider would reject.
 */

const names: DialectName[] = ['openai', 'anthropic', 'gemini']
const ANSWER = 'The answer is forty-two.'
const SPOKEN = { text: ANSWER, calls: [], finish: 'stop', prompt: 11, completion: 7 }
const FIGURES = { prompt_tokens: 11, completion_tokens: 7, usage_source: 'upstream' }
const args = { city: 'forty-two' }
const SCHEMA = {
  type: 'object',
  properties: { answer: { type: 'integer' } },
  required: ['answer'],
  additionalProperties: false,
}

const cases: [string, Wish, object][] = [
  ['a question', { system: 'Be brief.', temperature: 0.5, maxTokens: 64 }, SPOKEN],
  [
    'tools side by side',
    { tools: ['weather', 'clock'], words: 'Use weather and clock.' },
    {
      calls: [
        { name: 'weather', args },
        { name: 'clock', args },
      ],
      finish: 'tools',
    },
  ],
  ['tools it may not use', { tools: ['weather'], words: 'Use weather.', choice: 'none' }, SPOKEN],
  ['results', { tools: ['weather', 'clock'], results: ['sunny', 'noon'] }, SPOKEN],
  ['a picture', { image: `data:image/png;base64,${PIXEL}` }, SPOKEN],
]

describe.each(nativeChannels)('$label', (to) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { sharesClient: true })

  describe.each(names)('for a client of %s', (name) => {
    test.each(cases)('%s, with and without streaming', async (_what, wish, expected) => {
      for (const isStream of [false, true]) {
        const model = await aNativeModel(setup, to)
        const { said, answer } = await ask({ setup, client }, speakers[name], {
          model,
          wish,
          isStream,
        })
        expect(said).toMatchObject({ ...expected, isComplete: true })
        expect((await bookedCall(setup, requestIdOf(answer))).detail).toMatchObject(FIGURES)
      }
    })
  })

  test('a response in a requested format', async () => {
    const model = await aNativeModel(setup, to)
    const answer = await post(setup, client, speakers.openai.body(model, { schema: SCHEMA }, false))
    const said = speakers.openai.whole(answer.json as unknown as Record<string, unknown>)
    expect(said).toMatchObject({ text: '{"answer":42}', finish: 'stop' })
  })

  test('a mandatory tool call', async () => {
    const model = await aNativeModel(setup, to)
    const wish: Wish = { tools: ['weather'], choice: 'required' }
    const body = speakers.openai.body(model, wish, false)
    const answer = await post(setup, client, body)
    // For an upstream that cannot be forced to call a tool, the prompt demands the call.
    expect(answer.headers['x-gatehouse-adjusted'] ?? '').toBe(to.demandsTools ? '' : 'tool_choice')
    if (!to.demandsTools) {
      expect(answer.status).toBe(200)
      return
    }
    const said = speakers.openai.whole(answer.json as unknown as Record<string, unknown>)
    expect(said).toMatchObject({ calls: [{ name: 'weather', args }], finish: 'tools' })
  })

  test('reads the same stream byte by byte', async () => {
    const model = await aNativeModel(setup, to, { words: 'one-byte' })
    const { said } = await ask({ setup, client }, speakers.openai, { model, isStream: true })
    expect(said).toMatchObject({ ...SPOKEN, isComplete: true })
  })

  test('counts usage itself if it is implausible', async () => {
    const model = await aNativeModel(setup, to, { words: 'usage-missing' })
    for (const isStream of [false, true]) {
      const { answer } = await ask({ setup, client }, speakers.openai, { model, isStream })
      const { detail } = await bookedCall(setup, requestIdOf(answer))
      expect(detail['usage_source']).toBe('counted')
    }
  })
})

onSqlite('providers and money', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open })

  test('charges the completion if Ollama leaves out a cached prompt', async () => {
    const message = { role: 'assistant', content: 'Hi' }
    const line = `${JSON.stringify({ message, done: true, done_reason: 'stop', eval_count: 25 })}\n`
    const upstream = await startScriptedUpstream(({ headers }, response) => {
      response.setHeader('content-type', String(headers.accept))
      response.end(line)
    })
    const to = { type: 30, model: 'llama3.2' }
    const model = await aNativeModel(setup, to, { url: upstream.url })
    for (const isStream of [false, true]) {
      const { answer } = await ask({ setup, client }, speakers.openai, { model, isStream })
      const { detail } = await bookedCall(setup, requestIdOf(answer))
      expect(detail).toMatchObject({ completion_tokens: 25, usage_source: 'counted' })
      expect(detail['prompt_tokens']).toBeGreaterThan(3)
    }
    await upstream.close()
  })

  describe.each(nativeChannels)('$label', (to) => {
    test('charges a response with and without streaming', async () => {
      for (const isStream of [false, true]) {
        const model = await aNativeModel(setup, to)
        const { said, answer } = await ask({ setup, client }, speakers.openai, { model, isStream })
        expect(said).toMatchObject(SPOKEN)
        const { detail, quota } = await bookedCall(setup, requestIdOf(answer))
        expect(detail).toMatchObject(FIGURES)
        expect(quota).toBeGreaterThanOrEqual(18)
      }
    })

    test('reports an error without the key and without a charge', async () => {
      const model = await aNativeModel(setup, to, { words: 'fail-400' })
      for (const isStream of [false, true]) {
        const answer = await post(setup, client, speakers.openai.body(model, {}, isStream))
        expect(answer.status).toBe(400)
        const { message } = speakers.openai.error(answer.json as unknown as Record<string, unknown>)
        expect(message).toContain('upstream says 400')
        expect(JSON.stringify(answer.json)).not.toContain(to.key(setup.upstream.url))
      }
      await expectNothingCharged(setup, client)
    })

    test('reports an error within a stream, and charges what was received', async () => {
      const model = await aNativeModel(setup, to, { words: 'error-mid-stream' })
      const { said, answer } = await ask({ setup, client }, speakers.openai, {
        model,
        isStream: true,
      })
      expect(said.isComplete).toBe(false)
      expect(said.error).toContain('failed in the middle')
      const { quota } = await bookedCall(setup, requestIdOf(answer))
      expect(quota).toBeGreaterThan(0)
    })

    test.each(['end-without-done', 'cut-after-3'])(
      'a stream that breaks off (%s) is no whole answer',
      async (words) => {
        const model = await aNativeModel(setup, to, { words })
        const { said, answer } = await ask({ setup, client }, speakers.openai, {
          model,
          isStream: true,
        })
        // OpenAI's dialect may omit the final event.
        const mayEnd = words === 'end-without-done' && said.text === ANSWER
        expect(said.isComplete && !mayEnd).toBe(false)
        expect((await bookedCall(setup, requestIdOf(answer))).quota).toBeGreaterThan(0)
      },
    )

    test('its channel can be tested', async () => {
      const model = await aNativeModel(setup, to)
      expect((await channelTestOf(setup, model)).json).toMatchObject({ success: true })
    })
  })
})
