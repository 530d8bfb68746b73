import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { readCall, type Call, type Json } from '../../call.ts'
import { sparkErrorInMiddle, sparkFrames, sparkSignatureProblem } from './spark-frames.ts'

/**
 * Spark's WebSocket, implemented from RFC 6455 without a library and without the code that it
 * tests. Client frames must be masked and unfragmented, and a response begins with a ping.
 */

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const PATH = /^\/(?:v[^/]+\/chat|chat\/[\w-]+)$/
const FIN_TEXT = 0x81
const PART_TEXT = 0x01
const FIN_CONTINUATION = 0x80
const FIN_PING = 0x89
const FIN_CLOSE = 0x88

/** How a call ended. */
export type SocketOutcome = 'answered' | 'client-gone'

export type SocketHooks = {
  words(path: string): string
  /** Called for each request; returns a function to call with the outcome. */
  asked(request: IncomingMessage, call: Call): (outcome: SocketOutcome) => void
}

/** Handles a WebSocket upgrade. */
export async function answerSocket(request: IncomingMessage, socket: Duplex, hooks: SocketHooks) {
  // A client that ends its side has disconnected.
  socket.on('error', () => {}).once('end', () => socket.destroy())
  const handshake = readCall(request, Buffer.alloc(0), hooks.words(request.url ?? ''))
  const problem = sparkSignatureProblem(request)
  if (!PATH.test(handshake.path)) return refuse(socket, '404 Not Found', 'no such path')
  if (problem !== null) return refuse(socket, '401 Unauthorized', problem)
  const { refusal, trouble } = handshake.directives
  if (trouble === 'hang') return
  if (refusal?.status === 401) return refuse(socket, '401 Unauthorized', 'Unauthorized')
  if (trouble === 'html-200') return refuse(socket, '200 OK', 'welcome to the proxy')
  const key = String(request.headers['sec-websocket-key'])
  const accepted = createHash('sha1')
    .update(key + GUID)
    .digest('base64')
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n' +
      `Sec-WebSocket-Accept: ${trouble === 'redirect' ? 'else-where' : accepted}\r\n\r\n`,
  )
  const question = await firstText(socket)
  if (question === null) {
    socket.destroy()
    return
  }
  const call = readCall(request, question, hooks.words(request.url ?? ''))
  await answer(call, socket, hooks.asked(request, call))
}

function refuse(socket: Duplex, status: string, message: string): void {
  const body = JSON.stringify({ message })
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nConnection: close\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  )
}

/** The first text of a client; null if it disconnected or violated the protocol. */
function firstText(socket: Duplex): Promise<Buffer | null> {
  const { promise, resolve } = Promise.withResolvers<Buffer | null>()
  let held = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    held = Buffer.concat([held, chunk])
    const read = unmasked(held)
    if (read === 'broken') resolve(null)
    else if (read !== null) resolve(read)
  })
  socket.once('close', () => resolve(null))
  return promise
}

function unmasked(bytes: Buffer): Buffer | null | 'broken' {
  if (bytes.length < 2) return null
  const [first = 0, second = 0] = bytes
  if (first !== FIN_TEXT || (second & 0x80) === 0) return 'broken'
  const short = second & 0x7f
  const headLength = short === 127 ? 10 : short === 126 ? 4 : 2
  if (bytes.length < headLength + 4) return null
  const length =
    short === 127 ? Number(bytes.readBigUInt64BE(2)) : short === 126 ? bytes.readUInt16BE(2) : short
  // A length must have its shortest encoding.
  if (length < (short === 127 ? 65_536 : short === 126 ? 126 : 0)) return 'broken'
  const from = headLength + 4
  if (bytes.length < from + length) return null
  const mask = bytes.subarray(headLength, from)
  return Buffer.from(
    bytes.subarray(from, from + length).map((byte, at) => byte ^ (mask[at % 4] ?? 0)),
  )
}

function frame(head: number, payload: Buffer): Buffer {
  const { length } = payload
  if (length < 126) return Buffer.concat([Buffer.from([head, length]), payload])
  const long = Buffer.alloc(length < 65_536 ? 4 : 10)
  long[0] = head
  long[1] = length < 65_536 ? 126 : 127
  if (length < 65_536) long.writeUInt16BE(length, 2)
  else long.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([long, payload])
}

async function answer(call: Call, socket: Duplex, ended: (outcome: SocketOutcome) => void) {
  const { directives } = call
  let isDone = false
  socket.once('close', () => ended(isDone ? 'answered' : 'client-gone'))
  if (directives.delayMs > 0) await sleep(directives.delayMs)
  if (directives.trouble === 'hang') return
  if (directives.trouble === 'fail-cut') {
    socket.destroy()
    return
  }
  socket.write(frame(FIN_PING, Buffer.from('are you there')))
  const frames = sparkFrames(call)
  const half = Math.ceil(frames.length / 2)
  const sent = framesToSend(call, frames, half)
  for (const [index, text] of sent.entries()) {
    if (index > 0 && directives.chunkDelayMs > 0) await sleep(directives.chunkDelayMs)
    await writeParts(socket, textFrames(text, index === 1), directives.oneByte)
  }
  if (directives.trouble === 'hang-mid-stream') return
  if (directives.cutAfter !== null) {
    socket.destroy()
    return
  }
  isDone = true
  socket.end(frame(FIN_CLOSE, Buffer.from([0x03, 0xe8])))
}

function framesToSend({ directives }: Call, frames: Json[], half: number): Json[] {
  switch (directives.trouble) {
    case 'end-without-done':
      return frames.slice(0, -1)
    case 'hang-mid-stream':
      return frames.slice(0, half)
    case 'error-mid-stream':
      return [...frames.slice(0, half), sparkErrorInMiddle()]
    default:
      return directives.cutAfter === null ? frames : frames.slice(0, directives.cutAfter)
  }
}

/** A text in one frame or two. */
function textFrames(text: Json, isSplit: boolean): Buffer {
  const bytes = Buffer.from(JSON.stringify(text))
  if (!isSplit) return frame(FIN_TEXT, bytes)
  return Buffer.concat([
    frame(PART_TEXT, bytes.subarray(0, 9)),
    frame(FIN_PING, Buffer.alloc(0)),
    frame(FIN_CONTINUATION, bytes.subarray(9)),
  ])
}

async function writeParts(socket: Duplex, bytes: Buffer, oneByte: boolean) {
  if (!oneByte) {
    socket.write(bytes)
    return
  }
  for (const byte of bytes) {
    socket.write(Buffer.from([byte]))
    await nextTurn()
  }
}
