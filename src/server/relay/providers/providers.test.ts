import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { anAdmin } from '../../test/factories.ts'
import { PIXEL, speakers, type Wish } from '../../test/dialect-clients.ts'
import { forEachDatabase } from '../../test/for-each-database.ts'
import { nativeChannels, type NativeChannel } from '../../test/native-channels.ts'
import type { DialectName } from '../canonical/chat-request.ts'
import {
  aClient,
  aRoute,
  bookedCall,
  expectAllWell,
  expectNothingCharged,
  openCall,
  post,
  requestIdOf,
  startRelay,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'

/**
 * Clients of every dialect with channels of every provider here, over HTTP. The upstream refuses
 * members, paths and signatures that the provider would refuse.
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

let made = 0

/** A model of a new channel; `words` steer the upstream. */
async function aServed(setup: RelaySetup, to: NativeChannel, words = ''): Promise<string> {
  made += 1
  const model = `${to.model}-${made}${words === '' ? '' : `+${words}`}`
  await aRoute(setup, model, {
    type: to.type,
    key: to.key(setup.upstream.url),
    config: to.config,
  })
  return model
}

async function ask(
  { setup, client }: { setup: RelaySetup; client: RelayClient },
  name: DialectName,
  { model, wish = {}, isStream }: { model: string; wish?: Wish; isStream: boolean },
) {
  const speaker = speakers[name]
  const headers = { authorization: '', ...speaker.headers(client) }
  const input = { path: speaker.path(model, isStream), headers }
  const body = speaker.body(model, wish, isStream)
  if (isStream) {
    const answer = await openCall(setup, client, body, input)
    await answer.ended
    return { answer, said: speaker.streamed(answer.text()) }
  }
  const answer = await post(setup, client, body, input)
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.json))
  // An answer is an object of its dialect.
  const said = speaker.whole(answer.json as unknown as Record<string, unknown>)
  return { answer, said: { ...said, isComplete: true, error: '' } }
}

describe.each(nativeChannels)('$label', (to) => {
  let setup: RelaySetup
  let client: RelayClient
  beforeAll(async () => {
    setup = await startRelay()
    client = await aClient(setup)
  })
  afterAll(async () => {
    await expectAllWell(setup)
    await setup.close()
  })

  describe.each(names)('for a client of %s', (name) => {
    test.each(cases)('%s, whole and streamed', async (_what, wish, expected) => {
      for (const isStream of [false, true]) {
        const model = await aServed(setup, to)
        const { said, answer } = await ask({ setup, client }, name, { model, wish, isStream })
        expect(said).toMatchObject({ ...expected, isComplete: true })
        expect((await bookedCall(setup, requestIdOf(answer))).detail).toMatchObject(FIGURES)
      }
    })
  })

  test('an answer of a shape, or a refusal that names what cannot be said', async () => {
    const model = await aServed(setup, to)
    const answer = await post(setup, client, speakers.openai.body(model, { schema: SCHEMA }, false))
    if (!to.obeysSchemas) {
      expect(answer.status).toBe(400)
      expect(JSON.stringify(answer.json)).toContain('response_format')
      return
    }
    const said = speakers.openai.whole(answer.json as unknown as Record<string, unknown>)
    expect(said).toMatchObject({ text: '{"answer":42}', finish: 'stop' })
  })

  test('a tool that must be called', async () => {
    const model = await aServed(setup, to)
    const wish: Wish = { tools: ['weather'], choice: 'required' }
    const body = speakers.openai.body(model, wish, false)
    const answer = await post(setup, client, body)
    if (!to.demandsTools) {
      expect(answer.status).toBe(400)
      expect(JSON.stringify(answer.json)).toContain('tool_choice')
      return
    }
    const said = speakers.openai.whole(answer.json as unknown as Record<string, unknown>)
    expect(said).toMatchObject({ calls: [{ name: 'weather', args }], finish: 'tools' })
  })

  test('a stream that comes byte by byte is the same', async () => {
    const model = await aServed(setup, to, 'one-byte')
    const { said } = await ask({ setup, client }, 'openai', { model, isStream: true })
    expect(said).toMatchObject({ ...SPOKEN, isComplete: true })
  })

  test('figures that nobody can believe are counted here', async () => {
    const model = await aServed(setup, to, 'usage-missing')
    for (const isStream of [false, true]) {
      const { answer } = await ask({ setup, client }, 'openai', { model, isStream })
      const { detail } = await bookedCall(setup, requestIdOf(answer))
      expect(detail['usage_source']).toBe('counted')
    }
  })
})

forEachDatabase('providers and money', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  beforeAll(async () => {
    setup = await startRelay(open)
  })
  afterAll(async () => {
    await expectAllWell(setup)
    await setup.close()
  })
  beforeEach(async () => {
    client = await aClient(setup)
    setup.upstream.seen()
  })

  describe.each(nativeChannels)('$label', (to) => {
    test('an answer, whole and streamed, is charged', async () => {
      for (const isStream of [false, true]) {
        const model = await aServed(setup, to)
        const { said, answer } = await ask({ setup, client }, 'openai', { model, isStream })
        expect(said).toMatchObject(SPOKEN)
        const { detail, quota } = await bookedCall(setup, requestIdOf(answer))
        expect(detail).toMatchObject(FIGURES)
        expect(quota).toBeGreaterThanOrEqual(18)
      }
    })

    test('a refusal is told, without the key, for nothing', async () => {
      const model = await aServed(setup, to, 'fail-400')
      for (const isStream of [false, true]) {
        const answer = await post(setup, client, speakers.openai.body(model, {}, isStream))
        expect(answer.status).toBe(400)
        const { message } = speakers.openai.error(answer.json as unknown as Record<string, unknown>)
        expect(message).toContain('upstream says 400')
        expect(JSON.stringify(answer.json)).not.toContain(to.key(setup.upstream.url))
      }
      await expectNothingCharged(setup, client)
    })

    test('an error in the middle is told in the stream, and what came is charged', async () => {
      const model = await aServed(setup, to, 'error-mid-stream')
      const { said, answer } = await ask({ setup, client }, 'openai', { model, isStream: true })
      expect(said.isComplete).toBe(false)
      expect(said.error).toContain('failed in the middle')
      const { quota } = await bookedCall(setup, requestIdOf(answer))
      expect(quota).toBeGreaterThan(0)
    })

    test.each(['end-without-done', 'cut-after-3'])(
      'a stream that breaks off (%s) is no whole answer',
      async (words) => {
        const model = await aServed(setup, to, words)
        const { said, answer } = await ask({ setup, client }, 'openai', { model, isStream: true })
        // OpenAI's dialect may leave its last word out.
        const mayEnd = words === 'end-without-done' && said.text === ANSWER
        expect(said.isComplete && !mayEnd).toBe(false)
        expect((await bookedCall(setup, requestIdOf(answer))).quota).toBeGreaterThan(0)
      },
    )

    test('its channel can be tested', async () => {
      const model = await aServed(setup, to)
      const { id } = await setup.database.read
        .selectFrom('channels')
        .select('id')
        .where('models', '=', model)
        .executeTakeFirstOrThrow()
      const admin = await anAdmin(setup)
      const answer = await setup.call('GET', `/api/channel/test/${id}`, { as: admin })
      expect(answer.json).toMatchObject({ success: true })
    })
  })
})
