/**
 * The fake upstream for benchmarks: raw sockets and prebuilt bytes, so that the measured gateway
 * gets the machine's time. Every POST is a chat call of `gpt-4o-mini` with the response and usage
 * of the full version; a body with `"stream":true` gets the stream. It supports nothing else, keeps
 * every connection, and counts its responses (`GET /__count`).
 */
import net, { type AddressInfo, type Socket } from 'node:net'

const MODEL = 'gpt-4o-mini'
const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')
const STREAM_WORDS = [Buffer.from('"stream":true'), Buffer.from('"stream": true')]
const USAGE_WORD = Buffer.from('"include_usage"')
const EMPTY = Buffer.alloc(0)

export type FastUpstream = { url: string; port: number; answered(): number; close(): Promise<void> }

export async function startFastUpstream({ port = 0 } = {}): Promise<FastUpstream> {
  let answered = 0
  const sockets = new Set<Socket>()
  const server = net.createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    let held: Buffer = EMPTY
    socket.on('data', (part: Buffer) => {
      held = held.length === 0 ? part : Buffer.concat([held, part])
      for (;;) {
        const request = readRequest(held)
        if (!request) return
        held = held.subarray(request.bytes)
        if (request.isCount) socket.write(countAnswer(answered))
        else {
          answered += 1
          socket.write(answerTo(request.body))
        }
      }
    })
    // A peer resets its connections at the end of a benchmark round: nothing to report.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve)
  })
  // A server that listens on TCP has an address object, not a pipe name.
  const { port: boundPort } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${boundPort}`,
    port: boundPort,
    answered: () => answered,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

type FastRequest = { isCount: boolean; body: Buffer; bytes: number }

/** The first request in the buffer; null while it is incomplete. */
function readRequest(held: Buffer): FastRequest | null {
  const headEnd = held.indexOf(HEAD_END)
  if (headEnd < 0) return null
  const bodyStart = headEnd + HEAD_END.length
  const head = held.toString('latin1', 0, headEnd)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)
  if (length) {
    const end = bodyStart + Number(length[1])
    if (held.length < end) return null
    return { isCount: false, body: held.subarray(bodyStart, end), bytes: end }
  }
  if (/\r\ntransfer-encoding: *chunked/i.test(head)) {
    const last = held.indexOf(LAST_CHUNK, bodyStart)
    if (last < 0) return null
    const end = last + LAST_CHUNK.length
    return { isCount: false, body: held.subarray(bodyStart, last), bytes: end }
  }
  return { isCount: head.startsWith('GET /__count'), body: EMPTY, bytes: bodyStart }
}

function answerTo(body: Buffer): Buffer {
  if (!STREAM_WORDS.some((word) => body.includes(word))) return plain
  return body.includes(USAGE_WORD) ? streamWithUsage : stream
}

function withHead(type: string, body: string): Buffer {
  const length = Buffer.byteLength(body)
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${length}\r\n\r\n${body}`,
  )
}

function chunked(parts: string[]): Buffer {
  const chunks = parts.map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`)
  return Buffer.from(
    'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n' +
      `${chunks.join('')}0\r\n\r\n`,
  )
}

function countAnswer(answered: number): Buffer {
  return withHead('application/json', JSON.stringify({ answered }))
}

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }
const plain = withHead(
  'application/json',
  JSON.stringify({
    id: 'chatcmpl-fixed',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: MODEL,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'The answer is forty-two.' },
        finish_reason: 'stop',
      },
    ],
    usage,
  }),
)

const chunkHead = {
  id: 'chatcmpl-fixed',
  object: 'chat.completion.chunk',
  created: 1_700_000_000,
  model: MODEL,
}
const deltas = [
  { role: 'assistant', content: '' },
  ...['The ', 'answer ', 'is ', 'forty', '-two.'].map((content) => ({ content })),
]
const contentChunks: unknown[] = [
  ...deltas.map((delta) => ({ ...chunkHead, choices: [{ index: 0, delta, finish_reason: null }] })),
  { ...chunkHead, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
]
const eventOf = (payload: unknown) => `data: ${JSON.stringify(payload)}\n\n`
const doneEvent = 'data: [DONE]\n\n'
const stream = chunked([...contentChunks.map(eventOf), doneEvent])
const streamWithUsage = chunked([
  ...contentChunks.map(eventOf),
  eventOf({ ...chunkHead, choices: [], usage }),
  doneEvent,
])
