import type { Socket } from 'node:net'
import { API_POLICY } from '../security-headers.ts'

/** Node's error for a request that its parser rejects. */
interface ParserError extends Error {
  code?: string
  /** Bytes read when it failed: a `Buffer`, unlike the framework's types state. */
  rawPacket?: unknown
}

/**
 * Responds to a request that Node's parser rejects, with an error that clients of both APIs can
 * read, and closes the connection. A GET or HEAD whose path contains unencoded characters, as sent
 * by curl and PHP, is redirected to the encoded path. This runs before any rate limit, so its work
 * must stay bounded.
 */
export function answerParserError(error: ParserError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  if (socket.writable) socket.write(answerTo(error), 'latin1')
  socket.destroy(error)
}

function answerTo({ code, rawPacket }: ParserError): string {
  if (code === 'HPE_INVALID_URL' && Buffer.isBuffer(rawPacket)) {
    const target = encodedTarget(rawPacket)
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

/**
 * Maximum length of a parsed request line in bytes; a longer one is rejected. Bounds the work per
 * packet.
 */
const REQUEST_LINE_BYTES_MAX = 2048
const LINE_FEED = 0x0a
const FIRST_NON_ASCII = 0x80

/**
 * Returns the path of a GET or HEAD request with its unencoded bytes as `%XX`, or null for any
 * other request line. Only splits and compares: a regular expression with several repetitions takes
 * cubic time on a hostile line.
 */
function encodedTarget(packet: Buffer): string | null {
  const end = packet.subarray(0, REQUEST_LINE_BYTES_MAX).indexOf(LINE_FEED)
  const line = packet.subarray(0, Math.max(0, end))
  if (!line.some((byte) => byte >= FIRST_NON_ASCII)) return null
  const [method, target = '', version, ...rest] = line.toString('latin1').split(' ')
  const isRead = method === 'GET' || method === 'HEAD'
  const isHttp = version !== undefined && REDIRECTED_VERSIONS.has(version.trimEnd())
  if (!isRead || !isHttp || rest.length > 0 || !target.startsWith('/')) return null
  let path = 0
  while (target[path] === '/') path++
  return `/${target.slice(path).replace(NOT_IN_A_PATH, percentEncoded)}`
}

const REDIRECTED_VERSIONS: ReadonlySet<string> = new Set(['HTTP/1.0', 'HTTP/1.1'])

/** Bytes that are invalid in an address, and the backslash, which browsers treat as a slash. */
const NOT_IN_A_PATH = /[^!-~]|\\/g

const percentEncoded = (byte: string): string =>
  `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`

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
