import http from 'node:http'
import net from 'node:net'
import zlib from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { gzipBomb } from '../../../../tools/fake-upstream/bomb.ts'
import { errorText } from '../../../contract/errors.ts'
import {
  aClient,
  aModel,
  aRoute,
  aServedModel,
  chatBody,
  eventually,
  expectNothingCharged,
  expectRefusal,
  openCall,
  post,
  startScriptedUpstream,
  stream,
  type RelayClient,
  type RelaySetup,
} from '../../test/relay-setup.ts'
import { useRelay } from '../../test/use-relay.ts'
import { ByteBudget } from './byte-budget.ts'
import { readBody } from './request-body.ts'

const MAX_MB = 2
const LOOKED_UP_MS = 30
const MEBIBYTE = 1024 * 1024

let setup: RelaySetup
let client: RelayClient
let model: string
useRelay((now) => ({ setup, client } = now), {
  settings: { MAX_BODY_MB: String(MAX_MB), RELAY_REQUESTS_MB: String(8 * MAX_MB) },
  sharesClient: true,
})
beforeAll(async () => {
  model = await aServedModel(setup)
})

/** Sends raw bytes and reads the response. */
async function send(body: Buffer | string, headers: Record<string, string> = {}) {
  const answer = await openCall(setup, client, Buffer.from(body), { headers })
  await answer.ended
  // Every response of the relay is JSON.
  const json = JSON.parse(answer.text()) as { error?: { code: string; message: string } }
  return { ...answer, json }
}

/** A lease for a body of this many MiB. */
const aRoom = (megabytes: number) => ({
  bytesMax: megabytes * MEBIBYTE,
  lease: new ByteBudget(4 * megabytes * MEBIBYTE).lease([]),
})

const lastSent = (): Buffer => setup.upstream.seen().at(-1)?.bytes ?? Buffer.alloc(0)

describe('a body that arrives before it is read', () => {
  /** A server that reads the body late, as after a token lookup. */
  let server: http.Server
  beforeAll(async () => {
    server = http.createServer((request, response) => {
      setTimeout(() => {
        void readBody(request, aRoom(MAX_MB), 5000).then((body) => response.end(body))
      }, LOOKED_UP_MS)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return () => void server.close()
  })

  function echoed(head: string, body: Buffer): Promise<Buffer> {
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('the server has no port')
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    const socket = net.connect(address.port, '127.0.0.1')
    const parts: Buffer[] = []
    socket.on('data', (part: Buffer) => parts.push(part))
    socket.on('error', reject)
    socket.on('end', () => {
      const answer = Buffer.concat(parts)
      resolve(answer.subarray(answer.indexOf('\r\n\r\n') + 4))
    })
    const start = 'POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n'
    socket.write(Buffer.concat([Buffer.from(`${start}${head}\r\n\r\n`), body]))
    return promise
  }

  // A socket is read 64 KiB at a time.
  test.each([0, 1, 65_000, 65_400, 70_000, 131_000, 200_000, 1_000_000])(
    'is read whole: %i bytes',
    async (length) => {
      const body = Buffer.from(Array.from({ length }, (_, index) => index % 251))
      expect((await echoed(`Content-Length: ${length}`, body)).equals(body)).toBe(true)
    },
  )

  test('is read whole if it arrived in separate pieces', async () => {
    const pieces = ['one, ', 'two, ', 'three']
    const chunks = pieces.map((text) => `${text.length.toString(16)}\r\n${text}\r\n`)
    const body = Buffer.from(`${chunks.join('')}0\r\n\r\n`)
    // The response has a length: it is one piece.
    expect((await echoed('Transfer-Encoding: chunked', body)).toString()).toBe(pieces.join(''))
  })
})

test('an incomplete body is rejected and dropped', async () => {
  const refused = Promise.withResolvers<unknown>()
  const server = http.createServer((request) => {
    readBody(request, aRoom(1), 50).catch(refused.resolve)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server listening on TCP has an address object.
  const { port } = server.address() as net.AddressInfo
  const socket = net.connect(port, '127.0.0.1')
  socket.write('POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nab')
  expect(await refused.promise).toMatchObject({ code: 'body_slow', status: 408 })
  socket.destroy()
  server.close()
})

describe('a compressed body', () => {
  const packers: [string, (bytes: Buffer) => Buffer][] = [
    ['gzip', zlib.gzipSync],
    ['x-gzip', zlib.gzipSync],
    ['GZIP', zlib.gzipSync],
    ['deflate', zlib.deflateSync],
    ['br', zlib.brotliCompressSync],
    ['zstd', zlib.zstdCompressSync],
    ['identity', (bytes) => bytes],
  ]
  test.each(packers)('in %s is decompressed and sent unchanged', async (encoding, pack) => {
    const body = Buffer.from(JSON.stringify(chatBody(model, { temperature: 0.5 })))
    const answer = await send(pack(body), { 'content-encoding': encoding })
    expect(answer.status).toBe(200)
    expect(lastSent().equals(body)).toBe(true)
  })

  test.each(['gzip, br', 'rot13', 'chunked'])('in %s is refused: 400', async (encoding) => {
    const answer = await send('{}', { 'content-encoding': encoding })
    expect(answer.status).toBe(400)
    expect(answer.json.error?.code).toBe('relay_body_invalid')
  })

  test.each(['gzip', 'br', 'zstd', 'deflate'])(
    'that is no %s is refused: 400',
    async (encoding) => {
      const answer = await send(JSON.stringify(chatBody(model)), { 'content-encoding': encoding })
      expect(answer.status).toBe(400)
    },
  )

  test('that is truncated is rejected: 400', async () => {
    const packed = zlib.gzipSync(JSON.stringify(chatBody(model)))
    const answer = await send(packed.subarray(0, -12), { 'content-encoding': 'gzip' })
    expect(answer.status).toBe(400)
  })

  const head = `{"model":"m","messages":[{"role":"user","content":"`
  const quick = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 2 } }
  const bombs: [string, () => Buffer][] = [
    ['gzip', () => gzipBomb({ before: head, after: '"}]}' }, 256)],
    ['br', () => zlib.brotliCompressSync(Buffer.alloc(64 * MEBIBYTE, 'a'), quick)],
    ['zstd', () => zlib.zstdCompressSync(Buffer.alloc(64 * MEBIBYTE, 'a'))],
  ]
  test.each(bombs)(
    'that is too large when decompressed is rejected: 413 (%s)',
    async (encoding, make) => {
      const bomb = make()
      expect(bomb.length).toBeLessThan(MEBIBYTE)
      const before = process.memoryUsage()
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => send(bomb, { 'content-encoding': encoding })),
      )
      const grownBy = process.memoryUsage().arrayBuffers - before.arrayBuffers
      for (const answer of answers) {
        expect(answer.status).toBe(413)
        expect(answer.json.error?.code).toBe('request_too_large')
      }
      expect(grownBy).toBeLessThan(32 * MEBIBYTE)
    },
  )

  test('releases its memory when its call ends', async () => {
    const held: (() => void)[] = []
    let isHolding = true
    const upstream = await startScriptedUpstream((_request, answer) => {
      const choices = [{ index: 0, message: { role: 'assistant', content: 'Hi' } }]
      const end = (): void => void answer.end(JSON.stringify({ choices }))
      answer.setHeader('content-type', 'application/json')
      if (isHolding) held.push(end)
      else end()
    })
    const dense = aModel()
    await aRoute(setup, dense, { base_url: upstream.url })
    const spaces = ' '.repeat(MAX_MB * MEBIBYTE - 1000)
    const packed = zlib.brotliCompressSync(JSON.stringify(chatBody(dense)) + spaces, quick)
    const sendDense = () => send(packed, { 'content-encoding': 'br' })
    const answers = Array.from({ length: 6 }, async () => (await sendDense()).status)
    await eventually(() => held.length === 4, 'the calls that there is room for')
    const ordinary = zlib.gzipSync(JSON.stringify(chatBody(model)))
    expect((await send(ordinary, { 'content-encoding': 'gzip' })).status).toBe(200)
    expect((await sendDense()).status).toBe(429)
    isHolding = false
    for (const end of held) end()
    expect((await Promise.all(answers)).toSorted()).toEqual([200, 200, 200, 200, 429, 429])
    await eventually(async () => (await sendDense()).status === 200, 'room')
    await upstream.close()
  })
})

describe('a large body', () => {
  const padded = (bytes: number): string => {
    const start = `{"model":"${model}","messages":[{"role":"user","content":"`
    const end = '"}]}'
    return start + 'a'.repeat(bytes - start.length - end.length) + end
  }

  test('of exactly the limit passes', async () => {
    const answer = await send(padded(MAX_MB * MEBIBYTE))
    expect(answer.status).toBe(200)
    expect(lastSent().length).toBe(MAX_MB * MEBIBYTE)
  })

  test('of one byte more is rejected by its content length: 413, and the connection ends', async () => {
    const answer = await send(padded(MAX_MB * MEBIBYTE + 1))
    expect(answer.status).toBe(413)
    expect(answer.headers.connection).toBe('close')
    expect(answer.json.error?.message).toContain(
      errorText('body_too_large', 'zh', { limit: '2 MB' }),
    )
  })

  test('without a content length is rejected when it has grown too large', async () => {
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    const call = http.request(`${setup.url}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${client.key}`, 'transfer-encoding': 'chunked' },
    })
    call.on('response', (response) => resolve(response.statusCode ?? 0))
    call.on('error', (error) => reject(error))
    const piece = Buffer.alloc(64 * 1024, 'a')
    const end = performance.now() + 5000
    const pour = (): void => {
      if (call.destroyed || performance.now() > end) return
      if (call.write(piece)) setImmediate(pour)
      else call.once('drain', pour)
    }
    pour()
    expect(await promise).toBe(413)
    call.destroy()
  })

  /** Sends everything before it reads the response, as many clients do. */
  function sendThenRead(body: Buffer): Promise<string> {
    const { hostname, port } = new URL(setup.url)
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const socket = net.connect(Number(port), hostname)
    let answer = ''
    socket.on('error', reject)
    socket.on('end', () => resolve(answer))
    const head = `Host: localhost\r\nAuthorization: Bearer ${client.key}\r\nContent-Length: ${body.length}`
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n\r\n`)
    socket.write(body, () => {
      setTimeout(() => socket.on('data', (part: Buffer) => (answer += part.toString())), 100)
    })
    return promise
  }

  test('is rejected so that a client that sends everything first can read the error', async () => {
    for (let count = 0; count < 4; count += 1) {
      const answer = await sendThenRead(Buffer.from(padded(2 * MAX_MB * MEBIBYTE)))
      expect(answer).toMatch(/^HTTP\/1.1 413 .*"code":"request_too_large"/s)
    }
  })

  test('that does not end is not read forever', async () => {
    const { hostname, port } = new URL(setup.url)
    const socket = net.connect(Number(port), hostname)
    const head = `Host: localhost\r\nAuthorization: Bearer ${client.key}\r\nTransfer-Encoding: chunked`
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\n${head}\r\n\r\n`)
    const piece = Buffer.from(`${MEBIBYTE.toString(16)}\r\n${'a'.repeat(MEBIBYTE)}\r\n`)
    const pour = (error?: Error | null): void => {
      if (error === undefined || error === null) socket.write(piece, pour)
    }
    socket.on('error', () => {})
    pour()
    await new Promise((resolve) => socket.on('close', resolve))
    // The operating system buffers some unread megabytes.
    expect(socket.bytesWritten).toBeLessThan(24 * MEBIBYTE)
  })
})

describe('a body that two parsers could read differently is rejected', () => {
  const quoted = (name: string): string => JSON.stringify(name)
  const cases: [string, (name: string) => string, string][] = [
    ['a key twice', (name) => `{"model":${quoted(name)},"model":"cheap"}`, 'model'],
    ['a key in capitals', (name) => `{"MODEL":"cheap","model":${quoted(name)}}`, 'MODEL'],
    ['a key in part capitals', (name) => `{"model":${quoted(name)},"Model":"cheap"}`, 'Model'],
    ['an escaped key', (name) => `{"model":${quoted(name)},"\\u006dodel":"cheap"}`, 'model'],
    ['another limit', (name) => `{"model":${quoted(name)},"Max_Tokens":1}`, 'Max_Tokens'],
    [
      'a usage option in capitals',
      (name) => `{"model":${quoted(name)},"stream_options":{"INCLUDE_USAGE":false}}`,
      'INCLUDE_USAGE',
    ],
  ]
  test.each(cases)('%s: 400 that names it and its place', async (_what, make, key) => {
    const body = make(model)
    const answer = await send(body)
    expect(answer.status).toBe(400)
    const { message = '' } = answer.json.error ?? {}
    expect(message).toContain(key)
    const offset = Number(/第 (\d+) 字节/.exec(message)?.[1])
    expect(body.slice(offset).startsWith(key) || body.slice(offset).startsWith('\\u006d')).toBe(
      true,
    )
  })

  test('in English on request', async () => {
    const answer = await send('{"model":"a","model":"b"}', { 'accept-language': 'en' })
    expect(answer.json.error?.message).toMatch(/cannot be read: .*model.* \(byte 14\)/)
  })
})

describe('a body that is not a JSON object is rejected', () => {
  test.each([
    ['nothing', ''],
    ['half an object', '{"model":'],
    ['a list', '[]'],
    ['a text', '"x"'],
    ['null', 'null'],
    ['a trailing comma', '{"model":"x",}'],
    ['a comment', '{"model":"x"}//'],
    ['two objects', '{}{}'],
    ['a bare word', '{"a":NaN}'],
    ['a byte order mark', '\ufeff{}'],
    ['a number with a leading zero', '{"a":01}'],
    ['too deep nesting', `{"a":${'['.repeat(70)}${']'.repeat(70)}}`],
    ['form data', 'model=x&messages=y'],
  ])('%s: 400', async (_what, body) => {
    const answer = await send(body)
    expect(answer.status).toBe(400)
    expect(answer.json.error?.code).toBe('relay_body_invalid')
  })

  test('invalid UTF-8: 400 with its offset', async () => {
    const answer = await send(Buffer.from('7b2261223a22ff227d', 'hex'))
    expect(answer.status).toBe(400)
    expect(answer.json.error?.message).toContain('第 6 字节')
  })
})

test.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''])(
  'JSON is JSON whatever its content type says: %j',
  async (type) => {
    const answer = await send(JSON.stringify(chatBody(model)), { 'content-type': type })
    expect(answer.status).toBe(200)
  },
)

describe('a member that determines the cost must be valid', () => {
  const invalid: [string, unknown, string][] = [
    ['max_tokens', -1, 'relay_field_invalid'],
    ['max_tokens', 1.5, 'relay_field_invalid'],
    ['max_tokens', '100', 'relay_field_invalid'],
    ['max_tokens', 1e308, 'relay_field_invalid'],
    ['max_tokens', 100_000_001, 'relay_field_invalid'],
    ['max_tokens', [5], 'relay_field_invalid'],
    ['max_completion_tokens', -1, 'relay_field_invalid'],
    ['max_completion_tokens', true, 'relay_field_invalid'],
    ['n', -3, 'relay_field_invalid'],
    ['n', 129, 'relay_field_invalid'],
    ['n', 2.5, 'relay_field_invalid'],
    ['n', '2', 'relay_field_invalid'],
    ['best_of', 1000, 'relay_field_invalid'],
    ['stream', 'yes', 'relay_field_invalid'],
    ['stream', 1, 'relay_field_invalid'],
    ['messages', [], 'relay_field_required'],
    ['messages', null, 'relay_field_required'],
    ['messages', '', 'relay_field_required'],
    ['messages', 'hello', 'relay_field_invalid'],
    ['messages', { a: 'b' }, 'relay_field_invalid'],
    ['model', 7, 'relay_field_invalid'],
    ['model', { a: 1 }, 'relay_field_invalid'],
  ]
  test.each(invalid)('%s = %j: %s', async (field, value, code) => {
    const own = await aClient(setup)
    const answer = await post(setup, own, { ...chatBody(model), [field]: value })
    const expected = code === 'relay_field_invalid' ? 'relay_field_invalid' : 'relay_field_required'
    expectRefusal(answer, {
      code: expected,
      status: 400,
      params: { field },
      wireCode: 'invalid_text_request',
    })
    await expectNothingCharged(setup, own)
  })

  test.each([
    ['/v1/completions', 'prompt'],
    ['/v1/embeddings', 'input'],
    ['/v1/moderations', 'input'],
  ])('%s needs %s', async (path, field) => {
    const answer = await post(setup, client, { model }, { path })
    expectRefusal(answer, {
      code: 'relay_field_required',
      status: 400,
      params: { field },
      wireCode: 'invalid_text_request',
    })
  })

  test.each([
    ['max_tokens', 0],
    ['max_tokens', null],
    ['n', null],
    ['n', 0],
    ['n', 128],
    ['best_of', 0],
    ['stream', null],
    ['max_completion_tokens', 100_000_000],
  ])('%s = %j is fine', async (field, value) => {
    const rich = await aClient(setup, { quota: 2 ** 49 })
    const answer = await post(setup, rich, { ...chatBody(model), [field]: value })
    expect(answer.status).toBe(200)
  })
})

describe('the upstream request', () => {
  test('contains no count of 0, which some clients send for "not set"', async () => {
    await post(setup, client, chatBody(model, { n: 0, best_of: 0 }))
    expect(JSON.parse(lastSent().toString())).toEqual(chatBody(model))
  })

  /** Whitespace, order, number spellings and unknown members. */
  const odd = (name: string, rest = ''): string =>
    `{ "temperature" : 2.50,"top_p":1e-7, "seed":12345678901234567890,\n\t"unknown":{"b":1,"a":[1.0,-0]},` +
    `"model" :  "${name}", "messages":[{"role":"user","content":"\\u0041é\\/"}]${rest} }\r\n`

  test('is the client’s body, byte for byte', async () => {
    const answer = await send(odd(model))
    expect(answer.status).toBe(200)
    expect(lastSent().toString()).toBe(odd(model))
  })

  test('is reported by the upstream as it was sent', async () => {
    const echo = await aServedModel(setup, 'echo')
    const answer = await send(odd(echo))
    // The fake upstream's responses have this shape.
    const { choices } = answer.json as unknown as { choices: { message: { content: string } }[] }
    expect(choices[0]?.message.content).toBe(odd(echo))
  })

  test('has only the mapped model name changed', async () => {
    const asked = aModel()
    const sent = 'vendor/"odd" 名'
    await aRoute(setup, asked, { model_mapping: JSON.stringify({ [asked]: sent, other: 'x' }) })
    await send(odd(asked))
    expect(lastSent().toString()).toBe(odd(asked).replace(`"${asked}"`, JSON.stringify(sent)))
  })

  test('has only the usage of a stream requested', async () => {
    const body = odd(model, ',"stream":true')
    const answer = await openCall(setup, client, body)
    await answer.ended
    expect(lastSent().toString()).toBe(
      odd(model, ',"stream":true,"stream_options":{"include_usage":true}'),
    )
  })

  test.each([
    ['{"include_usage":false,"x": 1}', '{"include_usage":true,"x": 1}'],
    ['{"x": 1}', '{"x": 1,"include_usage":true}'],
    ['{}', '{"include_usage":true}'],
    ['null', '{"include_usage":true}'],
    ['{ "include_usage" : true }', '{ "include_usage" : true }'],
  ])('has the stream options %s as %s', async (given, sent) => {
    const answer = await openCall(
      setup,
      client,
      odd(model, `,"stream":true,"stream_options":${given}`),
    )
    await answer.ended
    expect(lastSent().toString()).toBe(odd(model, `,"stream":true,"stream_options":${sent}`))
  })

  test('has this server’s headers and none of the client’s', async () => {
    setup.upstream.seen()
    await post(setup, client, chatBody(model), {
      headers: {
        cookie: 'session=secret',
        'x-forwarded-for': '1.2.3.4',
        'x-custom': 'x',
        'openai-organization': 'org',
        'user-agent': 'sdk',
        accept: '*/*',
        'accept-encoding': 'gzip',
      },
    })
    const { headers } = setup.upstream.seen()[0] ?? {}
    const { host, 'content-length': length, connection, ...rest } = headers ?? {}
    expect([host, length, connection].every(Boolean)).toBe(true)
    expect(rest).toEqual({
      accept: 'application/json',
      'accept-encoding': 'identity',
      authorization: 'Bearer sk-upstream',
      'content-type': 'application/json',
      'user-agent': 'Gatehouse',
    })
  })

  test('accepts an event stream if one is requested', async () => {
    setup.upstream.seen()
    await stream(setup, client, chatBody(model))
    expect(setup.upstream.seen()[0]?.headers['accept']).toBe('text/event-stream')
  })
})

test('images in a message are never fetched by this server', async () => {
  let connections = 0
  const server = net.createServer((socket) => {
    connections += 1
    socket.destroy()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server listening on TCP has an address object.
  const { port } = server.address() as net.AddressInfo
  const url = `http://127.0.0.1:${port}/picture.png`
  const content = [
    { type: 'text', text: 'What is this?' },
    { type: 'image_url', image_url: { url, detail: 'high' } },
  ]
  // Without usage from the upstream, the image is counted as well.
  const counted = await aServedModel(setup, 'no-usage')
  const body = chatBody(counted, { messages: [{ role: 'user', content }] })
  expect((await post(setup, client, body)).status).toBe(200)
  expect((await stream(setup, client, body)).status).toBe(200)
  await new Promise((resolve) => setTimeout(resolve, 50))
  server.close()
  expect(connections).toBe(0)
})

test('content of unknown shape is passed to the upstream', async () => {
  const counted = await aServedModel(setup, 'no-usage')
  for (const messages of [
    ['a string'],
    [{ role: 'user', content: [7, null, { type: 'image_url', image_url: 5 }] }],
    [{ role: 7, content: { a: 1 } }],
  ]) {
    const answer = await post(setup, client, chatBody(counted, { messages }))
    expect(answer.status).toBe(200)
  }
})
