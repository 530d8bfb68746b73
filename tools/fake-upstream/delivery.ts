import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import zlib from 'node:zlib'
import type { Answer } from './answer.ts'
import { gzipBomb } from './bomb.ts'
import type { Call } from './call.ts'
import type { Directives } from './directives.ts'
import { eventsToSend, frame, tear } from './stream-frames.ts'

/** Enough for the peer to read what was written before a reset, in milliseconds. */
const READ_BEFORE_RESET_MS = 20
/** Enough for two writes to arrive as two reads, in milliseconds. */
const BETWEEN_PARTS_MS = 2
const EVENT_STREAM = { 'content-type': 'text/event-stream' }

type Streamed = Extract<Answer, { kind: 'stream' }>

/** Sends a response with the fault that its request selects; resolves after the last byte. */
export async function deliver(call: Call, answer: Answer, response: ServerResponse) {
  const { directives } = call
  if (directives.bombMebibytes > 0) return sendBomb(call, response)
  switch (directives.trouble) {
    case 'bad-length-short':
    case 'bad-length-long':
    case 'chunked-no-end':
      return sendRaw(call, answer, response)
    case 'stall':
      response.writeHead(200, headersOf(answer)).flushHeaders()
      return
    default:
  }
  return answer.kind === 'whole'
    ? sendWhole(call, answer, response)
    : sendStream(call, answer, response)
}

async function sendWhole(
  call: Call,
  answer: Extract<Answer, { kind: 'whole' }>,
  response: ServerResponse,
) {
  const { directives } = call
  const body = directives.gzip ? zlib.gzipSync(answer.body) : answer.body
  const encoding = directives.gzip ? { 'content-encoding': 'gzip' } : {}
  // A 204 has no body and so no length; an empty 200 is sent chunked, as recorded.
  const length = body.length > 0 ? { 'content-length': body.length } : {}
  response.writeHead(answer.status, { ...answer.headers, ...encoding, ...length })
  if (directives.trouble === 'hang-mid-stream') {
    response.write(body.subarray(0, Math.ceil(body.length / 2)))
    return
  }
  if (directives.cutAfter === null) {
    response.end(body)
    return
  }
  response.flushHeaders()
  await write(response, body.subarray(0, directives.cutAfter))
  await reset(response)
}

async function sendStream(call: Call, answer: Streamed, response: ServerResponse) {
  const { directives } = call
  const { events, layout } = answer
  const sent = eventsToSend(events, directives, layout)
  const encoding = directives.gzip ? { 'content-encoding': 'gzip' } : {}
  response.writeHead(200, { ...headersOf(answer), ...encoding }).flushHeaders()
  const gzip = directives.gzip ? zlib.createGzip() : null
  gzip?.pipe(response, { end: false })
  for (const [index, event] of sent.entries()) {
    if (index > 0 && directives.chunkDelayMs > 0) await sleep(directives.chunkDelayMs)
    if (response.closed) return
    const place = index === 0 ? 'first' : index === sent.length - 1 ? 'last' : 'middle'
    const bytes = layout?.bytes(event) ?? frame(event, place, directives)
    if (gzip) {
      gzip.write(bytes)
      await new Promise<void>((resolve) => gzip.flush(resolve))
    } else await writeParts(response, bytes, directives)
  }
  if (directives.cutAfter !== null) return reset(response)
  if (directives.trouble === 'hang-mid-stream') return
  if (gzip) await new Promise<void>((resolve) => gzip.once('end', resolve).end())
  response.end()
}

async function writeParts(response: ServerResponse, bytes: Buffer, directives: Directives) {
  const parts = tear(bytes, directives)
  for (const part of parts) {
    await write(response, part)
    if (directives.oneByte) await nextTurn()
    else if (parts.length > 1) await sleep(BETWEEN_PARTS_MS)
  }
}

/** Writes with backpressure; ends the wait if the client disconnects. */
async function write(response: ServerResponse, bytes: Buffer) {
  if (response.closed || bytes.length === 0 || response.write(bytes)) return
  await new Promise<void>((resolve) => {
    response.once('drain', resolve).once('close', resolve)
  })
}

async function reset(response: ServerResponse) {
  await sleep(READ_BEFORE_RESET_MS)
  response.socket?.resetAndDestroy()
}

function headersOf(answer: Answer): Record<string, string> {
  if (answer.kind === 'whole') return answer.headers
  const { layout } = answer
  return layout === undefined ? EVENT_STREAM : { 'content-type': layout.contentType }
}

function wholeBody(call: Call, answer: Answer): Buffer {
  if (answer.kind === 'whole') return answer.body
  const { events, layout } = answer
  return Buffer.concat(
    events.map((event) => layout?.bytes(event) ?? frame(event, 'middle', call.directives)),
  )
}

/** Responses with wrong framing, written to the socket because node:http would not send them. */
async function sendRaw(call: Call, answer: Answer, response: ServerResponse) {
  const { socket } = response
  const { trouble } = call.directives
  const body = wholeBody(call, answer)
  const head = ['HTTP/1.1 200 OK', `content-type: ${headersOf(answer)['content-type']}`]
  if (trouble === 'chunked-no-end') {
    head.push('transfer-encoding: chunked', '', `${body.length.toString(16)}`)
  } else {
    const length = body.length + (trouble === 'bad-length-long' ? 100 : -10)
    head.push(`content-length: ${length}`, '')
  }
  const end = trouble === 'chunked-no-end' ? '\r\n' : ''
  socket?.write(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n`), body, Buffer.from(end)]))
  await sleep(READ_BEFORE_RESET_MS)
  socket?.end()
}

/** A small response that decompresses to many MiB of one letter within valid JSON. */
function sendBomb(call: Call, response: ServerResponse) {
  const isStream = call.json.stream === true
  const start = '{"id":"chatcmpl-fixed","choices":[{"index":0,"delta":{"content":"'
  const end = '"}}]}'
  const parts = isStream
    ? { before: `data: ${start}`, after: `${end}\n\ndata: [DONE]\n\n` }
    : { before: start, after: end }
  const body = gzipBomb(parts, call.directives.bombMebibytes)
  response.writeHead(200, {
    'content-type': isStream ? 'text/event-stream' : 'application/json',
    'content-encoding': 'gzip',
    'content-length': body.length,
  })
  response.end(body)
}
