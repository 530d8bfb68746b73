import type { IncomingMessage } from 'node:http'
import { WebSocket } from 'ws'
import type { Egress } from '../../../egress/egress.ts'
import { isRecord, parseJson, type JsonRecord } from '../../json/json-value.ts'
import type {
  Sealed,
  UpstreamCall,
  UpstreamFailure,
  UpstreamListener,
  UpstreamRequest,
  Via,
} from '../../transport/upstream-call.ts'
import { isLastFrame, joinedFrames } from './read-answer.ts'

/**
 * WebSocket call of Spark: one frame for the request, several for the response. The relay treats it
 * as an HTTP call: a stream becomes server-sent events, a whole response one JSON text. Timeouts
 * run from the start to the first frame and from frame to frame; aborting closes the socket.
 */
export const sparkVia: Via = (egress, request, listener) => {
  const call = new FramesCall(request, listener)
  call.start(egress).catch((error: unknown) => call.fail(errorOf(error)))
  return call
}

const errorOf = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error))

const SILENT = new Error('no frame in time')
const BAD_FRAME = new Error('a frame that is no JSON object')
const TOO_MUCH = new Error('the answer is too long')
/** Maximum size of a whole response in bytes, including the overhead of its frames. */
const WHOLE_BYTES_MAX = 32 * 1024 * 1024
/** Memory overhead of a frame in bytes, in addition to its text. */
const FRAME_BYTES = 512
const NORMAL_CLOSURE = 1000

const SOCKET_LIMITS = {
  maxPayload: 16 * 1024 * 1024,
  /** Time in ms for the server to close as well. */
  closeTimeout: 2000,
  perMessageDeflate: false,
}

class FramesCall implements UpstreamCall {
  private readonly request: UpstreamRequest
  private readonly listener: UpstreamListener
  private readonly isStream: boolean
  /** Frames of a whole answer. */
  private readonly frames: JsonRecord[] = []
  private framesLength = 0
  private socket: WebSocket | null = null
  private isAsked = false
  private timer: NodeJS.Timeout | null = null
  private isAborted = false
  private hasAnswer = false
  private isPaused = false
  private isOver = false

  constructor(request: UpstreamRequest, listener: UpstreamListener) {
    this.request = request
    this.listener = listener
    this.isStream = (request.headers['accept'] ?? '').includes('text/event-stream')
  }

  async start(egress: Egress): Promise<void> {
    const { url, headers, body, firstByteTimeoutMs, proxy } = this.request
    this.waitFor(firstByteTimeoutMs)
    const sealed = await sealedOr(this.request, egress)
    if (this.isAborted || this.isOver) return
    if (sealed.kind !== 'sealed') throw new Error('no signature can be made')
    const connection = await egress.connectTo(new URL(url), proxy)
    if (this.isAborted || this.isOver) {
      connection.destroy()
      return
    }
    const query = sealed.query === undefined ? '' : `?${sealed.query}`
    const socket = new WebSocket(url + query, {
      ...SOCKET_LIMITS,
      headers: { 'user-agent': headers['user-agent'] ?? '', ...sealed.headers },
      createConnection: () => connection,
    })
    this.socket = socket
    socket.on('open', () => {
      this.isAsked = true
      socket.send((body ?? NOTHING).toString())
    })
    // The type also allows other forms, but by default a message is a single buffer.
    socket.on('message', (text: Buffer, isBinary) =>
      this.guarded(() => !isBinary && this.onFrame(text)),
    )
    socket.on('unexpected-response', (_request, response) => {
      void readRefusal(response).then((words) => this.guarded(() => this.refuse(response, words)))
    })
    socket.on('error', (error) => this.fail(error))
    socket.on('close', (code) => this.fail(new Error(`the server closed: ${code}`)))
  }

  /** Catches what the listener throws, which would be uncaught in a socket event. */
  private guarded(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.fail(errorOf(error))
    }
  }

  abort(): void {
    this.isAborted = true
    this.end()
    const isSent = this.isAsked
    queueMicrotask(() => this.failAs(isSent ? 'aborted' : 'unsent', GIVEN_UP))
  }

  pause(): void {
    this.isPaused = true
    this.socket?.pause()
    this.waitFor(null)
  }

  resume(): void {
    this.isPaused = false
    this.socket?.resume()
    if (!this.isOver) this.waitFor(this.request.idleTimeoutMs)
  }

  fail(error: Error): void {
    // Aborting causes further errors, and has already reported its own.
    if (this.isAborted) return
    this.failAs(error === SILENT ? 'timeout' : this.hasAnswer ? 'cut' : 'unreachable', error)
  }

  private failAs(failure: UpstreamFailure, error: Error): void {
    if (this.isOver) return
    this.isOver = true
    this.end()
    this.listener.onFailure(failure, error)
  }

  private onFrame(text: Buffer): void {
    if (this.isOver || this.isAborted) return
    const frame = parseJson(text.toString('utf8'))
    if (!isRecord(frame)) {
      this.fail(BAD_FRAME)
      return
    }
    if (!this.isPaused) this.waitFor(this.request.idleTimeoutMs)
    if (this.isStream) this.passOn(frame)
    else this.keep(frame, text.length)
    if (!this.isOver && isLastFrame(frame)) this.finish()
  }

  private passOn(frame: JsonRecord): void {
    if (!this.hasAnswer) this.listener.onHead(200, { 'content-type': 'text/event-stream' })
    this.hasAnswer = true
    this.listener.onData(Buffer.from(`data: ${JSON.stringify(frame)}\n\n`))
  }

  private keep(frame: JsonRecord, bytes: number): void {
    this.hasAnswer = true
    this.frames.push(frame)
    this.framesLength += bytes + FRAME_BYTES
    if (this.framesLength > WHOLE_BYTES_MAX) this.fail(TOO_MUCH)
  }

  private finish(): void {
    if (this.isAborted) return
    this.isOver = true
    this.end()
    if (!this.isStream) {
      this.listener.onHead(200, { 'content-type': 'application/json' })
      this.listener.onData(Buffer.from(JSON.stringify(joinedFrames(this.frames))))
    }
    this.listener.onEnd()
  }

  private refuse({ statusCode = 502, headers }: IncomingMessage, words: Buffer): void {
    if (this.isOver || this.isAborted) return
    this.isOver = true
    this.end()
    // A success status is not a valid response to a WebSocket handshake.
    this.listener.onHead(statusCode < 300 ? 502 : statusCode, headers)
    this.listener.onData(words)
    this.listener.onEnd()
  }

  private end(): void {
    this.waitFor(null)
    if (this.isAborted || !this.isAsked) this.socket?.terminate()
    else this.socket?.close(NORMAL_CLOSURE)
  }

  /** Restarts the timeout; null: no timeout. */
  private waitFor(timeoutMs: number | null): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = timeoutMs === null ? null : setTimeout(() => this.fail(SILENT), timeoutMs)
  }
}

const REFUSAL_BYTES_MAX = 64 * 1024

/** Reads the body of an error response, as much of it as arrives. */
async function readRefusal(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let length = 0
  try {
    for await (const part of response) {
      parts.push(part)
      length += part.length
      if (length > REFUSAL_BYTES_MAX) break
    }
  } catch {
    // The status shows the error, even if the body is incomplete.
  }
  return Buffer.concat(parts)
}

const NOTHING = Buffer.alloc(0)
const GIVEN_UP = new Error('the call was given up')

const sealedOr = async (request: UpstreamRequest, egress: Egress): Promise<Sealed> =>
  request.seal?.(egress, request) ?? { kind: 'sealed', headers: {} }
