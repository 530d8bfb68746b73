import { describe, expect, test } from 'vitest'
import type { SpokenName } from '../protocols/canonical/chat-request.ts'
import { ask } from '../../test/dialect-call.ts'
import { PIXEL, speakers, type Wish } from '../../test/dialect-clients.ts'
import { responsesSpeaker } from '../../test/responses-client.ts'
import {
  aRoute,
  bookedCall,
  requestIdOf,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/** Clients of every dialect with channels of every kind, over HTTP, with and without streaming. */

let setup: RelaySetup
let client: RelayClient
useRelay((now) => ({ setup, client } = now), { sharesClient: true })

const ANSWER = 'The answer is forty-two.'
const clients = { ...speakers, responses: responsesSpeaker }
const names: SpokenName[] = ['openai', 'anthropic', 'gemini', 'responses']
/** Channel types and a reasoning model of each. */
const upstreams: [type: number, label: string, model: string][] = [
  [1, 'OpenAI', 'gpt-5-pair'],
  [3, 'Azure', 'gpt-5.4-pair'],
  [1, 'OpenAI, thinking unasked', 'gpt-5.6-pair'],
  [14, 'Anthropic', 'our-claude-sonnet-4-5'],
  [24, 'Gemini', 'our-gemini-2.5-flash'],
]
const pairs = names
  .flatMap((name) => upstreams.map(([type, label, model]) => ({ name, type, label, model })))
  // OpenAI and Azure support the Responses API, which passes: responses/response-calls.test.ts.
  .filter(({ name, type }) => name !== 'responses' || type > 3)

let made = 0
async function aModelAt(type: number, base: string, words = ''): Promise<string> {
  made += 1
  const model = `${base}-${made}${words === '' ? '' : `+${words}`}`
  const config = type === 3 ? '{"api_version":"2025-04-01-preview"}' : ''
  await aRoute(setup, model, { type, config })
  return model
}

const SCHEMA = {
  type: 'object',
  properties: { answer: { type: 'integer' } },
  required: ['answer'],
  additionalProperties: false,
}
const SPOKEN = { text: ANSWER, calls: [], finish: 'stop', prompt: 11, completion: 7 }
const args = { city: 'forty-two' }

const cases: [string, Wish, object][] = [
  ['a question', {}, SPOKEN],
  ['a system prompt', { system: 'Be brief.' }, SPOKEN],
  ['a temperature', { temperature: 0.5 }, SPOKEN],
  [
    'one tool',
    { tools: ['weather'], choice: 'required' },
    { text: '', calls: [{ name: 'weather', args }], finish: 'tools' },
  ],
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
  ['a result', { tools: ['weather'], results: ['sunny'] }, SPOKEN],
  ['results side by side', { tools: ['weather', 'clock'], results: ['sunny', 'noon'] }, SPOKEN],
  ['a picture', { image: `data:image/png;base64,${PIXEL}` }, SPOKEN],
  ['a limit', { maxTokens: 64 }, SPOKEN],
  ['JSON', { schema: SCHEMA }, { text: '{"answer":42}', finish: 'stop' }],
]

describe.each(pairs)(
  'a client of $name with a channel of $label',
  ({ name, type, model: base }) => {
    describe.each([false, true])('streamed: %j', (isStream) => {
      test.each(cases)('%s', async (_what, wish, expected) => {
        const model = await aModelAt(type, base)
        const question = { model, wish, isStream }
        const { said, answer } = await ask({ setup, client }, clients[name], question)
        expect(said).toMatchObject({ ...expected, isComplete: true })
        const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
        expect({ quota, source: detail['usage_source'] }).toEqual({ quota: 18, source: 'upstream' })
      })

      test('the output limit', async () => {
        const model = await aModelAt(type, base, 'obey-max')
        const question = { model, wish: { maxTokens: 3 }, isStream }
        const { said, answer } = await ask({ setup, client }, clients[name], question)
        const cut = { text: 'The answer is', finish: 'length', isComplete: true }
        expect(said).toMatchObject({ ...cut, prompt: 11, completion: 3 })
        expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(14)
      })

      test('reasoning', async () => {
        const model = await aModelAt(type, base)
        const question = { model, wish: { thinking: 2000, maxTokens: 4096 }, isStream }
        const { said, answer } = await ask({ setup, client }, clients[name], question)
        // OpenAI's own models show no reasoning.
        const thought = type > 3 ? 'Six times seven.' : ''
        expect(said).toMatchObject({ ...SPOKEN, thought, isComplete: true })
        expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(18)
      })

      // The Responses API has no stop texts.
      if (name === 'responses') return
      test('stop texts', async () => {
        const model = await aModelAt(type, base)
        const question = { model, wish: { stop: ['forty'] }, isStream }
        const { said } = await ask({ setup, client }, clients[name], question)
        expect(JSON.stringify(setup.upstream.seen().at(-1)?.body)).toContain('["forty"]')
        // The fake upstream of OpenAI ignores stop texts.
        const text = type > 3 ? 'The answer is ' : ANSWER
        expect(said).toMatchObject({ text, finish: 'stop', isComplete: true })
      })
    })
  },
)
