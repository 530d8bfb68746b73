import zlib from 'node:zlib'
import { request } from 'undici'
import { describe, expect, test } from 'vitest'
import { Role } from '../../../../contract/user.ts'
import { onSqlite } from '../../../test/for-each-database.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  bookedCall,
  chatBody,
  expectNothingCharged,
  expectRefusal,
  openCall,
  post,
  QUESTION,
  quotaOf,
  requestIdOf,
  someTurns,
  startScriptedUpstream,
  type RelayClient,
  type RelaySetup,
} from '../../../test/relay-setup.ts'
import { useRelay } from '../../../test/use-relay.ts'

const REPORTED = { prompt_tokens: 11, completion_tokens: 7 }
const COUNTED = { prompt_tokens: 12, completion_tokens: 6 }

onSqlite('a whole answer', (open) => {
  let setup: RelaySetup
  let client: RelayClient
  useRelay((now) => ({ setup, client } = now), { open, sharesClient: true })

  async function answered(words: string, over: Record<string, unknown> = {}) {
    const model = await aServedModel(setup, words)
    const answer = await post(setup, client, chatBody(model, over))
    const booked = answer.status === 200 ? await bookedCall(setup, requestIdOf(answer)) : null
    return { model, answer, booked }
  }

  test.each(['', 'no-usage', 'split-utf8', 'tokens-500', 'cached-100+reasoning-3'])(
    'reaches the client byte for byte: %s',
    async (words) => {
      const model = await aServedModel(setup, words)
      const answer = await openCall(setup, client, chatBody(model))
      await answer.ended
      const direct = await request(`${setup.upstream.url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify(chatBody(model)),
      })
      const bytes = Buffer.from(await direct.body.arrayBuffer())
      expect(answer.bytes().equals(bytes)).toBe(true)
      expect(answer.headers['content-length']).toBe(String(bytes.length))
    },
  )

  test('has a content type, our own headers and none of the upstream’s', async () => {
    const upstream = await startScriptedUpstream((_request, response) => {
      response.writeHead(200, {
        'content-type': 'application/json; charset=utf-8',
        'set-cookie': ['session=theirs; Path=/'],
        'access-control-allow-origin': 'https://evil.example',
        'x-request-id': 'theirs',
        'openai-organization': 'our-own',
        'x-oneapi-request-id': 'theirs',
        location: '/elsewhere',
      })
      response.end('{"choices":[{}],"usage":{"prompt_tokens":1,"completion_tokens":1}}')
    })
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    const { headers, status } = await post(setup, client, chatBody(model))
    await upstream.close()
    expect(status).toBe(200)
    expect(Object.keys(headers).toSorted()).toEqual([
      'access-control-allow-origin',
      'access-control-expose-headers',
      'connection',
      'content-length',
      'content-security-policy',
      'content-type',
      'date',
      'keep-alive',
      'x-content-type-options',
      'x-gatehouse-overhead-ms',
      'x-gatehouse-quota',
      'x-gatehouse-quota-remaining',
      'x-oneapi-request-id',
      'x-request-id',
    ])
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(headers['x-oneapi-request-id']).not.toBe('theirs')
    expect(headers['x-request-id']).toBe(headers['x-oneapi-request-id'])
    // A form on another site can open it as a page of ours.
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'.*; sandbox$/)
    expect(headers['x-content-type-options']).toBe('nosniff')
  })

  describe('reports in its headers', () => {
    test('what it cost, what is left to its token and how long we took', async () => {
      const own = await aClient(setup, { quota: 1000 })
      const model = await aServedModel(setup)
      const { headers } = await post(setup, own, chatBody(model))
      expect(headers).toMatchObject({
        'x-gatehouse-quota': '18',
        'x-gatehouse-quota-remaining': '982',
      })
      expect(await quotaOf(setup, own.userId)).toBe(982)
      const limited = await aClient(setup, {
        quota: 5000,
        token: { unlimited_quota: false, remain_quota: 1000 },
      })
      const told = async (): Promise<unknown> => {
        const answer = await post(setup, limited, chatBody(model))
        return answer.headers['x-gatehouse-quota-remaining']
      }
      expect(await told()).toBe('982')
      // Installations whose billing endpoints report the owner's balance report it here, too.
      await setup.app.options.set('DisplayTokenStatEnabled', 'false')
      expect(await told()).toBe('4964')
      await setup.app.options.set('DisplayTokenStatEnabled', 'true')
      expect(Number(headers['x-gatehouse-overhead-ms'])).toBeGreaterThan(0)
      expect(headers).not.toHaveProperty('x-gatehouse-channel')
    })

    test('the waiting for the upstream left out', async () => {
      const model = await aServedModel(setup, 'slow-400')
      const beganMs = performance.now()
      const { headers } = await post(setup, client, chatBody(model))
      const elapsedMs = performance.now() - beganMs
      // A timer may be early by a moment.
      const ownMs = elapsedMs - 398
      expect(Number(headers['x-gatehouse-overhead-ms'])).toBeLessThanOrEqual(ownMs)
    })

    test('which channel it was, to admins', async () => {
      const model = aModel()
      const id = await aRoute(setup, model)
      const admin = await aClient(setup, { role: Role.admin })
      const { headers } = await post(setup, admin, chatBody(model))
      expect(headers['x-gatehouse-channel']).toBe(String(id))
    })
  })

  describe('is metered', () => {
    test('by the upstream’s figures', async () => {
      const { booked } = await answered('')
      expect(booked?.log).toMatchObject(REPORTED)
      expect(booked?.detail['usage_source']).toBe('upstream')
    })

    test.each([
      'no-usage',
      'usage-negative',
      'usage-string',
      'usage-huge',
      'usage-nan',
      'usage-fraction',
    ])('by our own count, and flagged, when its figures cannot be believed: %s', async (words) => {
      const { booked } = await answered(words)
      expect(booked?.log).toMatchObject(COUNTED)
      expect(booked?.detail['usage_source']).toBe('counted')
    })

    test('by the bytes of the question if the operator has chosen approximate counting', async () => {
      await setup.app.options.set('ApproximateTokenEnabled', 'true')
      const model = await aServedModel(setup, 'no-usage')
      const body = JSON.stringify(chatBody(model))
      const answer = await post(setup, client, body)
      await setup.app.options.set('ApproximateTokenEnabled', 'false')
      const { log } = await bookedCall(setup, requestIdOf(answer))
      expect(log.prompt_tokens).toBe(Math.floor(body.length * 0.38))
    })
  })

  describe('is an error, and costs nothing, when the upstream', () => {
    test.each([
      ['refuses', 'fail-400', 400, 'code_400'],
      ['refuses the key', 'fail-key', 503, 'channel_account_refused'],
      ['has no quota', 'fail-quota', 503, 'channel_account_refused'],
      ['is busy', 'fail-429-retry-3', 429, 'code_429'],
      ['does not know the model', 'fail-model', 404, 'model_not_found'],
      ['fails', 'fail-500', 500, 'code_500'],
      ['fails with a page', 'fail-html', 502, 'bad_response_status_code'],
      ['fails in a packed body', 'fail-503+gzip', 503, 'code_503'],
      ['says nothing', 'fail-empty', 500, 'unmarshal_response_body_failed'],
      ['has no content', 'empty-204', 500, 'unmarshal_response_body_failed'],
      ['answers with a page', 'html-200', 500, 'unmarshal_response_body_failed'],
      ['smiles and refuses', 'error-200', 502, 'refused_with_200'],
      ['sends us elsewhere', 'redirect', 502, 'bad_response_status_code'],
      ['hangs up', 'fail-cut', 500, 'do_request_failed'],
      ['breaks off', 'cut-after-20', 502, 'upstream_cut'],
      ['announces more than it sends', 'bad-length-long', 502, 'upstream_cut'],
      ['announces less than it sends', 'bad-length-short', 500, 'unmarshal_response_body_failed'],
      ['never ends', 'chunked-no-end', 502, 'upstream_cut'],
      ['sends a bomb', 'bomb', 502, 'upstream_answer_too_large'],
    ])('%s (%s): %i %s', async (_what, words, status, code) => {
      const own = await aClient(setup)
      const model = await aServedModel(setup, words)
      const answer = await post(setup, own, chatBody(model))
      expect(answer.status).toBe(status)
      expect(answer.json).toMatchObject({ error: { code } })
      expect(answer.text).toContain(requestIdOf(answer))
      expect(answer.headers['retry-after']).toBe(words.includes('retry-3') ? '3' : undefined)
      expect(setup.upstream.seen().map(({ url }) => url)).not.toContain('/__redirected/v1')
      await expectNothingCharged(setup, own)
    })

    test.each([600, 999])('names a status that there is not: %i', async (status) => {
      const upstream = await startScriptedUpstream((_request, response) => {
        response.writeHead(status).end('{}')
      })
      const model = aModel()
      await aRoute(setup, model, { base_url: upstream.url })
      expect((await post(setup, await aClient(setup), chatBody(model))).status).toBe(502)
      await upstream.close()
    })

    test('breaks off a refusal: its status is what counts', async () => {
      const upstream = await startScriptedUpstream((_request, response) => {
        response.writeHead(400, { 'content-type': 'application/json', 'content-length': 100 })
        response.write('{"error":{"message":"no')
        void someTurns().then(() => response.socket?.resetAndDestroy())
      })
      for (const isStream of [false, true]) {
        const model = aModel()
        await aRoute(setup, model, { base_url: upstream.url })
        const answer = await post(setup, client, chatBody(model, { stream: isStream }))
        expect(answer.status).toBe(400)
      }
      await upstream.close()
    })

    test('refuses at great length: the status stays, the words are not all read', async () => {
      const upstream = await startScriptedUpstream((_request, response) => {
        response.writeHead(422, { 'content-type': 'text/plain' })
        response.end('no '.repeat(2_000_000))
      })
      for (const isStream of [false, true]) {
        const model = aModel()
        await aRoute(setup, model, { base_url: upstream.url })
        const answer = await post(setup, client, chatBody(model, { stream: isStream }))
        expect(answer.status).toBe(422)
        expect(answer.text.length).toBeLessThan(1000)
      }
      await upstream.close()
    })
  })

  test('that begins with a byte order mark is read, and passed on without it', async () => {
    const body = '{"choices":[{}],"usage":{"prompt_tokens":3,"completion_tokens":4}}'
    const upstream = await startScriptedUpstream((_request, response) =>
      response.end(`\ufeff${body}`),
    )
    for (const isStream of [false, true]) {
      const model = aModel()
      await aRoute(setup, model, { base_url: upstream.url })
      const answer = await post(setup, client, chatBody(model, { stream: isStream }))
      if (!isStream) expect(answer.text).toBe(body)
      const { log } = await bookedCall(setup, requestIdOf(answer))
      expect(log).toMatchObject({ prompt_tokens: 3, completion_tokens: 4 })
    }
    await upstream.close()
  })

  describe('that is compressed without a request for it', () => {
    test('is unpacked', async () => {
      const { answer, booked } = await answered('gzip')
      expect(answer.headers).not.toHaveProperty('content-encoding')
      expect(answer.json).toMatchObject({ object: 'chat.completion' })
      expect(booked?.log).toMatchObject(REPORTED)
    })

    test.each([
      ['br', zlib.brotliCompressSync],
      ['deflate', zlib.deflateSync],
      // Without its head, which browsers put up with.
      ['deflate', zlib.deflateRawSync],
      ['zstd', zlib.zstdCompressSync],
      ['gzip, br', (bytes: Buffer) => zlib.brotliCompressSync(zlib.gzipSync(bytes))],
    ] as const)('is unpacked from %s', async (encoding, pack) => {
      const body = '{"choices":[{}],"usage":{"prompt_tokens":3,"completion_tokens":4}}'
      const upstream = await startScriptedUpstream((_request, response) => {
        response.writeHead(200, { 'content-encoding': encoding })
        response.end(pack(Buffer.from(body)))
      })
      const model = aModel()
      await aRoute(setup, model, { base_url: upstream.url })
      const answer = await post(setup, client, chatBody(model))
      await upstream.close()
      expect(answer.text).toBe(body)
      const { log } = await bookedCall(setup, requestIdOf(answer))
      expect(log).toMatchObject({ prompt_tokens: 3, completion_tokens: 4 })
    })

    test.each(['rot13', 'gzip, rot13', 'gzip, gzip, gzip'])(
      'by %s is unreadable',
      async (encoding) => {
        const upstream = await startScriptedUpstream((_request, response) => {
          response.writeHead(200, { 'content-encoding': encoding })
          response.end('{}')
        })
        const model = aModel()
        await aRoute(setup, model, { base_url: upstream.url })
        const answer = await post(setup, client, chatBody(model))
        await upstream.close()
        expectRefusal(answer, {
          code: 'upstream_answer_invalid',
          status: 500,
          wireCode: 'unmarshal_response_body_failed',
        })
      },
    )
  })

  describe('on the other surfaces', () => {
    test('completions', async () => {
      const model = await aServedModel(setup)
      const body = { model, prompt: 'The answer is', max_tokens: 5 }
      const answer = await post(setup, client, body, { path: '/v1/completions' })
      expect(answer.json).toMatchObject({ choices: [{ text: ' forty-two' }] })
      const { log, quota } = await bookedCall(setup, requestIdOf(answer))
      expect(log).toMatchObject({ prompt_tokens: 5, completion_tokens: 3 })
      expect(quota).toBe(8)
    })

    test('embeddings: the prompt alone is used', async () => {
      const model = await aServedModel(setup)
      const body = { model, input: ['a', 'b'] }
      const answer = await post(setup, client, body, { path: '/v1/embeddings' })
      expect(answer.json).toMatchObject({ object: 'list' })
      const { log } = await bookedCall(setup, requestIdOf(answer))
      expect(log).toMatchObject({ prompt_tokens: 6, completion_tokens: 0 })
    })

    test('moderations, which report nothing: the input is counted', async () => {
      const model = await aServedModel(setup)
      const body = { model, input: 'hello' }
      const answer = await post(setup, client, body, { path: '/v1/moderations/' })
      expect(answer.json).toMatchObject({ results: [{ flagged: false }] })
      const { log } = await bookedCall(setup, requestIdOf(answer))
      expect(log).toMatchObject({ prompt_tokens: 1, completion_tokens: 0 })
    })

    test.each([{}, { model: null }, { model: '' }])(
      'moderations without a model: %j',
      async (over) => {
        await aRoute(setup, 'omni-moderation-latest')
        setup.upstream.seen()
        const body = { input: 'hello', ...over }
        const answer = await post(setup, client, body, { path: '/v1/moderations' })
        expect(answer.status).toBe(200)
        expect(setup.upstream.seen()[0]?.body).toEqual({
          input: 'hello',
          model: 'omni-moderation-latest',
        })
      },
    )

    // Channels of an adopted One API list these alone.
    test.each([{ group: 'older' }, { token: { models: 'gpt-4o,text-moderation-latest' } }])(
      'moderations without a model, for whom the newest is not there: %j',
      async (over) => {
        const older = 'text-moderation-latest'
        await aRoute(setup, 'omni-moderation-latest')
        await aRoute(setup, older, { group: 'default,older' })
        setup.upstream.seen()
        const body = { input: 'hello' }
        const own = await aClient(setup, over)
        const answer = await post(setup, own, body, { path: '/v1/moderations' })
        expect(answer.status).toBe(200)
        expect(setup.upstream.seen()[0]?.body).toEqual({ ...body, model: older })
      },
    )
  })

  test('waits for its settlement', async () => {
    const model = await aServedModel(setup)
    const { runLedger } = setup.database
    const gate = Promise.withResolvers<void>()
    const settling = Promise.withResolvers<void>()
    setup.database.runLedger = async (operations) => {
      if (operations.some(({ kind }) => kind === 'settle')) {
        settling.resolve()
        await gate.promise
      }
      return runLedger(operations)
    }
    try {
      let isAnswered = false
      const calling = post(setup, client, chatBody(model)).then((answer) => {
        isAnswered = true
        return answer
      })
      await settling.promise
      await new Promise((resolve) => setTimeout(resolve, 30))
      expect(isAnswered).toBe(false)
      gate.resolve()
      expect((await calling).status).toBe(200)
    } finally {
      gate.resolve()
      setup.database.runLedger = runLedger
    }
  })

  test('of a channel with a system prompt of its own: in place of the client’s, or in front', async () => {
    const model = aModel()
    await aRoute(setup, model, { system_prompt: 'Be "brief".\n' })
    const own = { role: 'system', content: 'Be "brief".\n' }
    const theirs = { role: 'system', content: 'theirs' }
    setup.upstream.seen()
    const plain = await post(setup, client, chatBody(model))
    await post(setup, client, chatBody(model, { messages: [theirs, ...QUESTION] }))
    const sent = setup.upstream.seen().map(({ body }) => body)
    expect(sent).toMatchObject([{ messages: [own, ...QUESTION] }, { messages: [own, ...QUESTION] }])
    const { log } = await bookedCall(setup, requestIdOf(plain))
    expect(log.system_prompt_reset).toBeTruthy()
  })

  test.each([
    ['/v1/completions', { prompt: 'a' }],
    ['/v1/embeddings', { input: 'a' }],
    ['/v1/images/generations', { prompt: 'a' }],
  ])('of such a channel where a call has no place for it: %s', async (path, body) => {
    const model = aModel()
    await aRoute(setup, model, { system_prompt: 'Be brief.' })
    const answer = await post(setup, client, { model, ...body }, { path })
    const { log } = await bookedCall(setup, requestIdOf(answer))
    expect(log.system_prompt_reset).toBeFalsy()
  })
})
