import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Role } from '../../contract/user.ts'
import { aUser } from '../test/factories.ts'
import {
  aClient,
  aModel,
  aRoute,
  bookedCall,
  chatBody,
  eventsOf,
  eventually,
  expectAllWell,
  expectNothingCharged,
  openCall,
  requestIdOf,
  someTurns,
  startRelay,
  startScriptedUpstream,
  stream,
  textOf,
  type RelayClient,
  type RelaySetup,
  type ScriptedUpstream,
} from '../test/relay-setup.ts'

/** Streams that no sentinel of the fake upstream produces, given as their very bytes. */

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`
const FINISH = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
const usage = (prompt: number, completion: number): string =>
  `data: {"choices":[],"usage":{"prompt_tokens":${prompt},"completion_tokens":${completion}}}\n\n`
const DONE = 'data: [DONE]\n\n'
const ERROR = 'data: {"error":{"message":"it broke","type":"server_error","code":"x"}}\n\n'

let setup: RelaySetup
let upstream: ScriptedUpstream
let client: RelayClient
let script: {
  bytes: string | Buffer
  headers?: Record<string, string | string[]>
  status?: number
  isHeld?: boolean
  /** Data that arrives shortly after `bytes`. */
  rest?: string
}
beforeAll(async () => {
  setup = await startRelay()
  client = await aClient(setup)
  upstream = await startScriptedUpstream((_request, response) => {
    response.writeHead(script.status ?? 200, {
      'content-type': 'text/event-stream',
      ...script.headers,
    })
    const { rest } = script
    if (rest !== undefined) {
      response.flushHeaders()
      response.write(script.bytes)
      void someTurns().then(() => response.end(rest))
    } else if (script.isHeld === true) response.write(script.bytes)
    else response.end(script.bytes)
  })
})
afterAll(async () => {
  await expectAllWell(setup)
  await setup.close()
  await upstream.close()
})

async function streamed(bytes: string | Buffer, over: Partial<typeof script> = {}) {
  script = { bytes, ...over }
  const model = aModel()
  await aRoute(setup, model, { base_url: upstream.url })
  const answer = await stream(setup, client, chatBody(model))
  const booked = answer.status === 200 ? await bookedCall(setup, requestIdOf(answer)) : null
  return { answer, booked, events: eventsOf(answer.text()) }
}

describe('nothing that could be an answer', () => {
  test.each([
    ['no byte', ''],
    ['comments only', ': a\n\n: b\n\n'],
    ['[DONE] only', DONE],
    ['usage only', usage(3, 0) + DONE],
    ['a chunk that is null', `data: null\n\n${DONE}`],
    ['a chunk that is a list', `data: []\n\n${DONE}`],
    ['a chunk that is a number', `data: 1\n\n${DONE}`],
    ['half a chunk', 'data: {\n\n'],
    ['JSON and then more', 'data: {"choices":[]} x\n\n'],
    ['a chunk that never ends', chunk('x').trimEnd()],
    ['no newline for long', `data: ${'x'.repeat(17 * 1024 * 1024)}`],
  ])('%s: refused as unreadable, and free of charge', async (_what, bytes) => {
    const own = await aClient(setup)
    script = { bytes }
    const model = aModel()
    await aRoute(setup, model, { base_url: upstream.url })
    const answer = await stream(setup, own, chatBody(model))
    expect(answer.status).toBe(500)
    expect(JSON.parse(answer.text())).toMatchObject({
      error: { code: 'unmarshal_response_body_failed' },
    })
    await expectNothingCharged(setup, own)
  })

  test('an error first is a refusal with a status, not an event', async () => {
    const { answer } = await streamed(`: hello\n\n${ERROR}${chunk('x')}${DONE}`)
    expect(answer.status).toBe(502)
    expect(JSON.parse(answer.text())).toMatchObject({
      error: { type: 'server_error', code: 'x', message: expect.stringContaining('it broke') },
    })
  })
})

test('the status of what is made by a POST begins a stream like any other', async () => {
  const { answer, booked } = await streamed(chunk('a') + FINISH + usage(5, 1) + DONE, {
    status: 201,
  })
  expect([answer.status, textOf(answer.text())]).toEqual([200, 'a'])
  expect(booked?.log).toMatchObject({ prompt_tokens: 5, completion_tokens: 1 })
  const model = aModel()
  const id = await aRoute(setup, model, { base_url: upstream.url })
  script = { bytes: JSON.stringify({ choices: [{ message: { content: 'a' } }] }), status: 201 }
  const root = await aUser(setup, { role: Role.root })
  const tested = await setup.call('GET', `/api/channel/test/${id}?model=${model}`, { as: root })
  expect(tested.json).toMatchObject({ success: true })
})

describe.each(['application/json', 'text/plain; charset=utf-8', 'application/octet-stream'])(
  'a stream that is called %s',
  (type) => {
    const headers = { 'content-type': type }
    const bytes = chunk('a') + FINISH + usage(5, 1) + DONE

    test.each([
      ['at once', '', bytes],
      ['behind a sign of life', ': hi\n\n', bytes],
      ['behind a byte order mark', '\ufeff', bytes],
      ['in odd pieces', 'da', bytes.slice(2)],
    ])('is passed on: %s', async (_how, begun, rest) => {
      const { answer, booked } = await streamed(begun, { headers, rest })
      expect(answer.headers['content-type']).toMatch('text/event-stream')
      expect(textOf(answer.text().replace('\ufeff', ''))).toBe('a')
      expect(booked?.log).toMatchObject({ prompt_tokens: 5, completion_tokens: 1 })
    })

    test('is passed on as it comes, and ended when its client leaves', async () => {
      script = { bytes: chunk('a'), headers, isHeld: true }
      const model = aModel()
      await aRoute(setup, model, { base_url: upstream.url })
      const call = await openCall(setup, client, chatBody(model, { stream: true }))
      await eventually(() => call.text().includes('"a"') || null, 'the first word')
      call.leave()
      const { log } = await bookedCall(setup, requestIdOf(call))
      expect(log).toMatchObject({ completion_tokens: 1 })
    })
  },
)

describe.each([
  ['without a line end', ''],
  ['with a line end', '\n'],
  ['with a blank line', '\n\n'],
])('plain JSON that is called an event stream, %s', (_how, end) => {
  test('is the error that it contains', async () => {
    const bytes = JSON.stringify({
      error: { message: 'it broke', type: 'server_error', code: 'x' },
    })
    const { answer } = await streamed(bytes + end)
    expect(answer.status).toBe(502)
    expect(JSON.parse(answer.text())).toMatchObject({
      error: { type: 'server_error', code: 'x', message: expect.stringContaining('it broke') },
    })
  })

  test('is the response that it contains', async () => {
    const message = { role: 'assistant', content: 'Forty-two' }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    const used = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 }
    const completion = { id: 'c', object: 'chat.completion', choices, usage: used }
    const { answer, events, booked } = await streamed(JSON.stringify(completion, null, 2) + end)
    expect(textOf(answer.text())).toBe('Forty-two')
    expect(events.at(-1)).toBe('[DONE]')
    expect(booked?.log).toMatchObject({ prompt_tokens: 5, completion_tokens: 3 })
  })
})

describe('the end', () => {
  test('two of them: the client gets one', async () => {
    const { events } = await streamed(chunk('a') + FINISH + DONE + DONE)
    expect(events.filter((event) => event === '[DONE]')).toHaveLength(1)
  })

  test('and what follows it are two things: the rest is neither passed on nor charged', async () => {
    const { answer, booked } = await streamed(
      chunk('a') + FINISH + usage(5, 1) + DONE + chunk('more '.repeat(500)) + usage(5, 999),
    )
    expect(textOf(answer.text())).toBe('a')
    expect(booked?.log).toMatchObject({ prompt_tokens: 5, completion_tokens: 1 })
    const cut = await streamed(chunk('a') + FINISH + DONE + chunk('late').trimEnd())
    expect(textOf(cut.answer.text())).toBe('a')
  })

  test('is the end though the upstream keeps the connection open', async () => {
    const started = performance.now()
    const { events } = await streamed(chunk('a') + FINISH + DONE, { isHeld: true })
    expect(events.at(-1)).toBe('[DONE]')
    expect(performance.now() - started).toBeLessThan(20_000)
  })

  test('without a finish reason or usage proves nothing: an error event', async () => {
    const { events, booked } = await streamed(chunk('a') + DONE)
    expect(events.at(-1)).toContain('upstream_cut')
    expect(booked?.detail['usage_source']).toBe('counted')
  })

  test('without [DONE] but with everything else is the whole answer', async () => {
    const { events } = await streamed(chunk('a') + FINISH)
    expect(events.at(-1)).toBe('[DONE]')
  })
})

describe('usage', () => {
  test('twice: the later one counts', async () => {
    const { booked } = await streamed(chunk('a') + FINISH + usage(5, 1) + usage(6, 2) + DONE)
    expect(booked?.log).toMatchObject({ prompt_tokens: 6, completion_tokens: 2 })
  })

  test('before the content: counts, and is kept from the client', async () => {
    const { answer, booked } = await streamed(usage(5, 1) + chunk('a') + FINISH + DONE)
    expect(booked?.log).toMatchObject({ prompt_tokens: 5, completion_tokens: 1 })
    expect(answer.text()).not.toContain('usage')
  })

  test('of what broke off later: the prompt is believed, the text is counted', async () => {
    const { booked } = await streamed(usage(500, 1) + chunk('one two three four') + chunk(' five'))
    expect(booked?.log).toMatchObject({ prompt_tokens: 500, completion_tokens: 5 })
    expect(booked?.detail['usage_source']).toBe('counted')
  })
})

describe('an error', () => {
  test('and more chunks after it: passed on, without [DONE]', async () => {
    const { events } = await streamed(chunk('a') + ERROR + chunk('b') + FINISH + DONE)
    expect(events.some((event) => event.includes('it broke'))).toBe(true)
    expect(events).not.toContain('[DONE]')
  })

  test('whose blank line is missing still reaches the client', async () => {
    const { events } = await streamed(chunk('a') + ERROR.trimEnd())
    expect(events.at(-1)).toContain('it broke')
    expect(events).not.toContain('[DONE]')
  })

  test('inside a choice is an error', async () => {
    const inside = 'data: {"choices":[{"index":0,"error":{"code":429,"message":"busy"}}]}\n\n'
    const { events } = await streamed(chunk('a') + inside + DONE)
    expect(events.at(-1)).toContain('"code":429')
    expect(events).not.toContain('[DONE]')
  })
})

test('a chunk that no client can read ends the stream before it', async () => {
  const { answer, events } = await streamed(`${chunk('a')}data: {oops\n\n${chunk('b')}${DONE}`)
  expect(
    textOf(
      events
        .slice(0, -1)
        .map((event) => `data: ${event}`)
        .join('\n\n'),
    ),
  ).toBe('a')
  expect(answer.text()).not.toContain('oops')
  expect(events.at(-1)).toContain('upstream_cut')
})

test('bytes that are no UTF-8 inside a text pass as they are', async () => {
  const odd = Buffer.from([0x80, 0xff, 0xfe])
  const bytes = Buffer.concat([Buffer.from(chunk('@@@')), Buffer.from(FINISH + DONE)])
  const at = bytes.indexOf('@@@')
  odd.copy(bytes, at)
  const { answer } = await streamed(bytes)
  expect(answer.bytes().includes(odd)).toBe(true)
})

test('fields other than data, and events with names, pass as they are', async () => {
  const bytes = `id: 7\nretry: 99\nevent: message\n${chunk('a')}`
  const { answer } = await streamed(bytes + FINISH + DONE)
  expect(answer.text().startsWith(bytes)).toBe(true)
})

test('no header of the upstream is passed on', async () => {
  const { answer } = await streamed(chunk('a') + FINISH + DONE, {
    headers: {
      'set-cookie': ['session=theirs'],
      'access-control-allow-origin': 'https://evil.example',
      'access-control-allow-credentials': 'true',
      location: '/elsewhere',
      'openai-organization': 'our-own',
      'x-request-id': 'theirs',
      'x-ratelimit-remaining-requests': '1',
      server: 'upstream',
    },
  })
  for (const name of ['set-cookie', 'location', 'openai-organization', 'server']) {
    expect(answer.headers).not.toHaveProperty(name)
  }
  expect(answer.headers['x-request-id']).toBe(answer.headers['x-oneapi-request-id'])
  expect(answer.headers).not.toHaveProperty('access-control-allow-credentials')
  expect(answer.headers['access-control-allow-origin']).toBe('*')
})

test('hints before the answer are no answer', async () => {
  const hinting = await startScriptedUpstream((_request, response) => {
    response.writeEarlyHints({ link: '</x>; rel=preload' })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(chunk('a') + FINISH + DONE)
  })
  const model = aModel()
  await aRoute(setup, model, { base_url: hinting.url })
  const answer = await stream(setup, client, chatBody(model))
  await hinting.close()
  expect(textOf(answer.text())).toBe('a')
})

test('very many tiny events arrive, every one', async () => {
  const count = 200_000
  const { answer } = await streamed(chunk('a') + ': x\n\n'.repeat(count) + FINISH + DONE)
  expect(answer.bytes().length).toBe(script.bytes.length)
})
