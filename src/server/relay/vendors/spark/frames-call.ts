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
import { openWebSocket, type OpenSocket } from './web-socket.ts'

/**
 * A call of Spark: a socket, one frame for the question, frames for the answer. To the relay it is
 * an HTTP call like all others: a stream is told as server-sent events, a whole answer as one JSON
 * text, deadlines run from the start to the first frame and from frame to frame, and giving up
 * closes the socket.
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
/** Of a whole answer, with everything around its pieces. */
const WHOLE_BYTES_MAX = 32 * 1024 * 1024
/** What holding a frame takes beside its text. */
const FRAME_BYTES = 512

class FramesCall implements UpstreamCall {
  private readonly request: UpstreamRequest
  private readonly listener: UpstreamListener
  private readonly isStream: boolean
  /** Of a whole answer. */
  private readonly frames: JsonRecord[] = []
  private framesLength = 0
  private giveUp: (() => void) | null = null
  private socket: OpenSocket | null = null
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
    const query = sealed.query === undefined ? '' : `?${sealed.query}`
    this.giveUp = openWebSocket(
      egress,
      {
        url: url + query,
        headers: { 'user-agent': headers['user-agent'] ?? '', ...sealed.headers },
        openTimeoutMs: firstByteTimeoutMs,
        proxy,
      },
      {
        onOpen: (socket) => {
          this.socket = socket
          socket.send(body ?? NOTHING)
        },
        onText: (text) => this.onFrame(text),
        onRefused: (status, answered, words) => this.refuse(status, answered, words),
        onClosed: (error) => this.fail(error),
      },
    )
  }

  abort(): void {
    this.isAborted = true
    this.end()
    const isSent = this.socket !== null
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
    // Giving up brings about other failures, and has said already what it is.
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

  private refuse(
    status: number,
    headers: Record<string, string | string[] | undefined>,
    body: Buffer,
  ): void {
    if (this.isOver || this.isAborted) return
    this.isOver = true
    this.end()
    // A good answer to such a question is none.
    this.listener.onHead(status < 300 ? 502 : status, headers)
    this.listener.onData(body)
    this.listener.onEnd()
  }

  private end(): void {
    this.waitFor(null)
    if (this.isAborted || this.socket === null) this.giveUp?.()
    else this.socket.close()
  }

  /** Null: for nothing. */
  private waitFor(timeoutMs: number | null): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = timeoutMs === null ? null : setTimeout(() => this.fail(SILENT), timeoutMs)
  }
}

const NOTHING = Buffer.alloc(0)
const GIVEN_UP = new Error('the call was given up')

const sealedOr = async (request: UpstreamRequest, egress: Egress): Promise<Sealed> =>
  request.seal?.(egress, request) ?? { kind: 'sealed', headers: {} }
