import { describe, expect, test } from 'vitest'
import type { DialectName, SpokenName } from '../protocols/canonical/chat-request.ts'
import { callOf } from '../../test/dialect-call.ts'
import { speakers } from '../../test/dialect-clients.ts'
import { responsesSpeaker } from '../../test/responses-client.ts'
import { onSqlite } from '../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  eventually,
  expectAllWell,
  expectNothingCharged,
  openCall,
  post,
  requestIdOf,
  startCall,
  startRelay,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'

/** Failures between a client of one dialect and a channel of another, and their charges. */

const ANSWER = 'The answer is forty-two.'
const names: DialectName[] = ['openai', 'anthropic', 'gemini']
const types: [type: number, label: string][] = [
  [1, 'OpenAI'],
  [14, 'Anthropic'],
  [24, 'Gemini'],
]
const clients = { ...speakers, responses: responsesSpeaker }
const spoken: SpokenName[] = [...names, 'responses']
const pairs = spoken
  .flatMap((name) => types.map(([type, label]) => ({ name, type, label })))
  // OpenAI supports the Responses API itself: responses/response-calls.test.ts.
  .filter(({ name, type }) => name !== 'responses' || type !== 1)

describe('while an upstream reasons', () => {
  test('its client receives a keep-alive of its dialect, or nothing', async () => {
    const setup = await startRelay(undefined, { RELAY_KEEP_ALIVE: '1' })
    const client = await aClient(setup)
    const heard = await Promise.all(
      names.map(async (name) => {
        const model = aModel()
        await aRoute(setup, model, { words: 'slow-chunk-1400+chunks-2' })
        const input = callOf(speakers[name], client, { model, isStream: true })
        const body = speakers[name].body(model, {}, true)
        const answer = await openCall(setup, client, body, input)
        await answer.ended
        expect(speakers[name].streamed(answer.text())).toMatchObject({ isComplete: true })
        return answer.text().match(/^(: ping|event: ping)$/gm)?.[0] ?? null
      }),
    )
    expect(heard).toEqual([': ping', 'event: ping', null])
    await expectAllWell(setup)
    await setup.close()
  })
})

/** Calls of one client of every dialect; the user is set when a test runs. */
function callsOf(now: () => { setup: RelaySetup; client: RelayClient }) {
  const input = (name: SpokenName, model: string, isStream: boolean) =>
    callOf(clients[name], now().client, { model, isStream })

  async function aServed(type: number, words: string): Promise<string> {
    const model = aModel()
    await aRoute(now().setup, model, { type, words })
    return model
  }

  const whole = (name: SpokenName, model: string) =>
    post(now().setup, now().client, clients[name].body(model, {}, false), input(name, model, false))

  const opened = (name: SpokenName, model: string, headers: Record<string, string> = {}) => {
    const { setup, client } = now()
    const body = clients[name].body(model, {}, true)
    const plain = input(name, model, true)
    return openCall(setup, client, body, { ...plain, headers: { ...plain.headers, ...headers } })
  }

  async function streamed(name: SpokenName, model: string, headers = {}) {
    const answer = await opened(name, model, headers)
    await answer.ended
    return { answer, said: clients[name].streamed(answer.text()) }
  }

  return { aServed, whole, opened, streamed }
}

// This test does not depend on the database.
describe('a stream in other spellings', () => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { sharesClient: true })
  const { aServed, streamed } = callsOf(() => ({ setup, client }))

  describe.each(pairs)('$name to $label', ({ name, type }) => {
    test.each([
      'crlf',
      'cr',
      'one-byte',
      'split-utf8',
      'no-space',
      'comment-keepalive',
      'gzip',
      'bom',
    ])('%s says the same', async (words) => {
      const model = await aServed(type, words)
      const { said } = await streamed(name, model)
      const text = words === 'split-utf8' ? '答案是四十二 🎉 naïve。' : ANSWER
      expect(said).toMatchObject({ text, finish: 'stop', isComplete: true })
    })
  })
})

onSqlite('troubles', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open })
  const { aServed, whole, opened, streamed } = callsOf(() => ({ setup, client }))

  describe.each(pairs)('$name to $label', ({ name, type }) => {
    test.each([
      ['fail-400', 400],
      ['fail-429', 429],
      ['fail-500', 500],
      ['fail-529', 529],
      ['fail-html', 502],
      ['error-200', 502],
      ['html-200', 500],
    ])('%s before the first byte: %i in the client’s words, for nothing', async (words, status) => {
      const model = await aServed(type, words)
      for (const isStream of [false, true]) {
        const answer = isStream ? await opened(name, model) : await whole(name, model)
        const body = 'json' in answer ? answer.json : await ended(answer)
        // Anthropic and Gemini have numeric codes for errors with status 200.
        const isNumbered = words === 'error-200' && type !== 1
        if (!isNumbered) expect(answer.status).toBe(status)
        expect(answer.status).toBeGreaterThanOrEqual(400)
        const { message } = clients[name].error(body as unknown as Record<string, unknown>)
        expect(message).toContain(requestIdOf(answer))
        expect(message).not.toContain('<html>')
      }
      await expectNothingCharged(setup, client)
    })

    async function ended(answer: Awaited<ReturnType<typeof opened>>) {
      await answer.ended
      return JSON.parse(answer.text()) as unknown
    }

    test.each(['error-mid-stream', 'cut-after-4', 'end-without-done'])(
      '%s: what came is charged, and nobody takes it for the whole',
      async (words) => {
        const model = await aServed(type, `chunks-8+${words}`)
        const { answer, said } = await streamed(name, model)
        const { quota, detail } = await bookedCall(setup, requestIdOf(answer))
        // OpenAI's stream is complete without its final event; Gemini's final event is the only
        // sign of completeness.
        const isWhole = words === 'end-without-done' && type !== 24
        expect({ isComplete: said.isComplete, isTold: said.error !== '' }).toEqual({
          isComplete: isWhole,
          isTold: !isWhole,
        })
        if (!isWhole) expect(detail['usage_source']).toBe('counted')
        expect(quota).toBeGreaterThan(0)
        expect(quota).toBeLessThan(40)
      },
    )

    test('a response without usage is counted', async () => {
      const model = await aServed(type, 'no-usage')
      for (const isStream of [false, true]) {
        const answer = isStream ? (await streamed(name, model)).answer : await whole(name, model)
        const { detail } = await bookedCall(setup, requestIdOf(answer))
        expect(detail['usage_source']).toBe('counted')
        expect(detail['completion_tokens']).toBeGreaterThan(4)
        expect(detail['completion_tokens']).toBeLessThan(9)
        expect(detail['prompt_tokens']).toBeGreaterThan(4)
        expect(detail['prompt_tokens']).toBeLessThan(16)
      }
    })

    test('implausible usage is rejected', async () => {
      const model = await aServed(type, 'usage-negative')
      const { detail } = await bookedCall(setup, requestIdOf(await whole(name, model)))
      expect(detail['usage_source']).toBe('counted')
    })

    test('a client that leaves ends the upstream request and pays for the received part', async () => {
      const model = await aServed(type, 'chunks-40+slow-chunk-30')
      const answer = await opened(name, model)
      await eventually(() => answer.text().includes('word'), 'the first words')
      answer.leave()
      const [seen] = setup.upstream.seen()
      await eventually(() => seen?.outcome === 'client-gone', 'the end of the upstream call')
      const { quota } = await bookedCall(setup, requestIdOf(answer))
      expect(quota).toBeGreaterThan(5)
      expect(quota).toBeLessThan(11 + 40)
    })

    test('a client that leaves before a whole response pays for its prompt', async () => {
      const model = await aServed(type, 'hang')
      const body = clients[name].body(model, {}, false)
      const sent = startCall(
        setup,
        client,
        body,
        callOf(clients[name], client, { model, isStream: false }),
      )
      const seen = await eventually(() => setup.upstream.seen()[0], 'the call upstream')
      sent.destroy()
      await eventually(() => seen.outcome === 'client-gone', 'the end of the upstream call')
      const { user_amount: amount } = await eventually(
        () =>
          setup.database.read
            .selectFrom('ledger')
            .select('user_amount')
            .where('user_id', '=', client.userId)
            .where('kind', '=', 'consume')
            .executeTakeFirst(),
        'the booking',
      )
      expect(Math.abs(amount)).toBeGreaterThan(3)
      expect(Math.abs(amount)).toBeLessThan(16)
    })

    test('a whole response becomes a stream', async () => {
      const model = await aServed(type, 'json-when-stream')
      const { said } = await streamed(name, model)
      expect(said).toMatchObject({ text: ANSWER, finish: 'stop', isComplete: true })
    })

    test('the cost is sent as a comment on request', async () => {
      const model = await aServed(type, '')
      const { answer, said } = await streamed(name, model, { 'x-gatehouse-cost': '1' })
      expect(answer.text()).toContain('\n\n: cost 18\n\n')
      expect(said.isComplete).toBe(true)
    })
  })
})
