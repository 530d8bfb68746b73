import { execFile } from 'node:child_process'
import http from 'node:http'
import net from 'node:net'
import { join } from 'node:path'
import { createParser } from 'eventsource-parser'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFakeUpstream, type FakeUpstream, type SeenCall } from './fake-upstream.ts'

let upstream: FakeUpstream
beforeAll(async () => {
  upstream = await startFakeUpstream()
})
afterAll(() => upstream.close())
beforeEach(() => {
  upstream.seen()
})

const question = [{ role: 'user', content: 'What is the answer?' }]
const answer = 'The answer is forty-two.'

type Got = { status: number; headers: http.IncomingHttpHeaders; body: Buffer; error: string }

/** Sends a call and returns the received bytes, even if the response is broken. */
function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Got> {
  return new Promise((resolve) => {
    const parts: Buffer[] = []
    let [status, answered]: [number, http.IncomingHttpHeaders] = [0, {}]
    const end = (error = '') =>
      resolve({ status, headers: answered, body: Buffer.concat(parts), error })
    const request = http.request(
      upstream.url + path,
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, agent: false },
      (response) => {
        status = response.statusCode ?? 0
        answered = response.headers
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('end', () => end(response.complete ? '' : 'incomplete'))
        response.on('error', (error) => end(error.message))
      },
    )
    request.on('error', (error) => end(error.message))
    request.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
}

const chat = (model: string, more: Record<string, unknown> = {}, headers = {}) =>
  post('/v1/chat/completions', { model, messages: question, ...more }, headers)

function payloads(body: Buffer): string[] {
  const found: string[] = []
  const parser = createParser({ onEvent: (event) => found.push(event.data) })
  parser.feed(body.toString())
  return found
}

/** Text and usage of a stream, and whether it is complete. */
function readStream(body: Buffer) {
  const data = payloads(body)
  const chunks = data.filter((text) => text !== '[DONE]').map((text) => JSON.parse(text))
  return {
    count: chunks.length,
    text: chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? '').join(''),
    usage: chunks.find((chunk) => chunk.usage)?.usage,
    error: chunks.find((chunk) => chunk.error)?.error,
    isDone: data.at(-1) === '[DONE]',
  }
}

describe('chat', () => {
  test('responds with the recorded sentence and usage under any base path', async () => {
    for (const prefix of ['/v1', '', '/openai', '/compatible-mode/v1', '/api/v3', '/~unknown/v1']) {
      const body = { model: 'gpt-4o-mini', messages: question }
      const got = await post(`${prefix}/chat/completions`, body)
      expect(JSON.parse(got.body.toString())).toEqual({
        id: 'chatcmpl-fixed',
        object: 'chat.completion',
        created: 1_700_000_000,
        model: 'gpt-4o-mini',
        choices: [
          { index: 0, message: { role: 'assistant', content: answer }, finish_reason: 'stop' },
        ],
        usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
      })
    }
  })

  test('streams the same sentence, with usage only if requested', async () => {
    const plain = readStream((await chat('gpt-4o-mini', { stream: true })).body)
    expect(plain).toMatchObject({ text: answer, count: 7, usage: undefined, isDone: true })
    const asked = { stream: true, stream_options: { include_usage: true } }
    const counted = readStream((await chat('gpt-4o-mini', asked)).body)
    expect(counted.usage).toEqual({ prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 })
    expect(readStream((await chat('no-usage', asked)).body).usage).toBeUndefined()
    const always = readStream((await chat('always-usage', { stream: true })).body)
    expect(always.usage).toEqual(counted.usage)
  })

  test('counts as the words in the model name say', async () => {
    const got = await chat('gpt-4o+tokens-50+cached-8+reasoning-4', { n: 2 })
    const body = JSON.parse(got.body.toString())
    expect(body.choices).toHaveLength(2)
    expect(body.choices[1].message.content.split(' ')).toHaveLength(50)
    expect(body.usage).toEqual({
      prompt_tokens: 19,
      completion_tokens: 104,
      total_tokens: 123,
      prompt_tokens_details: { cached_tokens: 8 },
      completion_tokens_details: { reasoning_tokens: 4 },
    })
    const short = await chat('tokens-50+obey-max', { max_tokens: 3 })
    expect(JSON.parse(short.body.toString())).toMatchObject({
      choices: [{ message: { content: 'word word word' }, finish_reason: 'length' }],
      usage: { completion_tokens: 3 },
    })
  })

  test('also accepts words in path, query and header', async () => {
    const body = { model: 'gpt-4o', messages: question }
    expect((await post('/~fail-503/v1/chat/completions', body)).status).toBe(503)
    expect((await post('/v1/chat/completions?fake=fail-502', body)).status).toBe(502)
    expect((await chat('gpt-4o', {}, { 'x-fake-upstream': 'fail-429' })).status).toBe(429)
  })

  test('works with the official client: tools, JSON schema, embeddings', async () => {
    const client = new OpenAI({ apiKey: 'sk-x', baseURL: `${upstream.url}/v1`, maxRetries: 0 })
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' } },
    }
    const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }]
    const ask = { model: 'gpt-4o', tools, messages: [{ role: 'user' as const, content: 'hello' }] }
    const called = await client.chat.completions.create({ ...ask, tool_choice: 'required' })
    expect(called.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { name: 'weather' } }] },
    })
    const run = client.chat.completions.stream({
      ...ask,
      messages: [{ role: 'user', content: 'call weather please' }],
    })
    const streamed = await run.finalChatCompletion()
    expect(streamed.choices[0]?.message.tool_calls?.[0]).toMatchObject({
      function: { name: 'weather', arguments: '{"city":"forty-two","days":42}' },
    })
    const said = await client.chat.completions.create(ask)
    expect(said.choices[0]?.message.content).toBe(answer)
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } } }
    const shaped = await client.chat.completions.create({
      model: 'gpt-4o',
      messages: ask.messages,
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    })
    expect(shaped.choices[0]?.message.content).toBe('{"ok":true}')
    const model = 'text-embedding-3-small'
    const vectors = await client.embeddings.create({ model, input: ['a', 'b'] })
    expect(vectors.data.map((row) => row.embedding.length)).toEqual([8, 8])
    expect(vectors.usage.prompt_tokens).toBe(12)
    const plain = { model, input: ['b'], encoding_format: 'float' as const }
    const again = await client.embeddings.create(plain)
    expect(again.data[0]?.embedding).toEqual(vectors.data[1]?.embedding)
  })
})

describe('other endpoints', () => {
  test('respond as recorded', async () => {
    const got = async (path: string, body: unknown = {}) =>
      JSON.parse((await post(path, body)).body.toString())
    expect(await got('/v1/completions', { model: 'm' })).toMatchObject({
      choices: [{ text: ' forty-two' }],
      usage: { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 },
    })
    const recorded = await got('/v1/embeddings', { model: 'gpt-4o-mini', input: ['a', 'b'] })
    expect(recorded.data).toEqual([
      { object: 'embedding', index: 0, embedding: [0.25, -0.5, 0.125] },
    ])
    expect(await got('/v1/moderations', { model: 'm', input: 'x' })).toMatchObject({
      results: [{ flagged: false }],
    })
    expect(await got('/v1/images/generations', { model: 'dall-e-3' })).toMatchObject({
      data: [{ url: 'http://127.0.0.1/image.png' }],
    })
    expect(await got('/v1/dashboard/billing/usage')).toEqual({ object: 'list', total_usage: 450 })
    expect((await post('/v1/audio/speech', { model: 'tts-1' })).body).toHaveLength(256)
    expect((await post('/v1/text/nothing', {})).status).toBe(404)
  })

  test('reads the model and the format of a form', async () => {
    const form = new FormData()
    form.set('model', 'whisper-1')
    form.set('response_format', 'text')
    form.set('file', new Blob(['xx']), 'a.wav')
    const url = `${upstream.url}/v1/audio/transcriptions`
    const response = await fetch(url, { method: 'POST', body: form })
    expect(await response.text()).toBe('forty-two\n')
  })
})

describe('errors', () => {
  test.each([
    ['fail-404', 404, 'code_404'],
    ['fail-529', 529, 'code_529'],
    ['fail-quota', 429, 'insufficient_quota'],
    ['fail-key', 401, 'invalid_api_key'],
    ['fail-model', 404, 'model_not_found'],
  ])('%s: status %i, code %s', async (model, status, code) => {
    const got = await chat(model)
    expect(got.status).toBe(status)
    expect(JSON.parse(got.body.toString()).error.code).toBe(code)
  })

  test('contain Retry-After, a page, nothing, or the key', async () => {
    expect((await chat('fail-429-retry-9')).headers['retry-after']).toBe('9')
    expect((await chat('fail-html')).headers['content-type']).toBe('text/html')
    expect(await chat('fail-empty')).toMatchObject({ status: 200, body: Buffer.alloc(0) })
    expect(await chat('empty-204')).toMatchObject({ status: 204, error: '' })
    const secret = await chat('secret-in-error', {}, { authorization: 'Bearer sk-very-secret' })
    expect(secret.body.toString()).toContain('sk-very-secret')
    expect((await chat('redirect')).headers.location).toMatch(/^\/__redirected/)
    expect(await chat('html-200')).toMatchObject({ status: 200 })
    expect((await chat('error-200')).body.toString()).toContain('"error"')
  })

  test('flaky-<n>: the first calls fail, then the model works', async () => {
    const statuses = []
    for (let call = 0; call < 4; call++) statuses.push((await chat('gpt-4o+flaky-2')).status)
    expect(statuses).toEqual([500, 500, 200, 200])
  })
})

describe('broken responses', () => {
  test('bodies shorter and longer than announced, chunked without an end', async () => {
    expect((await chat('bad-length-long')).error).not.toBe('')
    expect((await chat('chunked-no-end')).error).not.toBe('')
    const raw = await rawChat('bad-length-short')
    const announced = Number(/content-length: (\d+)/.exec(raw)?.[1])
    expect(raw.slice(raw.indexOf('\r\n\r\n') + 4).length).toBe(announced + 10)
  })

  test('cut-after-<k>: this many events or bytes arrive, then a reset', async () => {
    const stream = await chat('cut-after-3', { stream: true })
    expect(stream.error).not.toBe('')
    expect(payloads(stream.body)).toHaveLength(3)
    const whole = await chat('cut-after-40')
    expect(whole.error).not.toBe('')
    expect(whole.body).toHaveLength(40)
    expect((await chat('fail-cut')).error).toContain('socket hang up')
  })

  test('streams that end incorrectly', async () => {
    const endless = readStream((await chat('end-without-done', { stream: true })).body)
    expect(endless).toMatchObject({ text: answer, isDone: false })
    const failed = readStream((await chat('error-mid-stream', { stream: true })).body)
    expect(failed).toMatchObject({ text: 'The answer is ', isDone: false })
    expect(failed.error.code).toBe('server_error')
    const plain = await chat('json-when-stream', { stream: true })
    expect(plain.headers['content-type']).toBe('application/json')
  })

  test.each([
    ['hang', 0],
    ['stall', 0],
    ['hang-mid-stream', 500],
  ])('%s: silence after at least %i bytes, until the client leaves', async (model, bytesMin) => {
    const controller = new AbortController()
    const body = JSON.stringify({ model, stream: true })
    let bytes = 0
    const call = fetch(`${upstream.url}/v1/chat/completions`, {
      method: 'POST',
      body,
      signal: controller.signal,
    })
      .then(async (response) => {
        for await (const part of response.body ?? []) bytes += part.length
        return 'ended'
      })
      .catch((error: Error) => error.name)
    let seen: SeenCall | undefined
    await expect.poll(() => (seen ??= upstream.seen()[0])).toBeDefined()
    await expect.poll(() => bytes).toBeGreaterThanOrEqual(bytesMin)
    expect(seen?.outcome).toBe('open')
    controller.abort()
    expect(await call).toBe('AbortError')
    await expect.poll(() => seen?.outcome).toBe('client-gone')
  })
})

test.each([
  ['a port that is taken', () => ['--port', String(upstream.port)], '--port: another program has'],
  ['a port that is none', () => ['--port', 'abc'], 'options.port should be'],
  ['an unknown option', () => ['-h'], "Unknown option '-h'"],
])('on a command line it says of %s in one line what is wrong', async (_what, args, words) => {
  const program = join(import.meta.dirname, 'fake-upstream.ts')
  const { code, said } = await new Promise<{ code: unknown; said: string }>((resolve) => {
    execFile(process.execPath, [program, ...args()], (error, _out, err) => {
      resolve({ code: error?.code, said: err })
    })
  })
  expect(code).toBe(1)
  expect(said).toMatch(/^[^\n]+\n$/)
  expect(said).toContain(words)
})

/** Raw bytes of a response, without an HTTP client. */
function rawChat(model: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify({ model })
    const parts: Buffer[] = []
    const socket = net.connect(upstream.port, '127.0.0.1')
    socket.on('data', (part: Buffer) => parts.push(part)).on('error', reject)
    socket.on('end', () => resolve(Buffer.concat(parts).toString()))
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
  })
}
