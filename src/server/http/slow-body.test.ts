import http from 'node:http'
import net from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AppError } from '../app-error.ts'
import { startRelay } from '../test/relay-setup.ts'
import { endSlowBody } from './slow-body.ts'

const TIMEOUT_MS = 50
const ANSWER_AFTER_MS = 150

let port: number
const server = http.createServer((request, response) => {
  const refuse = ({ status }: AppError): void => {
    response.writeHead(status, { Connection: 'close' }).end('too slow')
  }
  endSlowBody(request, refuse, TIMEOUT_MS)
  request.resume().on('end', () => setTimeout(() => response.end('done'), ANSWER_AFTER_MS))
})
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  port = address !== null && typeof address === 'object' ? address.port : 0
})
afterAll(() => void server.close())

/** What comes back until the server ends the connection. */
async function answerTo(body: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (part: Buffer) => (answer += part.toString()))
  socket.on('error', () => {})
  socket.write(
    `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 4\r\n\r\n${body}`,
  )
  await once(socket, 'close')
  return answer
}

test('whoever stops in the middle of a body is told so and left', async () => {
  expect(await answerTo('ab')).toMatch(/^HTTP\/1.1 408 .*too slow/s)
})

test('whoever waits for an answer is not', async () => {
  expect(await answerTo('abcd')).toContain('done')
})

test('whoever stops in the middle of a head is told so within seconds of the limit', async () => {
  const setup = await startRelay()
  const { hostname, port: own } = new URL(setup.url)
  const socket = net.connect(Number(own), hostname)
  const began = performance.now()
  socket.write('POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n')
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1.1 408 /)
  expect(performance.now() - began).toBeLessThan(25_000)
  socket.destroy()
  await setup.close()
}, 60_000)
