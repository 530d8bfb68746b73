import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { endSlowReader } from './slow-reader.ts'

const TIMEOUT_MS = 400
const PIECE = Buffer.alloc(1024 * 1024)

let server: http.Server
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

/** What a client gets of an answer that is made of these pieces. */
async function answerOf(pieces: () => AsyncGenerator<Buffer>): Promise<http.IncomingMessage> {
  server = http.createServer((_request, response) => {
    endSlowReader(response, TIMEOUT_MS)
    Readable.from(pieces()).pipe(response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // A server listening on TCP has an address object.
  const { port } = server.address() as AddressInfo
  const request = http.get({ port, host: '127.0.0.1', agent: false })
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once('response', resolve)
    request.once('error', reject)
  })
  response.on('error', () => {})
  return response
}

/** More than the sockets of both sides hold. */
async function* muchOfIt() {
  for (let piece = 0; piece < 32; piece += 1) yield PIECE
}

async function wholeOf(response: http.IncomingMessage): Promise<boolean> {
  const closed = new Promise((resolve) => response.once('close', resolve))
  response.resume()
  await closed
  return response.complete
}

test('a client that stops reading is cut', async () => {
  const response = await answerOf(muchOfIt)
  await setTimeout(5 * TIMEOUT_MS)
  expect(await wholeOf(response)).toBe(false)
})

test('a slow one gets the whole, and so does one that has to wait for us', async () => {
  const slow = await answerOf(muchOfIt)
  slow.on('data', () => {
    slow.pause()
    void setTimeout(5).then(() => slow.resume())
  })
  expect(await wholeOf(slow)).toBe(true)
  server.close()
  const waiting = await answerOf(async function* seldom() {
    yield PIECE
    await setTimeout(3 * TIMEOUT_MS)
    yield PIECE
  })
  expect(await wholeOf(waiting)).toBe(true)
})
