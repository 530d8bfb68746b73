import http from 'node:http'
import { describe, expect, test } from 'vitest'
import { ChannelTypeNumber } from '../../contract/channel-type-number.ts'
import { Role } from '../../contract/user.ts'
import { aChannel } from '../test/factories.ts'
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
  stream,
  textOf,
  type RelaySetup,
} from '../test/relay-setup.ts'
import { useRelaySetup } from '../test/use-relay.ts'

/**
 * Limits of a few seconds, because the calls that end in time are slow on a busy machine, too. The
 * tests of a group wait side by side.
 */

const TIMED_OUT = { code: 'upstream_timeout', status: 504 } as const

/** Half of an audio response: it is marked as incomplete, and its text is charged. */
async function expectHalfRecording(setup: RelaySetup): Promise<void> {
  const model = await aServedModel(setup, 'hang-mid-stream')
  const body = { model, input: 'hello, you', voice: 'a' }
  const answer = await openCall(setup, await aClient(setup), body, { path: '/v1/audio/speech' })
  expect(await answer.ended).toBe('broken')
  expect(answer.bytes().length).toBeGreaterThan(0)
  expect((await bookedCall(setup, requestIdOf(answer))).quota).toBe(10)
}

describe.concurrent('an upstream that is silent for longer than it may be', () => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), {
    settings: {
      RELAY_FIRST_BYTE_TIMEOUT: '4',
      RELAY_WHOLE_ANSWER_TIMEOUT: '4',
      RELAY_IDLE_TIMEOUT: '4',
    },
  })

  test.for([
    ['at first', 'hang', false],
    ['at first', 'hang', true],
    ['after its headers', 'stall', false],
    ['after its headers', 'stall', true],
    ['in the middle of a whole answer', 'hang-mid-stream', false],
  ] as const)('%s (%s, stream: %j): 504, free of charge', async ([, words, isStream]) => {
    const client = await aClient(setup)
    const model = await aServedModel(setup, words)
    const answer = await post(setup, client, chatBody(model, { stream: isStream }))
    expectRefusal(answer, TIMED_OUT)
    await expectNothingCharged(setup, client)
    expect(answer.headers['connection']).not.toBe('close')
  })

  test('in the middle of a stream: an error event, and what came is charged', async () => {
    const client = await aClient(setup)
    const model = await aServedModel(setup, 'hang-mid-stream')
    const answer = await stream(setup, client, chatBody(model))
    expect(answer.end).toBe('complete')
    expect(answer.text()).not.toContain('[DONE]')
    expect(JSON.parse(eventsOf(answer.text()).at(-1) ?? '')).toMatchObject({
      error: { code: 'upstream_timeout', message: expect.stringContaining(requestIdOf(answer)) },
    })
    const { log, detail } = await bookedCall(setup, requestIdOf(answer))
    expect(log.prompt_tokens).toBe(12)
    expect(log.completion_tokens).toBeGreaterThan(0)
    expect(detail['usage_source']).toBe('counted')
  })

  test('in the middle of a recording: it is broken off and charged', () =>
    expectHalfRecording(setup))

  test.for(['hang', 'stall'])('is passed over for another: %s', async (words) => {
    const model = aModel()
    await aRoute(setup, model, { words, priority: 1 })
    await aRoute(setup, model)
    const answer = await stream(setup, await aClient(setup), chatBody(model))
    expect(textOf(answer.text())).toBe('The answer is forty-two.')
  })

  test.for([
    ['/v1/chat/completions', chatBody('')],
    ['/v1/embeddings', { input: 'hi' }],
  ] as const)('is passed over for another by whole answers: %s', async ([path, body]) => {
    const model = aModel()
    await aRoute(setup, model, { words: 'hang', priority: 1 })
    await aRoute(setup, model)
    const answer = await post(setup, await aClient(setup), { ...body, model }, { path })
    expect(answer.status).toBe(200)
  })

  const form = '--x\r\nContent-Disposition: form-data; name='
  const formOf = (model: string, file: string): string =>
    `${form}"model"\r\n\r\n${model}\r\n${form}"prompt"\r\n\r\na cat\r\n` +
    `${form}"${file}"; filename="a.wav"\r\n\r\nRIFF\r\n--x--\r\n`

  test.for([
    ['/v1/images/generations', (model: string) => ({ model, prompt: 'a cat' })],
    ['/v1/images/generations', (model: string) => ({ model, prompt: 'a cat', stream: true })],
    ['/v1/images/edits', (model: string) => formOf(model, 'image')],
    ['/v1/audio/speech', (model: string) => ({ model, input: 'hello', voice: 'a' })],
    ['/v1/audio/transcriptions', (model: string) => formOf(model, 'file')],
    ['/v1/audio/translations', (model: string) => formOf(model, 'file')],
  ] as const)(
    'is not asked for twice what each time costs: %s',
    async ([path, bodyOf], context) => {
      const model = aModel(`gpt-image-${context.task.id}`)
      await aRoute(setup, model, { words: 'hang', priority: 1 })
      const second = await aRoute(setup, model, { words: 'second' })
      const client = await aClient(setup)
      const body = bodyOf(model)
      const headers = { 'content-type': 'multipart/form-data; boundary=x' }
      const input = { path, ...(typeof body === 'string' ? { headers } : {}) }
      const answer = await post(setup, client, body, input)
      expectRefusal(answer, TIMED_OUT)
      // The clients' own programs ask again by themselves otherwise.
      expect(answer.headers['x-should-retry']).toBe('false')
      await expectNothingCharged(setup, client)
      const { text } = await setup.call('GET', '/metrics')
      expect(text).not.toContain(`channel="${second}"`)
    },
  )

  test.for([
    ['/v1/images/generations', 'cut-after-20', 502, false],
    ['/v1/audio/transcriptions', 'cut-after-5', 502, false],
    ['/v1/images/generations', 'fail-cut', 500, true],
    ['/v1/chat/completions', 'cut-after-20', 502, true],
    ['/v1/images/generations', 'fail-504', 504, false],
    ['/v1/images/generations', 'fail-524', 524, false],
    ['/v1/audio/speech', 'fail-524', 524, false],
    ['/v1/images/generations', 'fail-503', 503, true],
    ['/v1/chat/completions', 'fail-504', 504, true],
  ] as const)(
    'nor what broke off, or a server in front of it has not waited for: %s, %s',
    async ([path, words, status, isAskedAgain]) => {
      const model = aModel()
      await aRoute(setup, model, { words, priority: 1 })
      await aRoute(setup, model)
      const client = await aClient(setup)
      const isForm = path.endsWith('transcriptions')
      const body = { ...chatBody(model), prompt: 'a cat', input: 'hello', voice: 'a' }
      const answer = await post(setup, client, isForm ? formOf(model, 'file') : body, {
        path,
        ...(isForm ? { headers: { 'content-type': 'multipart/form-data; boundary=x' } } : {}),
      })
      expect(answer.status).toBe(isAskedAgain ? 200 : status)
      expect(answer.headers['x-should-retry']).toBe(isAskedAgain ? undefined : 'false')
      if (!isAskedAgain) await expectNothingCharged(setup, client)
    },
  )

  test('is not one that sends slowly but steadily', async () => {
    const model = await aServedModel(setup, 'slow-chunk-1000')
    const answer = await stream(setup, await aClient(setup), chatBody(model))
    expect(eventsOf(answer.text()).at(-1)).toBe('[DONE]')
  })
})

describe.concurrent('of an answer in one piece nothing comes before all of it is made', () => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), { settings: { RELAY_FIRST_BYTE_TIMEOUT: '2' } })

  test.for([
    ['an answer gets five times as long as a stream', '/v1/chat/completions', false, 200],
    ['a stream does not', '/v1/chat/completions', true, 504],
    ['a recording does', '/v1/audio/speech', false, 200],
  ] as const)('%s', async ([, path, isStream, status]) => {
    const model = await aServedModel(setup, 'slow-4000')
    const body = { ...chatBody(model, { stream: isStream }), input: 'hello', voice: 'a' }
    const answer = await post(setup, await aClient(setup), body, { path })
    expect(answer.status).toBe(status)
  })

  test('a raw call does, since its format is unknown', async () => {
    const channel = await aChannel(setup, {
      type: ChannelTypeNumber.proxy,
      base_url: `${setup.upstream.url}/~slow-4000`,
      models: '',
    })
    const admin = await aClient(setup, { role: Role.admin })
    const path = `/v1/oneapi/proxy/${channel}/v1/chat/completions`
    expect((await post(setup, admin, chatBody('m'), { path })).status).toBe(200)
  })

  test('a count of tokens does not: it is made here instead', async () => {
    const model = aModel()
    await aRoute(setup, model, { type: 14, words: 'hang' })
    const began = performance.now()
    const path = '/v1/messages/count_tokens'
    expect((await post(setup, await aClient(setup), chatBody(model), { path })).status).toBe(200)
    // Whole answers may take 10 seconds.
    expect(performance.now() - began).toBeLessThan(9000)
  })
})

describe.concurrent('a call that takes longer than the operator allows', () => {
  let setup: RelaySetup
  useRelaySetup((started) => (setup = started), { settings: { RELAY_TIMEOUT: '3' } })

  test.for([
    ['hang', false],
    ['hang', true],
    ['hang-mid-stream', false],
  ] as const)(
    'without an answer (%s, stream: %j): 504, free of charge',
    async ([words, isStream]) => {
      const client = await aClient(setup)
      const model = await aServedModel(setup, words)
      const answer = await post(setup, client, chatBody(model, { stream: isStream }))
      expectRefusal(answer, TIMED_OUT)
      await expectNothingCharged(setup, client)
    },
  )

  test('is not tried on another channel', async () => {
    const client = await aClient(setup)
    const model = aModel()
    await aRoute(setup, model, { words: 'hang', priority: 1 })
    await aRoute(setup, model, { words: 'second' })
    expectRefusal(await post(setup, client, chatBody(model)), TIMED_OUT)
    const urls = setup.upstream.seen().map(({ url }) => url)
    expect(urls.filter((url) => url.includes('second'))).toEqual([])
  })

  test('with half a stream: an error event, and the half is charged', async () => {
    const client = await aClient(setup)
    const model = await aServedModel(setup, 'chunks-80+tokens-80+slow-chunk-100')
    const answer = await stream(setup, client, chatBody(model))
    expect(answer.end).toBe('complete')
    expect(eventsOf(answer.text()).at(-1)).toContain('upstream_timeout')
    expect(answer.text()).not.toContain('[DONE]')
    const delivered = textOf(answer.text()).split('word').length - 1
    const { log } = await bookedCall(setup, requestIdOf(answer))
    expect(log.completion_tokens).toBeGreaterThanOrEqual(delivered)
    expect(log.completion_tokens).toBeLessThanOrEqual(delivered + 2)
  })

  test('with half a recording: it is broken off and charged', () => expectHalfRecording(setup))

  test('because its body never comes: 504, and the connection is closed', async () => {
    const client = await aClient(setup)
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
    const call = http.request(`${setup.url}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${client.key}`, 'content-length': '100' },
    })
    call.on('response', resolve).on('error', reject)
    call.write('{"model":')
    const response = await promise
    expect(response.statusCode).toBe(504)
    expect(response.headers.connection).toBe('close')
    response.resume()
    await expectNothingCharged(setup, client)
  })

  test('leaves its upstream', async () => {
    const own = await startRelay(undefined, { RELAY_TIMEOUT: '3' })
    const model = await aServedModel(own, 'hang')
    await post(own, await aClient(own), chatBody(model))
    const [seen] = own.upstream.seen()
    await eventually(() => seen?.outcome !== 'open', 'the upstream to be left')
    expect(seen?.outcome).toBe('client-gone')
    await own.close()
  })

  test('is not one that ends in time', async () => {
    const model = await aServedModel(setup, 'slow-chunk-20')
    const answer = await stream(setup, await aClient(setup), chatBody(model))
    expect(eventsOf(answer.text()).at(-1)).toBe('[DONE]')
  })
})
