import { createHash } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { WebSocketServer, type WebSocket as WebSocketOfLibrary } from 'ws'
import type { FakeUpstream } from '../../../../../tools/fake-upstream/fake-upstream.ts'
import { SPARK_ACCOUNT } from '../../../../../tools/fake-upstream/providers/spark/spark-frames.ts'
import { createEgress, type Egress } from '../../../egress/egress.ts'
import { eventually } from '../../../test/relay-setup.ts'
import { endOfStumbling, useUpstream } from '../../../test/use-upstream.ts'
import { NO_OVERRIDES } from '../../../channel/overrides.ts'
import { answerIn, streamIn } from '../../../test/read-answer.ts'
import { upstreamDialects } from '../../../test/upstream-dialects.ts'
import { dialects } from '../../conversion/dialects.ts'
import { finished, readyToSend, type ProviderChannel } from '../../protocols/dialect/provider.ts'
import { providerOf } from '../registry.ts'
import { parseJson } from '../../json/json-value.ts'
import { callUpstream, type UpstreamRequest } from '../../transport/upstream-call.ts'
import { signedQuery } from './address.ts'
import { aProviderCall } from '../../../test/provider-call.ts'

const { spark } = upstreamDialects

/** Calls over a WebSocket, without the rest of the relay. */

let upstream: FakeUpstream
let egress: Egress
useUpstream((now) => ({ upstream, egress } = now))

const { appId, secret, key } = SPARK_ACCOUNT
const NOW = 1_800_000_000

const AMPLE_MS = 60_000

interface Over {
  model?: string
  base?: string
  isStream?: boolean
  request?: Partial<UpstreamRequest>
  /** Pauses reading after the first piece until it is resumed. */
  isPaused?: boolean
}

/** The relay's request. */
function requestFor({ model = 'Spark-Max', base, isStream = true, request }: Over) {
  const channel: ProviderChannel = {
    type: 18,
    key: `${appId}|${secret}|${key}`,
    baseUrl: base ?? upstream.url,
    apiVersion: '',
  }
  const to = aProviderCall({ model, isStream })
  const provider = providerOf(18, model, 'chat')
  const url = provider?.url(channel, to) ?? null
  if (provider === null || url === null) throw new Error('no such provider')
  const asked = dialects.openai.readRequest({ messages: [{ role: 'user', content: 'Hi' }] })
  const written = spark.writeRequest(asked, {
    model,
    isStream,
    asksForUsage: false,
  })
  const body = finished(provider, { channel, to }, Buffer.from(JSON.stringify(written)))
  const plain: UpstreamRequest = {
    url,
    method: 'POST',
    headers: { accept: isStream ? 'text/event-stream' : 'application/json' },
    body,
    firstByteTimeoutMs: AMPLE_MS,
    idleTimeoutMs: AMPLE_MS,
    ...request,
  }
  const sent = { channel: { ...channel, overrides: NO_OVERRIDES }, to }
  return readyToSend(provider, sent, plain, { nowSeconds: () => NOW })
}

/** Starts the call; returns its controls and its result. */
function start(over: Over, by = egress) {
  const { promise, resolve } = Promise.withResolvers<string>()
  const heard = { status: 0, type: '', text: '' }
  const call = callUpstream(by, requestFor(over), {
    onHead(status, headers) {
      heard.status = status
      heard.type = String(headers['content-type'])
    },
    onData(chunk) {
      if (over.isPaused === true && heard.text === '') call.pause()
      heard.text += chunk.toString()
    },
    onEnd: () => resolve('end'),
    onFailure: (failure) => resolve(failure),
  })
  return { call, heard, ended: promise }
}

const ANSWER = 'The answer is forty-two.'
const textsIn = (events: string): string =>
  events
    .split('\n\n')
    .filter((event) => event !== '')
    .flatMap((event) => streamIn(spark, [event.slice(6)]).seen)
    .map((event) => (event.kind === 'text' ? event.text : ''))
    .join('')

test('reports a stream as events and a whole response as one text', async () => {
  const streamed = start({})
  expect(await streamed.ended).toBe('end')
  expect(streamed.heard).toMatchObject({ status: 200, type: 'text/event-stream' })
  expect(textsIn(streamed.heard.text)).toBe(ANSWER)
  const whole = start({ isStream: false })
  expect(await whole.ended).toBe('end')
  expect(whole.heard).toMatchObject({ status: 200, type: 'application/json' })
  const answer = answerIn(spark, parseJson(whole.heard.text))
  expect(answer).toMatchObject({
    id: 'cht-fixed',
    choices: [{ parts: [{ kind: 'text', text: ANSWER }], finish: { reason: 'stop' } }],
    usage: { promptTokens: 11, completionTokens: 7 },
  })
  await eventually(
    () => upstream.seen().every(({ outcome }) => outcome === 'answered'),
    'the close',
  )
})

test('the fake upstream also works with another client', async () => {
  const host = new URL(upstream.url).host
  const query = signedQuery({ host, path: '/v3.5/chat' }, { secret, key }, NOW)
  const socket = new WebSocket(`ws://${host}/v3.5/chat?${query}`)
  const body = requestFor({}).body ?? Buffer.alloc(0)
  const { promise, resolve } = Promise.withResolvers<number>()
  let frames = 0
  socket.addEventListener('open', () => socket.send(body.toString()))
  socket.addEventListener('message', () => (frames += 1))
  socket.addEventListener('close', () => resolve(frames))
  expect(await promise).toBe(5)
})

describe('timeouts and aborts', () => {
  test.each([
    ['silence', 'hang', 'timeout', 0],
    ['silence in the middle', 'hang-mid-stream', 'timeout', 200],
    ['a connection that closes', 'fail-cut', 'unreachable', 0],
    ['one that closes in the middle', 'cut-after-2', 'cut', 200],
    ['an orderly close without a last frame', 'end-without-done', 'cut', 200],
  ])('%s', async (_what, words, failure, status) => {
    // Timeouts are short only where silence is tested, so that a slow machine does not affect the
    // result.
    const request = {
      firstByteTimeoutMs: words === 'hang' ? 60 : AMPLE_MS,
      idleTimeoutMs: words === 'hang-mid-stream' ? 60 : AMPLE_MS,
    }
    const streamed = start({ model: `SparkDesk-v3.5-x+${words}`, request })
    expect(await streamed.ended).toBe(failure)
    expect(streamed.heard.status).toBe(status)
    const whole = start({ model: `SparkDesk-v3.5-x+${words}`, request, isStream: false })
    expect(await whole.ended).toBe(failure)
    expect(whole.heard).toEqual({ status: 0, type: '', text: '' })
  })

  test.each([
    ['fail-401', 401, 'Unauthorized'],
    ['html-200', 502, 'welcome'],
  ])('a server that does not agree (%s) is heard', async (words, status, text) => {
    const { heard, ended } = start({ base: `${upstream.url}/~${words}` })
    expect(await ended).toBe('end')
    expect(heard.status).toBe(status)
    expect(heard.text).toContain(text)
  })

  test('times out a silent server after the timeout of a frame', async () => {
    const request = { firstByteTimeoutMs: 60 }
    expect(await start({ base: `${upstream.url}/~hang`, request }).ended).toBe('timeout')
  })

  test('rejects an invalid handshake response', async () => {
    const { heard, ended } = start({ base: `${upstream.url}/~redirect` })
    expect(await ended).toBe('unreachable')
    expect(heard.status).toBe(0)
  })

  test('can be aborted before and after the request is sent', async () => {
    const early = start({})
    early.call.abort()
    expect(await early.ended).toBe('unsent')
    const connecting = start({})
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
    connecting.call.abort()
    expect(await connecting.ended).toBe('unsent')
    const silent = await startSockets(() => {}, '')
    const unanswered = start({ base: silent.base })
    await eventually(() => silent.count() > 0, 'the wish for a socket')
    unanswered.call.abort()
    expect(await unanswered.ended).toBe('unsent')
    silent.close()
    const late = start({ model: 'SparkDesk-v3.5-x+hang' })
    const [seen] = await eventually(() => {
      const calls = upstream.seen()
      return calls.length > 0 ? calls : null
    }, 'the question')
    late.call.abort()
    expect(await late.ended).toBe('aborted')
    await eventually(() => seen?.outcome === 'client-gone', 'the end of the socket')
  })

  test.each([
    ['nothing comes', { words: 'slow-chunk-10', idleTimeoutMs: AMPLE_MS }, 'end', ANSWER],
    [
      'no time runs out',
      { words: 'hang-mid-stream', idleTimeoutMs: 150 },
      'timeout',
      'The answer is ',
    ],
  ])('while it is paused, %s', async (_what, { words, idleTimeoutMs }, end, text) => {
    const model = `SparkDesk-v3.5-x+${words}`
    const { call, heard, ended } = start({ model, request: { idleTimeoutMs }, isPaused: true })
    await eventually(() => heard.text !== '', 'the first frame')
    const before = heard.text
    const waited = new Promise((resolve) => setTimeout(() => resolve('still waiting'), 250))
    expect(await Promise.race([ended, waited])).toBe('still waiting')
    if (words === 'slow-chunk-10') expect(heard.text).toBe(before)
    call.resume()
    expect(await ended).toBe(end)
    expect(textsIn(heard.text)).toBe(text)
  })
})

const AGREES = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'

/**
 * A server that accepts every handshake, or sends another response, and then runs this function.
 */
async function startSockets(onSocket: (socket: Duplex) => void, says = AGREES) {
  const server = http.createServer()
  const sockets: Duplex[] = []
  server.on('upgrade', (request, socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    const accept = createHash('sha1')
      .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
      .digest('base64')
    if (says !== '') socket.write(`${says}Sec-WebSocket-Accept: ${accept}\r\n\r\n`)
    onSocket(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server listening on TCP has an address object.
  const { port } = server.address() as AddressInfo
  return {
    base: `http://127.0.0.1:${port}`,
    count: () => sockets.length,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** A short unmasked text frame of a server. */
const frameOf = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)])

describe('a malicious server', () => {
  test('sends empty frames endlessly: the response is too long', async () => {
    const server = await startSockets((socket) => {
      socket.write(Buffer.alloc(70_000 * 4, frameOf('{}')))
    })
    expect(await start({ base: server.base, isStream: false }).ended).toBe('cut')
    server.close()
  })

  test('sends pings and does not read: the pongs are limited', async () => {
    const ping = Buffer.concat([Buffer.from([0x89, 125]), Buffer.alloc(125)])
    const pings = Buffer.alloc(240_000 * ping.length, ping)
    let heard = 0
    const { promise: isGone, resolve: end } = Promise.withResolvers<void>()
    const server = await startSockets((socket) => {
      socket.pause()
      socket.on('data', (chunk: Buffer) => (heard += chunk.length))
      socket.on('close', () => end())
      socket.write(pings, () => socket.resume())
    })
    expect(await start({ base: server.base }).ended).toBe('unreachable')
    await isGone
    expect(heard).toBeLessThan(pings.length / 2)
    server.close()
  })
})

/** A server of the `ws` library, which rejects clients that violate the protocol. */
async function startLibraryServer(onQuestion: (socket: WebSocketOfLibrary, text: string) => void) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  const faults: Error[] = []
  server.on('connection', (socket) => {
    socket.on('error', (error) => faults.push(error))
    socket.on('message', (data: Buffer) => onQuestion(socket, data.toString()))
  })
  await once(server, 'listening')
  // A server listening on TCP has an address object.
  const { port } = server.address() as AddressInfo
  return { base: `http://127.0.0.1:${port}`, faults, close: () => server.close() }
}

describe('another server implementation', () => {
  const frame = (content: string, status: number) =>
    JSON.stringify({
      header: { code: 0, sid: 'x', status },
      payload: { choices: { status, text: [{ content }] } },
    })

  test('receives the masked request whole, and may respond in fragments', async () => {
    const questions: unknown[] = []
    const server = await startLibraryServer((socket, text) => {
      questions.push(parseJson(text))
      const first = frame('你好', 1)
      socket.send(first.slice(0, 20), { fin: false })
      socket.ping()
      socket.send(first.slice(20))
      socket.send(Buffer.alloc(10), { binary: true })
      socket.send(frame('!', 2))
    })
    const { heard, ended } = start({ base: server.base })
    expect(await ended).toBe('end')
    expect(textsIn(heard.text)).toBe('你好!')
    expect(questions).toEqual([parseJson((requestFor({}).body ?? '').toString())])
    expect(server.faults).toEqual([])
    server.close()
  })

  test.each([
    [
      'a message that is too large',
      (socket: WebSocketOfLibrary) => socket.send('x'.repeat(17 << 20)),
    ],
    ['no JSON', (socket: WebSocketOfLibrary) => socket.send('hello')],
    ['a close', (socket: WebSocketOfLibrary) => socket.close(1011)],
  ])('%s ends the call', async (_what, answer) => {
    const server = await startLibraryServer(answer)
    expect(await start({ base: server.base }).ended).toBe('unreachable')
    server.close()
  })
})

test('an exception in a listener fails only the call', async () => {
  expect(await endOfStumbling(egress, requestFor({}))).toBe('cut')
})

describe('egress rules', () => {
  test.each(['http://169.254.169.254', 'http://[fd00:ec2::254]', 'https://0.0.0.0'])(
    '%s is never called',
    async (base) => {
      expect(await start({ base }).ended).toBe('unreachable')
    },
  )

  test('block private addresses and their names', async () => {
    const strict = createEgress({ allowPrivate: false })
    const { port } = new URL(upstream.url)
    for (const base of [upstream.url, `http://localhost:${port}`]) {
      expect(await start({ base }, strict).ended).toBe('unreachable')
    }
    await strict.close()
    expect(upstream.seen()).toEqual([])
  })

  test('use the channel’s proxy', async () => {
    const asked: string[] = []
    const proxy = http.createServer()
    proxy.on('connect', (request, socket) => {
      asked.push(request.url ?? '')
      const onward = net.connect(Number(new URL(upstream.url).port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        socket.pipe(onward).pipe(socket)
      })
      onward.on('error', () => socket.destroy())
      socket.on('error', () => onward.destroy())
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    // A server listening on TCP has an address object.
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const { heard, ended } = start({ base: 'http://spark.example:81', request: { proxy: url } })
    expect(await ended).toBe('end')
    expect(textsIn(heard.text)).toBe(ANSWER)
    expect(asked).toEqual(['spark.example:81'])
    proxy.close()
  })
})
