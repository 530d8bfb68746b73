import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { errorText } from '../../../../contract/errors.ts'
import { onSqlite } from '../../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  chatBody,
  eventsOf,
  eventually,
  expectNothingCharged,
  expectRefusal,
  openCall,
  post,
  requestIdOf,
  startRelay,
  startScriptedUpstream,
  stream,
  textOf,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'

const ANSWER = 'The answer is forty-two.'
const WITH_USAGE = { stream_options: { include_usage: true } }
/** Usage that the upstream reports, and counted usage for the same question and answer. */
const REPORTED = { prompt_tokens: 11, completion_tokens: 7 }
const COUNTED = { prompt_tokens: 12, completion_tokens: 6 }

onSqlite('a stream', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })

  /** The bytes that the upstream itself answers. */
  async function direct(body: unknown): Promise<Buffer> {
    const { body: answer } = await request(`${setup.upstream.url}/v1/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(body),
    })
    return Buffer.from(await answer.arrayBuffer())
  }

  /** Streams from a model with these words and looks up what was booked. */
  async function streamed(words: string, over: Record<string, unknown> = {}) {
    const model = await aServedModel(setup, words)
    const answer = await stream(setup, client, chatBody(model, over))
    const booked = answer.status === 200 ? await bookedCall(setup, requestIdOf(answer)) : null
    const { prompt_tokens, completion_tokens } = booked?.log ?? {}
    return { model, answer, booked, figures: { prompt_tokens, completion_tokens } }
  }

  const withoutDone = (bytes: Buffer): string =>
    bytes.toString('latin1').replace(/data: ?\[DONE\][\r\n]*$/, '')
  const withoutComments = (text: string): string => text.replace(/: UPSTREAM PROCESSING\s+/g, '')

  describe('with any spelling, reaches the client byte for byte', () => {
    test.each([
      '',
      'crlf',
      'cr',
      'bom',
      'no-space',
      'multi-line-data',
      'no-final-newline',
      'comment-keepalive',
      'split-utf8',
      'one-byte+tokens-3',
      'split-utf8+one-byte+crlf+bom',
      'chunks-300',
      'end-without-done',
      'usage-in-last-choice-chunk',
      'big-line-1048576',
    ])('%s', async (words) => {
      for (const asked of [{}, WITH_USAGE]) {
        const { model, answer, booked } = await streamed(words, asked)
        const bytes = await direct({ stream: true, ...chatBody(model, asked) })
        const got = withoutComments(withoutDone(answer.bytes()))
        // Compared as a whole first: a difference of megabytes is not worth printing.
        const want = withoutComments(withoutDone(bytes))
        if (got !== want) expect(got.slice(0, 2000)).toBe(want.slice(0, 2000))
        expect(got.length).toBe(want.length)
        expect(answer.text().endsWith('data: [DONE]\n\n')).toBe(true)
        expect(answer.end).toBe('complete')
        expect(booked?.detail['usage_source']).toBe('upstream')
      }
    })
  })

  test('has the headers of an event stream and none of the upstream’s', async () => {
    const { answer } = await streamed('')
    expect(answer.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'access-control-allow-origin': '*',
    })
    expect(Object.keys(answer.headers).toSorted()).toEqual([
      'access-control-allow-origin',
      'access-control-expose-headers',
      'cache-control',
      'connection',
      'content-security-policy',
      'content-type',
      'date',
      'transfer-encoding',
      'x-accel-buffering',
      'x-content-type-options',
      'x-gatehouse-overhead-ms',
      'x-gatehouse-quota',
      'x-oneapi-request-id',
      'x-request-id',
    ])
  })

  describe('usage', () => {
    test('is asked for and kept from a client that did not ask', async () => {
      const { answer, booked, figures } = await streamed('')
      expect(setup.upstream.seen().at(-1)?.body).toMatchObject(WITH_USAGE)
      expect(answer.text()).not.toContain('usage')
      expect(figures).toEqual(REPORTED)
      expect(booked?.quota).toBe(18)
      expect(booked?.log.is_stream).toBeTruthy()
    })

    test('is kept from it too when the upstream sends it unasked', async () => {
      const { answer, figures } = await streamed('always-usage')
      expect(answer.text()).not.toContain('"usage":')
      expect(figures).toEqual(REPORTED)
    })

    test('is shown to a client that asked, as the last chunk before the end', async () => {
      const { answer } = await streamed('', WITH_USAGE)
      const [last, done] = eventsOf(answer.text()).slice(-2)
      expect(JSON.parse(last ?? '')).toMatchObject({ choices: [], usage: REPORTED })
      expect(done).toBe('[DONE]')
    })

    test('is not requested if the dialect rejects the request', async () => {
      const model = aModel()
      await aRoute(setup, model, { type: 26 })
      const answer = await stream(setup, client, chatBody(model))
      expect(textOf(answer.text())).toBe(ANSWER)
      expect(setup.upstream.seen().at(-1)?.body).not.toHaveProperty('stream_options')
      const { log, detail } = await bookedCall(setup, requestIdOf(answer))
      expect(log).toMatchObject(COUNTED)
      expect(detail['usage_source']).toBe('counted')
    })

    test('that is missing is counted here, and the stream is complete all the same', async () => {
      const { answer, booked, figures } = await streamed('no-usage')
      expect(figures).toEqual(COUNTED)
      expect(booked?.detail['usage_source']).toBe('counted')
      expect(eventsOf(answer.text()).at(-1)).toBe('[DONE]')
    })

    test.each(['negative', 'string', 'huge', 'nan', 'fraction'])(
      'that is %s is not believed: counted here and flagged',
      async (shape) => {
        const { booked, figures } = await streamed(`usage-${shape}`)
        expect(figures).toEqual(COUNTED)
        expect(booked?.detail['usage_source']).toBe('counted')
      },
    )

    test('with cached and reasoning tokens is booked as it is', async () => {
      const { booked, figures } = await streamed('cached-100+reasoning-30+tokens-5')
      expect(figures).toEqual({ prompt_tokens: 111, completion_tokens: 35 })
      expect(booked?.detail['cached_tokens']).toBe(100)
    })

    test('of several choices is the sum', async () => {
      const { answer, figures } = await streamed('', { n: 3 })
      expect(figures).toEqual({ prompt_tokens: 11, completion_tokens: 21 })
      expect(eventsOf(answer.text()).at(-1)).toBe('[DONE]')
    })
  })

  describe('that breaks off', () => {
    const errorOf = (text: string): Record<string, unknown> => {
      // The relay's own last event has this shape.
      const { error } = JSON.parse(eventsOf(text).at(-1) ?? '{}') as {
        error: Record<string, unknown>
      }
      return error
    }

    test('ends in an error event without [DONE]; what came is charged', async () => {
      const { answer, booked } = await streamed('cut-after-3')
      expect(answer.status).toBe(200)
      expect(answer.end).toBe('complete')
      expect(answer.text()).not.toContain('[DONE]')
      expect(errorOf(answer.text())).toEqual({
        message: `${errorText('upstream_cut', 'zh')} (request id: ${requestIdOf(answer)})`,
        type: 'one_api_error',
        param: '',
        code: 'upstream_cut',
      })
      // Two of the five pieces came: "The answer ", and its last space is a token by itself.
      expect(textOf(answer.text())).toBe('The answer ')
      expect(booked?.log).toMatchObject({ prompt_tokens: 12, completion_tokens: 3 })
      expect(booked?.detail['usage_source']).toBe('counted')
    })

    test('is charged what came at every place where it can break', async () => {
      const charged: number[] = []
      for (let events = 1; events <= 8; events += 1) {
        const { answer, booked } = await streamed(`cut-after-${events}`)
        expect(answer.end).toBe('complete')
        const isWhole = answer.text().includes('[DONE]')
        // The finish reason alone is no proof: the end must be seen, or the usage after it.
        expect(isWhole).toBe(events >= 8)
        charged.push(booked?.quota ?? -1)
      }
      expect(charged).toEqual([...charged].toSorted((a, b) => a - b))
      expect(charged.at(0)).toBe(12)
      expect(charged.at(-1)).toBe(18)
    })

    test('with an error in the middle passes the error on, with our request id', async () => {
      const { answer, booked } = await streamed('error-mid-stream')
      expect(answer.end).toBe('complete')
      expect(answer.text()).not.toContain('[DONE]')
      expect(errorOf(answer.text())).toEqual({
        message: `The upstream failed in the middle (request id: ${requestIdOf(answer)})`,
        type: 'server_error',
        param: '',
        code: 'server_error',
      })
      expect(booked?.detail['usage_source']).toBe('counted')
      expect(booked?.quota).toBeGreaterThan(12)
    })

    test('with a line of 17 MiB gets an error event, the valid part before it stays', async () => {
      const { answer, booked } = await streamed(`big-line-${17 * 1024 * 1024}`)
      expect(answer.bytes().length).toBeLessThan(2000)
      expect(eventsOf(answer.text()).length).toBe(2)
      expect(errorOf(answer.text())).toMatchObject({ code: 'upstream_cut' })
      expect(booked?.log.completion_tokens).toBe(0)
    })
  })

  test('with a line of 16 MiB less its frame arrives whole', async () => {
    const frame = 250
    const { answer } = await streamed(`big-line-${16 * 1024 * 1024 - frame}`)
    expect(answer.bytes().length).toBeGreaterThan(16 * 1024 * 1024)
    expect(answer.text().endsWith('data: [DONE]\n\n')).toBe(true)
  })

  describe('that never begins is a refusal and costs nothing', () => {
    test.each([
      ['fail-400', 400, 'code_400'],
      ['fail-429-retry-7', 429, 'code_429'],
      ['fail-500', 500, 'code_500'],
      ['error-200', 502, 'refused_with_200'],
      ['html-200', 500, 'unmarshal_response_body_failed'],
      ['fail-empty', 500, 'unmarshal_response_body_failed'],
      ['empty-204', 502, 'bad_response_status_code'],
      ['fail-html', 502, 'bad_response_status_code'],
      ['redirect', 502, 'bad_response_status_code'],
      ['fail-cut', 500, 'do_request_failed'],
      ['cut-after-0', 502, 'upstream_cut'],
      ['bomb', 502, 'upstream_answer_too_large'],
      ['fail-500+gzip', 500, 'code_500'],
    ])('%s: %i %s', async (words, status, code) => {
      const own = await aClient(setup)
      const model = await aServedModel(setup, words)
      const answer = await stream(setup, own, chatBody(model))
      expect(answer.status).toBe(status)
      expect(JSON.parse(answer.text())).toMatchObject({ error: { code } })
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8')
      if (words.includes('retry')) expect(answer.headers['retry-after']).toBe('7')
      await expectNothingCharged(setup, own)
    })

    test('an upstream that is not there: 500', async () => {
      const own = await aClient(setup)
      const model = aModel()
      await aRoute(setup, model, { base_url: 'http://127.0.0.1:9' })
      const answer = await post(setup, own, chatBody(model, { stream: true }))
      expectRefusal(answer, {
        code: 'upstream_unreachable',
        wireCode: 'do_request_failed',
        status: 500,
      })
      await expectNothingCharged(setup, own)
    })
  })

  describe('from an upstream that', () => {
    test('answers with one JSON text instead is made from it', async () => {
      const { answer, figures } = await streamed('json-when-stream')
      expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8')
      const events = eventsOf(answer.text())
      expect(events).toHaveLength(2)
      expect(JSON.parse(events[0] ?? '')).toEqual({
        id: 'chatcmpl-fixed',
        created: 1_700_000_000,
        model: expect.any(String),
        object: 'chat.completion.chunk',
        choices: [
          { index: 0, delta: { role: 'assistant', content: ANSWER }, finish_reason: 'stop' },
        ],
      })
      expect(events[1]).toBe('[DONE]')
      expect(figures).toEqual(REPORTED)
    })

    test('answers with one JSON text shows the usage to who asked', async () => {
      const { answer } = await streamed('json-when-stream', WITH_USAGE)
      const events = eventsOf(answer.text())
      expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ choices: [], usage: REPORTED })
    })

    test('calls tools in one JSON text: each call has its place, as in a stream', async () => {
      const tool = { type: 'function', function: { name: 'weather', parameters: {} } }
      const { answer } = await streamed('json-when-stream', {
        tools: [tool],
        tool_choice: 'required',
      })
      expect(JSON.parse(eventsOf(answer.text())[0] ?? '')).toMatchObject({
        choices: [{ delta: { tool_calls: [{ index: 0, function: { name: 'weather' } }] } }],
      })
    })

    test('compresses the stream without a request is decompressed', async () => {
      const { answer, figures } = await streamed('gzip')
      expect(answer.headers).not.toHaveProperty('content-encoding')
      expect(textOf(answer.text())).toBe(ANSWER)
      expect(eventsOf(answer.text()).at(-1)).toBe('[DONE]')
      expect(figures).toEqual(REPORTED)
    })

    test.each(['bad-length-short', 'bad-length-long', 'chunked-no-end'])(
      'frames its answer wrongly (%s) is believed what is proven: all of it came',
      async (words) => {
        const { answer, figures } = await streamed(words)
        expect(textOf(answer.text())).toBe(ANSWER)
        expect(eventsOf(answer.text()).at(-1)).toBe('[DONE]')
        expect(figures).toEqual(REPORTED)
      },
    )
  })

  test('of the older completions is relayed and metered alike', async () => {
    const model = await aServedModel(setup)
    const body = { model, prompt: 'The answer is', max_tokens: 5 }
    const answer = await stream(setup, client, body, { path: '/v1/completions' })
    expect(answer.text()).toContain(' forty-two')
    expect(eventsOf(answer.text()).at(-1)).toBe('[DONE]')
    const { log } = await bookedCall(setup, requestIdOf(answer))
    expect(log).toMatchObject({ prompt_tokens: 5, completion_tokens: 3, quota: 8 })
  })

  describe('its end', () => {
    test('is held back until the call is settled', async () => {
      // A client that saw [DONE] has been charged, even if this process ends then.
      const model = await aServedModel(setup)
      const { runLedger } = setup.database
      const gate = Promise.withResolvers<void>()
      setup.database.runLedger = async (operations) => {
        if (operations.some(({ kind }) => kind === 'settle')) await gate.promise
        return runLedger(operations)
      }
      try {
        const answer = await openCall(setup, client, chatBody(model, { stream: true }))
        await eventually(() => answer.text().includes('"finish_reason":"stop"'), 'the answer')
        await new Promise((resolve) => setTimeout(resolve, 50))
        expect(textOf(answer.text())).toBe(ANSWER)
        expect(answer.text()).not.toContain('[DONE]')
        expect(answer.response.complete).toBe(false)
        gate.resolve()
        expect(await answer.ended).toBe('complete')
        expect(answer.text()).toContain('[DONE]')
      } finally {
        gate.resolve()
        setup.database.runLedger = runLedger
      }
    })

    test.each(['', 'json-when-stream', 'cut-after-3'])(
      'tells the cost in a comment to who asked for it: %s',
      async (words) => {
        const model = await aServedModel(setup, words)
        const headers = { 'x-gatehouse-cost': '1' }
        const answer = await stream(setup, client, chatBody(model), { headers })
        const { quota } = await bookedCall(setup, requestIdOf(answer))
        expect(answer.text()).toContain(`\n\n: cost ${quota}\n\n`)
        const silent = await stream(setup, client, chatBody(model))
        expect(silent.text()).not.toContain(': cost')
      },
    )
  })

  test('that runs for long stores its cost so far, and reserves what it needs', async () => {
    const own = await aClient(setup)
    const model = await aServedModel(setup, 'chunks-3000+tokens-6000+slow-chunk-1+no-usage')
    const answer = await openCall(setup, own, chatBody(model, { stream: true }))
    const stored = await eventually(async () => {
      const row = await setup.database.read
        .selectFrom('reservations')
        .selectAll()
        .where('request_id', '=', requestIdOf(answer))
        .executeTakeFirst()
      return row !== undefined && row.checkpoint !== '' ? row : null
    }, 'a checkpoint')
    const kept = JSON.parse(stored.checkpoint) as { cost: number; completionTokens: number }
    expect(kept.completionTokens).toBeGreaterThan(0)
    expect(stored.user_amount).toBeGreaterThanOrEqual(kept.cost)
    answer.leave()
    const { log } = await bookedCall(setup, requestIdOf(answer))
    expect(log.completion_tokens).toBeGreaterThan(kept.completionTokens / 2)
  })
})

test('ENFORCE_INCLUDE_USAGE: a stream contains the usage without a request for it', async () => {
  const setup = await startRelay(undefined, { ENFORCE_INCLUDE_USAGE: 'true' })
  const client = await aClient(setup)
  const gemini = await startScriptedUpstream((_request, response) => {
    const content = { role: 'model', parts: [{ text: 'Hi' }] }
    const candidates = [{ content, finishReason: 'STOP' }]
    const usageMetadata = { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 }
    response.setHeader('content-type', 'text/event-stream')
    response.end(`data: ${JSON.stringify({ candidates, usageMetadata })}\n\n`)
  })
  await aRoute(setup, 'gemini-x', { type: 24, base_url: gemini.url })
  for (const model of [await aServedModel(setup), 'gemini-x']) {
    const answer = await stream(setup, client, chatBody(model))
    const last = eventsOf(answer.text()).at(-2) ?? ''
    expect(JSON.parse(last)).toMatchObject({ choices: [], usage: REPORTED })
  }
  await setup.close()
  await gemini.close()
})
