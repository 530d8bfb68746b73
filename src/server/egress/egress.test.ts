import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import type { AddressInfo } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import tls from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { callUpstream } from '../relay/transport/upstream-call.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../test/test-certificate.ts'
import { createEgress, EgressRefused, type Egress } from './egress.ts'

/** Checks the actual connections: a server counts those it receives. */

let server: http.Server
let port: number
let connections = 0
let requests: { url: string; host: string }[] = []
beforeAll(async () => {
  server = http.createServer((request, response) => {
    requests.push({ url: request.url ?? '', host: request.headers.host ?? '' })
    if (request.url === '/moved') response.writeHead(302, { location: '/landed' })
    const seconds = /^\/kept-(\d+)$/.exec(request.url ?? '')?.[1]
    if (seconds !== undefined) response.setHeader('keep-alive', `timeout=${seconds}`)
    response.end('hello')
  })
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on TCP has an address object.
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  connections = 0
  requests = []
})

const made: Egress[] = []
afterEach(async () => {
  for (const egress of made.splice(0)) await egress.close()
})
function egressOf(settings: Parameters<typeof createEgress>[0]): Egress {
  const egress = createEgress(settings)
  made.push(egress)
  return egress
}

/** Returns the status, or the reason of the failure. */
function call(egress: Egress, url: string, proxy?: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let status = 0
  let text = ''
  callUpstream(
    egress,
    {
      url,
      method: 'GET',
      headers: {},
      body: null,
      firstByteTimeoutMs: 60_000,
      idleTimeoutMs: 60_000,
      ...(proxy === undefined ? {} : { proxy }),
    },
    {
      onHead: (answered) => {
        status = answered
      },
      onData: (chunk) => {
        text += chunk.toString()
      },
      onEnd: () => resolve(`${status} ${text}`),
      onFailure: (failure, error) => resolve(error instanceof EgressRefused ? 'refused' : failure),
    },
  )
  return promise
}

describe('private addresses', () => {
  /** Spellings of the loopback address that URL parsers accept. */
  const loopback = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '127.0.0.1.',
    '①②⑦.⓪.⓪.①',
    '127。0。0。1',
    'user:pass@127.0.0.1',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
  ]

  test.each(loopback)('are reached if the operator allows them: %s', async (host) => {
    expect(await call(egressOf({ allowPrivate: true }), `http://${host}:${port}/x`)).toBe(
      '200 hello',
    )
    expect(connections).toBe(1)
  })

  test.each([...loopback, 'localhost', 'LOCALHOST', '[::1]', '10.0.0.1'])(
    'are never tried otherwise: %s',
    async (host) => {
      expect(await call(egressOf({ allowPrivate: false }), `http://${host}:${port}/x`)).toBe(
        'refused',
      )
      expect(connections).toBe(0)
    },
  )
})

describe('with any permission', () => {
  test.each([
    '169.254.169.254',
    '0xa9fea9fe',
    '2852039166',
    '0.0.0.0',
    '0',
    '[::]',
    '[::ffff:169.254.169.254]',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:a9fe:a9fe::1]',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '224.0.0.1',
    '255.255.255.255',
  ])('%s is rejected without a connection', async (host) => {
    const started = performance.now()
    expect(await call(egressOf({ allowPrivate: true }), `http://${host}:${port}/x`)).toBe('refused')
    expect(performance.now() - started).toBeLessThan(10_000)
  })

  test.each(['http://[::1%25lo]/', 'http://', 'not a url', 'http://a b/', 'file:///etc/passwd'])(
    'an invalid server address fails like any other request: %s',
    async (url) => {
      expect(await call(egressOf({ allowPrivate: true }), url)).toBe('unreachable')
    },
  )

  test('a name that does not resolve is unreachable', async () => {
    const result = await call(egressOf({ allowPrivate: true }), 'http://nowhere.invalid/')
    expect(result).toBe('unreachable')
  })
})

test('names are resolved here, and the connection uses the checked address', async () => {
  expect(await call(egressOf({ allowPrivate: true }), `http://localhost:${port}/x`)).toBe(
    '200 hello',
  )
  expect(requests).toEqual([{ url: '/x', host: `localhost:${port}` }])
})

test('redirects are not followed', async () => {
  const egress = egressOf({ allowPrivate: true })
  expect(await call(egress, `http://127.0.0.1:${port}/moved`)).toBe('302 hello')
  expect(requests.map(({ url }) => url)).toEqual(['/moved'])
})

describe('other protocols', () => {
  const greet = async (egress: Egress, host: string): Promise<string> => {
    const socket = await egress.connect({ host, port })
    socket.end('GET /x HTTP/1.0\r\n\r\n')
    const parts: Buffer[] = []
    for await (const part of socket) parts.push(Buffer.from(part))
    return Buffer.concat(parts).toString().split('\r\n')[0] ?? ''
  }

  test.each(['127.0.0.1', 'localhost'])('reach %s by the same rules', async (host) => {
    expect(await greet(egressOf({ allowPrivate: true }), host)).toBe('HTTP/1.1 200 OK')
    connections = 0
    await expect(greet(egressOf({ allowPrivate: false }), host)).rejects.toThrow(EgressRefused)
    expect(connections).toBe(0)
  })

  test('fail with the error of the socket', async () => {
    const egress = egressOf({ allowPrivate: true })
    await expect(egress.connect({ host: 'nowhere.invalid', port: 25 })).rejects.toThrow('ENOTFOUND')
    await expect(egress.connect({ host: '169.254.169.254', port: 25 })).rejects.toThrow(
      EgressRefused,
    )
  })
})

test('connections are reused', async () => {
  const egress = egressOf({ allowPrivate: true })
  for (let count = 0; count < 5; count += 1) await call(egress, `http://127.0.0.1:${port}/x`)
  // The next request may start just before the previous connection is free.
  expect(connections).toBeLessThanOrEqual(2)
  expect(requests).toHaveLength(5)
})

test('thousands of origins do not accumulate', async () => {
  const egress = egressOf({ allowPrivate: true })
  const first = egress.dispatcher('http://127.0.0.1:1')
  for (let other = 2; other < 2300; other += 1) egress.dispatcher(`http://127.0.0.1:${other}`)
  // Dropped, and created again when needed.
  expect(egress.dispatcher('http://127.0.0.1:1')).not.toBe(first)
  expect(egress.dispatcher('http://127.0.0.1:2299')).toBe(
    egress.dispatcher('http://127.0.0.1:2299'),
  )
})

// A request could be sent just as its connection is closed, without knowing whether it was read.
test.each([
  ['is used no more where it is kept for moments', 2, 2],
  ['is used again where it is kept for long', 60, 1],
])('a connection %s', async (_what, seconds, expected) => {
  const egress = egressOf({ allowPrivate: true })
  for (let calls = 0; calls < 2; calls += 1) {
    expect(await call(egress, `http://127.0.0.1:${port}/kept-${seconds}`)).toBe('200 hello')
    // The connection is free after its response has been processed.
    await setImmediate()
  }
  expect(connections).toBe(expected)
})

describe('through a proxy', () => {
  /** A proxy that tunnels to any requested target. */
  async function startProxy(target = port) {
    const asked: string[] = []
    const proxy = http.createServer()
    proxy.on('connect', (request, socket) => {
      asked.push(request.url ?? '')
      const onward = net.connect(target, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        onward.pipe(socket).pipe(onward)
      })
      onward.on('error', () => socket.destroy())
      socket.on('error', () => onward.destroy())
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    // A server that listens on TCP has an address object.
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    return { asked, url, close: () => proxy.close() }
  }

  test('requests use it, and it resolves the names', async () => {
    const proxy = await startProxy()
    const egress = egressOf({ allowPrivate: false, proxy: proxy.url })
    expect(await call(egress, 'http://models.example/v1/x')).toBe('200 hello')
    expect(proxy.asked).toEqual(['models.example:80'])
    expect(requests).toEqual([{ url: '/v1/x', host: 'models.example' }])
    proxy.close()
  })

  test('forbidden addresses are still rejected', async () => {
    const proxy = await startProxy()
    const egress = egressOf({ allowPrivate: true, proxy: proxy.url })
    expect(await call(egress, 'http://169.254.169.254/latest')).toBe('refused')
    expect(proxy.asked).toEqual([])
    proxy.close()
  })

  // With HTTP/2 a broken connection would fail every request to its host.
  test.each([
    ['directly', 'no'],
    ['through the server’s proxy', 'server'],
    ['through a channel’s proxy', 'channel'],
  ])('HTTP/2 is not offered to a server that supports it, %s', async (_how, by) => {
    const offered: string[][] = []
    const secure = tls.createServer({
      cert: TEST_CERTIFICATE,
      key: TEST_CERTIFICATE_KEY,
      ALPNCallback: ({ protocols }) => {
        offered.push(protocols)
        return protocols.find((protocol) => protocol === 'h2') ?? protocols[0]
      },
    })
    secure.on('tlsClientError', () => {})
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve))
    // A server that listens on TCP has an address object.
    const securePort = (secure.address() as AddressInfo).port
    const proxy = await startProxy(securePort)
    const egress = egressOf({
      allowPrivate: true,
      proxy: by === 'server' ? proxy.url : undefined,
    })
    const url = `https://127.0.0.1:${securePort}/x`
    // The certificate is untrusted; ALPN is sent before it is checked.
    expect(await call(egress, url, by === 'channel' ? proxy.url : undefined)).toBe('unreachable')
    expect(offered).toEqual([['http/1.1']])
    expect(proxy.asked).toHaveLength(by === 'no' ? 0 : 1)
    proxy.close()
    secure.close()
  })

  test.each([
    ['directly', 'no'],
    ['through the server’s proxy', 'server'],
    ['through a channel’s proxy', 'channel'],
  ])('a WebSocket’s connection is opened with TLS, %s', async (_how, by) => {
    const secure = tls.createServer({ cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY })
    secure.on('secureConnection', (socket) => socket.end('hello'))
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve))
    // A server listening on TCP has an address object.
    const { port: securePort } = secure.address() as AddressInfo
    const proxy = await startProxy(securePort)
    const egress = egressOf({
      allowPrivate: true,
      proxy: by === 'server' ? proxy.url : undefined,
    })
    const url = new URL(`wss://localhost:${securePort}`)
    const open = () => egress.connectTo(url, by === 'channel' ? proxy.url : undefined)
    const usual = tls.getCACertificates()
    tls.setDefaultCACertificates([...usual, TEST_CERTIFICATE])
    const parts: Buffer[] = []
    for await (const part of await open()) parts.push(Buffer.from(part))
    tls.setDefaultCACertificates(usual)
    expect(Buffer.concat(parts).toString()).toBe('hello')
    expect(proxy.asked).toEqual(by === 'no' ? [] : [`localhost:${securePort}`])
    const untrusted = await open()
    await expect(once(untrusted, 'close')).rejects.toThrow('self-signed')
    proxy.close()
    secure.close()
  })

  test('a WebSocket’s connection obeys the rules for addresses, and a proxy that refuses', async () => {
    const proxy = await startProxy()
    const open = (egress: Egress, url: string, by?: string) => egress.connectTo(new URL(url), by)
    const strict = egressOf({ allowPrivate: false })
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '169.254.169.254']) {
      await expect(open(strict, `ws://${host}:${port}`)).rejects.toThrow(EgressRefused)
    }
    await expect(open(strict, 'ws://models.example', proxy.url)).rejects.toThrow(EgressRefused)
    expect(connections).toBe(0)
    const egress = egressOf({ allowPrivate: true })
    const refusing = `http://127.0.0.1:${port}`
    await expect(open(egress, 'ws://models.example', refusing)).rejects.toThrow('closed')
    proxy.close()
  })
})
