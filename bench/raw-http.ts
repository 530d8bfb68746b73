/**
 * HTTP/1.1 over plain sockets for load generation: headers are not parsed, so that one core keeps
 * up with several gateways. One call at a time per kept-alive connection.
 */
import net, { type Socket } from 'node:net'

export type RawResponse = {
  status: number
  /** Status line and headers, unparsed. */
  head: string
  /** Everything after the head; a chunked body keeps its chunk framing. */
  body: Buffer
}

export type RawConnection = {
  send(request: Buffer): void
  close(): void
}

export type RawHandlers = {
  onResponse(response: RawResponse): void
  /** The connection was closed or refused; no further events follow. */
  onClose(): void
  /** Every read, before it is parsed. */
  onData?(part: Buffer): void
}

const HEAD_END = Buffer.from('\r\n\r\n')
const LINE_END = Buffer.from('\r\n')
const EMPTY: Buffer = Buffer.alloc(0)

export function connect(url: URL, handlers: RawHandlers): RawConnection {
  const socket: Socket = net.connect({ host: url.hostname, port: Number(url.port), noDelay: true })
  const read = createResponseReader((response) => handlers.onResponse(response))
  let isClosed = false
  const ended = () => {
    if (isClosed) return
    isClosed = true
    socket.destroy()
    handlers.onClose()
  }
  socket.on('data', (part: Buffer) => {
    handlers.onData?.(part)
    read(part)
  })
  socket.on('end', ended).on('error', ended).on('close', ended)
  return {
    send: (request) => socket.write(request),
    close: () => {
      isClosed = true
      socket.destroy()
    },
  }
}

export type RawRequest = {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
}

/** Builds the bytes of a request, which are sent many times. */
export function requestBytes(url: URL, request: RawRequest): Buffer {
  const { method = 'POST', path, headers = {}, body = '' } = request
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `host: ${url.host}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`)
}

type Head = { text: string; bytes: number; status: number; length: number | null }

/** Accepts reads of any size and reports each response with its last byte. */
export function createResponseReader(onResponse: (response: RawResponse) => void) {
  let held = EMPTY
  let head: Head | null = null
  let chunkAt = 0
  return (part: Buffer) => {
    held = held.length === 0 ? part : Buffer.concat([held, part])
    while (held.length > 0) {
      if (!head) {
        head = readHead(held)
        if (!head) return
        chunkAt = head.bytes
      }
      if (head.length === null) {
        const skipped = skipChunks(held, chunkAt)
        chunkAt = skipped.at
        if (!skipped.isEnd) return
      } else {
        chunkAt = head.bytes + head.length
        if (held.length < chunkAt) return
      }
      const { status, text, bytes } = head
      const body = held.subarray(bytes, chunkAt)
      held = held.subarray(chunkAt)
      head = null
      onResponse({ status, head: text, body })
    }
  }
}

function readHead(held: Buffer): Head | null {
  const end = held.indexOf(HEAD_END)
  if (end < 0) return null
  const text = held.toString('latin1', 0, end)
  const status = Number(text.slice(9, 12))
  const length = /\r\ncontent-length: *(\d+)/i.exec(text)?.[1]
  const isChunked = length === undefined && /\r\ntransfer-encoding: *chunked/i.test(text)
  return {
    text,
    status,
    bytes: end + HEAD_END.length,
    length: isChunked ? null : Number(length ?? 0),
  }
}

/** Skips complete chunks. Trailers are not supported. */
function skipChunks(held: Buffer, from: number): { at: number; isEnd: boolean } {
  let at = from
  for (;;) {
    const line = held.indexOf(LINE_END, at)
    if (line < 0) return { at, isEnd: false }
    const size = Number.parseInt(held.toString('latin1', at, line), 16)
    const next = line + 2 + size + 2
    if (held.length < next) return { at, isEnd: false }
    at = next
    if (size === 0) return { at, isEnd: true }
  }
}
