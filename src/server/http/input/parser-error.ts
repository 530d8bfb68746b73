import type { Socket } from 'node:net'
import { API_POLICY } from '../security-headers.ts'

/** What Node tells of a request that its parser refuses. */
interface ParserError extends Error {
  code?: string
  /** What was read when it failed: a `Buffer`, whatever the framework's types say. */
  rawPacket?: unknown
}

/**
 * Answers what is no request that could be routed: both families of clients find a sentence. A GET
 * whose address holds letters that were to be percent-encoded, as curl and PHP send what somebody
 * typed, is sent on to the address that was meant.
 */
export function answerParserError(error: ParserError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  if (socket.writable) socket.write(answerTo(error), 'latin1')
  socket.destroy(error)
}

function answerTo({ code, rawPacket }: ParserError): string {
  if (code === 'HPE_INVALID_URL' && Buffer.isBuffer(rawPacket)) {
    const target = encodedTarget(rawPacket.toString('latin1'))
    if (target !== null) return head('308 Permanent Redirect', { Location: target, length: 0 })
  }
  const { status, text } = (code !== undefined && REFUSALS[code]) || UNREADABLE
  const error = { message: text, type: 'invalid_request_error', param: null, code: null }
  const body = Buffer.from(JSON.stringify({ success: false, message: text, error }))
  return head(status, {
    'Content-Type': 'application/json; charset=utf-8',
    length: body.length,
  }).concat(body.toString('latin1'))
}

const UNREADABLE = {
  status: '400 Bad Request',
  text: '请求无法解析 / The request cannot be read',
}
const REFUSALS: Record<string, typeof UNREADABLE> = {
  HPE_INVALID_URL: {
    status: '400 Bad Request',
    text: '请求地址中的特殊字符须以 %XX 编码 / Special characters in the address must be encoded as %XX',
  },
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    text: '请求头过大 / The headers of the request are too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    text: '请求头迟迟没有发完 / The headers of the request took too long',
  },
}

/** A request line whose target holds bytes beyond ASCII and is a path. */
const REQUEST_LINE = /^(?:GET|HEAD) \/+(\S*[\x80-\xff]\S*) HTTP\/1\.[01]\r?\n/

function encodedTarget(packet: string): string | null {
  const target = REQUEST_LINE.exec(packet)?.[1]
  const encoded = target?.replace(
    /[^!-~]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
  return encoded === undefined ? null : `/${encoded}`
}

function head(status: string, { length, ...headers }: Record<string, string | number>): string {
  const lines = Object.entries({
    ...headers,
    'Content-Length': length,
    'Cache-Control': 'no-store',
    'Content-Security-Policy': API_POLICY,
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status}\r\n${lines.join('')}\r\n`
}
