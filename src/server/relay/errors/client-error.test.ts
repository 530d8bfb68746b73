import { describe, expect, test } from 'vitest'
import {
  aModel,
  aRoute,
  chatBody,
  eventsOf,
  post,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'
import { parseJson, recordOr } from '../json/json-value.ts'
import { withCodeAsText } from './client-error.ts'

const [OPENAI, GEMINI, OPENROUTER] = [1, 24, 20]

test.each<[string, string | number, string]>([
  ['INVALID_ARGUMENT', 400, 'invalid_argument'],
  ['UNAVAILABLE', 503, 'unavailable'],
  ['upstream_error', 10_013, '10013'],
  ['serviceUnavailableException', 503, '503'],
  ['INVALID_ARGUMENT', 'some_code', 'some_code'],
  ['upstream_error', '', ''],
])('%s with the code %j is %j to programs', (type, code, expected) => {
  const error = { status: 400, message: 'no', type, param: '', code }
  expect(withCodeAsText(error)).toEqual({ ...error, code: expected })
})

describe('clients of OpenAI', () => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { sharesClient: true })

  const codeIn = (told: unknown): unknown => recordOr(recordOr(told).error).code

  /** The codes of a whole response and of a stream. */
  async function codesOf(model: string): Promise<unknown[]> {
    const whole = await post(setup, client, chatBody(model))
    const streamed = await stream(setup, client, chatBody(model))
    return [codeIn(whole.json), codeIn(parseJson(streamed.text()))]
  }

  test.each([
    ['fail-400', 'invalid_argument'],
    ['fail-500', 'internal'],
    ['error-200', 'unknown'],
  ])('hear of Gemini’s %s a word: %s', async (words, code) => {
    const model = aModel()
    await aRoute(setup, model, { type: GEMINI, words })
    expect(await codesOf(model)).toEqual([code, code])
  })

  test('receive one, too, in a stream that breaks off', async () => {
    const said = { candidates: [{ content: { role: 'model', parts: [{ text: 'Spa' }] } }] }
    const failed = { error: { code: 503, status: 'UNAVAILABLE', message: 'overloaded' } }
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end([said, failed].map((one) => `data: ${JSON.stringify(one)}\n\n`).join(''))
    })
    const model = aModel()
    await aRoute(setup, model, { type: GEMINI, base_url: upstream.url })
    const streamed = await stream(setup, client, chatBody(model))
    expect(codeIn(parseJson(eventsOf(streamed.text()).at(-1) ?? ''))).toBe('unavailable')
    await upstream.close()
  })

  test.each([OPENAI, OPENROUTER])(
    'receive the numeric code of type %i as a string',
    async (type) => {
      const body = JSON.stringify({ error: { code: 422, message: 'no' } })
      const upstream = await startScriptedUpstream((_request, response) => {
        response.writeHead(422, { 'content-type': 'application/json' }).end(body)
      })
      const model = aModel()
      await aRoute(setup, model, { type, base_url: upstream.url })
      expect(await codesOf(model)).toEqual([422, 422])
      await upstream.close()
    },
  )
})
