import net from 'node:net'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startRelay, type RelaySetup } from '../test/relay-setup.ts'

let setup: RelaySetup
beforeAll(async () => {
  const times = { headMs: 100, checkMs: 20, bodyMs: 100, relayBodyMs: 100 }
  setup = await startRelay(undefined, {}, times)
})
afterAll(() => setup.close())

/** Sends a text and returns the response until the server closes the connection. */
async function answerTo(text: string): Promise<string> {
  const { hostname, port } = new URL(setup.url)
  const socket = net.connect(Number(port), hostname)
  let answer = ''
  socket.on('data', (part: Buffer) => (answer += part.toString()))
  socket.on('error', () => {})
  socket.write(text)
  await once(socket, 'close')
  return answer
}

test.each([
  ['a head', 'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n'],
  [
    'the body of a management call',
    'POST /api/user/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20\r\n\r\n{"username"',
  ],
])('a client that stops in the middle of %s gets 408 and is disconnected', async (_what, text) => {
  expect(await answerTo(text)).toMatch(/^HTTP\/1.1 408 .*"success":false/s)
})

test('a request rejected for its slow body does not start when the rest arrives', async () => {
  const { hostname, port } = new URL(setup.url)
  const socket = net.connect(Number(port), hostname)
  const body = JSON.stringify({ username: 'root', password: 'wrong-password' })
  socket.write(
    `POST /api/user/login HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 9)}`,
  )
  let answer = ''
  socket.on('data', (part: Buffer) => (answer += part.toString()))
  await once(socket, 'data')
  socket.write(body.slice(9))
  await once(socket, 'close')
  expect(answer).toMatch(/^HTTP\/1.1 408 /)
  expect(answer.match(/HTTP\/1.1/g)).toHaveLength(1)
})
