import { once } from 'node:events'
import net, { type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aClient, startRelay, type RelaySetup } from '../test/relay-setup.ts'
import { connectionsMaxOf, openFilesMax } from './connections.ts'
import { TIME_LIMITS } from './time-limits.ts'

const TIMES = {
  checkMs: 20,
  restMs: 600,
  writeMs: 500,
  idleMs: 60,
  proxyIdleMs: 3000,
}

interface Client {
  socket: Socket
  received(): string
  /** Milliseconds until the server closed the connection. */
  closed: Promise<number>
}

function connect(setup: RelaySetup, text: string): Client {
  const { hostname, port } = new URL(setup.url)
  const socket = net.connect(Number(port), hostname)
  const began = performance.now()
  let answer = ''
  socket.setEncoding('latin1').on('data', (part: string) => (answer += part))
  socket.on('error', () => {})
  socket.write(text)
  const closed = new Promise<number>((resolve) => {
    socket.once('close', () => resolve(performance.now() - began))
  })
  return { socket, received: () => answer, closed }
}

const isOpen = ({ closed }: Client, ms: number): Promise<boolean> =>
  Promise.race([closed.then(() => false), sleep(ms, true)])

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`

let setup: RelaySetup
beforeAll(async () => {
  setup = await startRelay(undefined, {}, TIMES)
})
afterAll(() => setup.close())

test('by default a connection is kept 75 seconds, that of a trusted proxy 620', () => {
  expect(TIME_LIMITS).toMatchObject({ idleMs: 75_000, proxyIdleMs: 620_000, writeMs: 60_000 })
})

test('an idle connection is closed, that of a trusted proxy much later', async () => {
  const proxied = await startRelay(undefined, { TRUSTED_PROXIES: '127.0.0.1' }, TIMES)
  const direct = connect(setup, get('/api/status'))
  const proxy = connect(proxied, get('/api/status'))
  await direct.closed
  expect(direct.received()).toMatch(/^HTTP\/1.1 200 .*Keep-Alive: timeout=/is)
  expect(await isOpen(proxy, 50)).toBe(true)
  // Each request restarts the timeout.
  proxy.socket.write(get('/api/status'))
  const again = performance.now()
  await proxy.closed
  expect(performance.now() - again).toBeGreaterThan(TIMES.proxyIdleMs - 100)
  expect(proxy.received().match(/HTTP\/1.1 200/g)).toHaveLength(2)
  await proxied.close()
})

describe('a request answered before its body was read ends the connection', () => {
  const post = (path: string, headers = ''): string =>
    `POST ${path} HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: 1000\r\n\r\n{`
  test.each([
    ['a wrong key', post('/v1/chat/completions', 'Authorization: Bearer sk-x\r\n'), 401],
    ['an unknown path of the relay', post('/v1/nothing'), 404],
    ['no session', post('/api/token/'), 401],
    ['a compressed body', post('/api/user/login', 'Content-Encoding: br\r\n'), 415],
    [
      'a body of a GET',
      get('/api/status').replace('\r\n\r\n', '\r\nContent-Length: 9\r\n\r\n'),
      200,
    ],
    [
      'a body of a list of models',
      get('/v1/models').replace('\r\n\r\n', '\r\nContent-Length: 9\r\n\r\n'),
      401,
    ],
  ])('%s, even if the body arrives byte by byte', async (_what, text, status) => {
    const client = connect(setup, text)
    const drip = setInterval(() => client.socket.write(' '), 20)
    const took = await client.closed
    clearInterval(drip)
    expect(client.received()).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(client.received()).toMatch(/\r\nconnection: close\r\n/i)
    expect(client.received().match(/HTTP\/1.1/g)).toHaveLength(1)
    // The thousand bytes would take 20 seconds.
    expect(took).toBeLessThan(15_000)
  })

  test('a client that sends everything first can read the error', async () => {
    const body = 'x'.repeat(4 * 2 ** 20)
    const head = `POST /api/token/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n`
    // With the usual limits: a busy machine is slow to transfer this much.
    const patient = await startRelay()
    const { hostname, port } = new URL(patient.url)
    const socket = net.connect(Number(port), hostname)
    let answer = ''
    socket.on('error', () => {})
    const closed = new Promise<void>((resolve) => void socket.on('close', () => resolve()))
    await new Promise<void>((resolve) => void socket.write(head + body, () => resolve()))
    socket.on('data', (part: Buffer) => (answer += part.toString()))
    await closed
    await patient.close()
    expect(answer).toMatch(/^HTTP\/1.1 401 .*"success":false/s)
  })
})

test('a client that reads nothing is disconnected', async () => {
  const client = await aClient(setup)
  const { hostname, port } = new URL(setup.url)
  const socket = net.connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.pause()
  const key = `Authorization: Bearer ${client.key}\r\n`
  const line = get('/api/openapi.json').replace('\r\n\r\n', `\r\n${key}\r\n`)
  const end = { isReached: false }
  socket.once('close', () => (end.isReached = true))
  // Socket buffers on both sides hold some megabytes.
  for (let count = 0; count < 200 && !end.isReached; count += 1) {
    socket.write(line.repeat(4))
    await sleep(10)
  }
  // A paused socket does not notice the close until it writes.
  for (let count = 0; count < 50 && !end.isReached; count += 1) {
    socket.write(line)
    await sleep(20)
  }
  expect(end.isReached).toBe(true)
})

test('too many pipelined requests end the connection', async () => {
  const few = connect(setup, get('/api/status').repeat(16))
  await few.closed
  expect(few.received().match(/HTTP\/1.1 200/g)).toHaveLength(16)
  const many = connect(setup, get('/api/status').repeat(500))
  await many.closed
  expect(many.received().match(/HTTP\/1.1 200/g) ?? []).toHaveLength(0)
})

test('connections above the maximum are closed and counted', async () => {
  // With the usual limits, so that the first three stay.
  const small = await startRelay(undefined, { MAX_CONNECTIONS: '3' })
  const metrics = async (): Promise<string> =>
    (await small.call('GET', '/metrics').catch(() => null))?.text ?? ''
  const kept = Array.from({ length: 3 }, () => connect(small, 'GET '))
  await Promise.all(kept.map(({ socket }) => once(socket, 'connect')))
  const refused = connect(small, get('/api/status'))
  await refused.closed
  expect(refused.received()).toBe('')
  for (const { socket } of kept) socket.destroy()
  await Promise.all(kept.map(({ closed }) => closed))
  await expect.poll(metrics).toMatch(/^gatehouse_connections 1$/m)
  await expect.poll(metrics).toMatch(/^gatehouse_connections_max 3$/m)
  // The first requests for metrics may have been refused, too.
  await expect.poll(metrics).toMatch(/^gatehouse_connections_refused_total [1-9]/m)
  await small.close()
})

test('the maximum number of connections stays below the limit of open files', () => {
  expect(openFilesMax()).toBeGreaterThan(0)
  expect(connectionsMaxOf(undefined, 1024)).toBe(384)
  expect(connectionsMaxOf(undefined, 65_536)).toBe(16_384)
  expect(connectionsMaxOf(50_000, 65_536)).toBe(50_000)
  expect(connectionsMaxOf(50_000, 1024)).toBe(768)
})
