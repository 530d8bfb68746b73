import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  aClient,
  aModel,
  aRoute,
  chatBody,
  post,
  startRelay,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../test/relay-setup.ts'
import { upstreamError } from './errors/upstream-error.ts'

/** The operator's secrets, which an upstream has and may repeat. */
const KEY = 'sk-the-operators-key-0123456789'
const PLAIN_KEY = 'no-prefix-key-9876543210'

describe('an upstream that repeats secrets', () => {
  let setup: RelaySetup
  let client: RelayClient
  let upstream: ScriptedUpstream
  let script: { status: number; body: string; type: string }
  beforeAll(async () => {
    setup = await startRelay()
    // Everything that the program can say is looked through.
    setup.app.trace.level = 'trace'
    client = await aClient(setup)
    upstream = await startScriptedUpstream((_request, response) => {
      const { status, body, type } = script
      response.writeHead(status, { 'content-type': type, 'set-cookie': 'a=b' }).end(body)
    })
  })
  afterAll(async () => {
    await setup.close()
    await upstream.close()
  })

  const EVENT_STREAM = 'text/event-stream'
  const first = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'
  const everywhere = (key: string): string => {
    const { host, hostname } = new URL(upstream.url)
    const words = `key ${key} at ${upstream.url}/v1, host ${host}, ${hostname}: Bearer ${key}`
    const error = { message: words, type: `t ${key}`, code: `c ${host}`, param: `p ${key}` }
    return JSON.stringify({ error })
  }
  const cases: [string, (key: string) => typeof script][] = [
    ['in an error', (key) => ({ status: 401, body: everywhere(key), type: 'application/json' })],
    [
      'in a bare message',
      (key) => ({ status: 500, body: JSON.stringify({ message: key }), type: 'application/json' }),
    ],
    [
      'in a detail',
      (key) => ({ status: 404, body: JSON.stringify({ detail: key }), type: 'application/json' }),
    ],
    ['on a page', (key) => ({ status: 502, body: `<html>${key}</html>`, type: 'text/html' })],
    ['in a good status', (key) => ({ status: 200, body: everywhere(key), type: 'text/plain' })],
    [
      'in the first event of a stream',
      (key) => ({ status: 200, body: `data: ${everywhere(key)}\n\n`, type: EVENT_STREAM }),
    ],
    [
      'in the middle of a stream',
      (key) => ({ status: 200, body: `${first}data: ${everywhere(key)}\n\n`, type: EVENT_STREAM }),
    ],
    [
      'at the end of a stream',
      (key) => ({ status: 200, body: `${first}data: ${everywhere(key)}`, type: EVENT_STREAM }),
    ],
    [
      'at the edge of what is passed on',
      (key) => ({
        status: 400,
        body: JSON.stringify({ error: { message: `${'x'.repeat(2000 - 10)}${key}` } }),
        type: 'application/json',
      }),
    ],
  ]

  test.each(cases)('%s reveals nothing to the client or in the trace', async (_what, make) => {
    for (const key of [KEY, PLAIN_KEY]) {
      script = make(key)
      const model = aModel()
      await aRoute(setup, model, { base_url: upstream.url, key })
      const { host, hostname, port } = new URL(upstream.url)
      for (const isStream of [false, true]) {
        const answer = isStream
          ? await stream(setup, client, chatBody(model))
          : { ...(await post(setup, client, chatBody(model))), bytes: null }
        const text = typeof answer.text === 'string' ? answer.text : answer.text()
        expect(text).toContain('error')
        const told = [text, JSON.stringify(answer.headers), ...setup.faults].join('\n')
        for (const secret of [key, key.slice(0, 10), upstream.url, host, `${hostname}:`, port]) {
          expect(told).not.toContain(secret)
        }
        expect(answer.headers).not.toHaveProperty('set-cookie')
      }
    }
    expect(setup.faults.join()).toMatch(/a channel failed|an upstream refused a request/)
    setup.faults.length = 0
  })

  test('nor does a connection that fails', async () => {
    const model = aModel()
    await aRoute(setup, model, { base_url: 'http://secret-host.invalid:1234/base', key: KEY })
    const { text } = await post(setup, client, chatBody(model))
    const told = [text, ...setup.faults].join('\n')
    for (const secret of ['secret-host', '1234', KEY, 'ENOTFOUND']) {
      expect(told).not.toContain(secret)
    }
    setup.faults.length = 0
  })

  test('the client’s own key is in no trace either', async () => {
    script = { status: 200, body: '{}', type: 'application/json' }
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    await post(setup, client, chatBody(model))
    await post(setup, { key: `${client.key}x` }, chatBody(model))
    await post(setup, await aClient(setup, { token: { expired_time: 1 } }), chatBody(model))
    expect(setup.faults.join()).toContain('a token was refused')
    expect(setup.faults.join()).not.toContain(client.key)
    setup.faults.length = 0
  })
})

describe('an upstream’s error', () => {
  const read = (body: unknown, status = 400) =>
    upstreamError({ status, body: Buffer.from(JSON.stringify(body)) }, 'en', {
      type: 1,
      key: '',
      baseUrl: '',
    })

  test('keeps its status, type, code and parameter', () => {
    const error = { message: 'no', type: 'some_type', code: 'some_code', param: 'messages' }
    expect(read({ error })).toMatchObject({ status: 400, ...error })
  })

  test.each([
    [{ error: { message: 'no', code: 7 } }, 'no', 7],
    [{ error: { message: 'no', code: null } }, 'no', ''],
    [{ error: 'no' }, 'no', 'bad_response_status_code'],
    [{ message: 'no' }, 'no', 'bad_response_status_code'],
    [{ msg: 'no' }, 'no', 'bad_response_status_code'],
    [{ err: 'no' }, 'no', 'bad_response_status_code'],
    [{ error_msg: 'no' }, 'no', 'bad_response_status_code'],
    [{ detail: 'no' }, 'no', 'bad_response_status_code'],
    [
      { detail: [{ loc: ['body', 'n'], msg: 'must be 1' }] },
      'body.n: must be 1',
      'bad_response_status_code',
    ],
    [{ header: { code: 7, message: 'no' } }, 'no', 'bad_response_status_code'],
    [{ response: { error: { message: 'no' } } }, 'no', 'bad_response_status_code'],
    [{ errors: [{ message: 'no' }] }, 'no', 'bad_response_status_code'],
    [{ base_resp: { status_msg: 'no' } }, 'no', 'bad_response_status_code'],
    [{ Response: { Error: { Message: 'no' } } }, 'no', 'bad_response_status_code'],
    [{ error: { status_code: 1008, status_msg: 'no' } }, 'no', 1008],
    [{ code: 20_015, message: 'no', data: null }, 'no', 20_015],
    [{ code: 403, reason: 'SOME_REASON', message: 'no' }, 'no', 'SOME_REASON'],
    [{ code: 'A whole sentence', error: 'no' }, 'no', 'bad_response_status_code'],
    [{}, 'The upstream responded with status 400', 'bad_response_status_code'],
    [[], 'The upstream responded with status 400', 'bad_response_status_code'],
    ['text', 'The upstream responded with status 400', 'bad_response_status_code'],
    [{ error: {} }, 'The upstream responded with status 400', ''],
  ])('is found wherever it is: %j', (body, message, code) => {
    expect(read(body)).toMatchObject({ message, code })
  })

  test('of 429 says the same for every upstream, with its own type and code', () => {
    const error = { message: 'Rate limit of organisation X', type: 'tokens', code: 'rate' }
    expect(read({ error }, 429)).toMatchObject({
      message: 'The upstream is busy. Try again later',
      type: 'tokens',
      code: 'rate',
    })
  })

  test('is bounded in every part', () => {
    const long = 'y'.repeat(100_000)
    const answer = read({ error: { message: long, type: long, code: long, param: long } })
    // The words twice: for the client, and as they were for admins.
    expect(JSON.stringify(answer).length).toBeLessThan(5000)
  })
})
