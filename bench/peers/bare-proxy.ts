/**
 * The minimum that a gateway in Node can do: pass a call to the upstream and its response back. The
 * baseline of the benchmark.
 *
 * node bench/peers/bare-proxy.ts <port> <upstream address>
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { Pool } from 'undici'

const CONNECTIONS = 64

const [port = '0', upstream = ''] = process.argv.slice(2)
const pool = new Pool(upstream, { connections: CONNECTIONS, pipelining: 1 })

function pass(request: IncomingMessage, response: ServerResponse, body: Buffer) {
  const headers = {
    'content-type': request.headers['content-type'] ?? 'application/json',
    authorization: request.headers.authorization ?? '',
  }
  const parts: Buffer[] = []
  let isStream = false
  pool.dispatch(
    { path: request.url ?? '/', method: request.method ?? 'GET', headers, body },
    {
      onRequestStart: () => undefined,
      onResponseStart: (_controller, status, answered) => {
        const type = String(answered['content-type'] ?? '')
        isStream = type.startsWith('text/event-stream')
        response.statusCode = status
        response.setHeader('content-type', type)
      },
      onResponseData: (_controller, part) => {
        if (isStream) response.write(part)
        else parts.push(part)
      },
      onResponseEnd: () => {
        if (isStream) response.end()
        else response.end(parts.length === 1 ? parts[0] : Buffer.concat(parts))
      },
      onResponseError: () => response.writeHead(502).end(),
    },
  )
}

http
  .createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => pass(request, response, Buffer.concat(parts)))
  })
  .listen(Number(port), '127.0.0.1')
