import { isAdmin } from '../../../../contract/user.ts'
import { noteHeaders } from '../../protocols/canonical/request-notes.ts'
import { dialects } from '../../conversion/dialects.ts'
import { onEarlyEnd, type Call, type RelayParts } from '../call.ts'
import { toldError, type RelayError } from '../../protocols/dialect/relay-error.ts'
import type { StreamOutput } from '../../protocols/dialect/stream-output.ts'
import { dropRest, isBodyPending } from '../../../http/unread-body.ts'
import type { BreakReason } from '../../errors/attempt-outcome.ts'
import {
  callUpstream,
  type UpstreamCall,
  type UpstreamListener,
  type UpstreamRequest,
} from '../../transport/upstream-call.ts'

/** Headers of every streamed response; they also keep proxies from buffering it. */
const streamHeaders = (contentType: string): string[] => [
  'Content-Type',
  contentType,
  'Cache-Control',
  'no-cache',
  'X-Accel-Buffering',
  'no',
]

/**
 * Opens a stream for the client before there is a response, and before its channel and cost are
 * known. From here on, errors are sent in the stream.
 */
export function openStream(call: Call, output: StreamOutput): void {
  if (!call.response.headersSent) writeHead(call, 200, streamHeaders(output.contentType))
  call.opened = output
}

/** Begins a streamed response, unless keep-alives have already sent its head. */
export function beginStream(
  call: Call,
  { contentType }: Pick<StreamOutput, 'contentType'>,
  headers: readonly string[] = [],
): void {
  call.opened = null
  if (call.response.headersSent) return
  writeHead(call, 200, [...streamHeaders(contentType), ...headers])
}

/** Largest body, in bytes, for which copying is cheaper than a separate write. */
const TEXT_BYTES_MAX = 16 * 1024

/** Headers that report the cost of a call. */
export function costHeaders(
  { app }: RelayParts,
  call: Call,
  { quota, remaining }: { quota: number; remaining: number | null },
): string[] {
  const overheadMs = Math.max(0, app.clock.monotonicMs() - call.startedMs - call.upstreamMs)
  const headers = ['X-Gatehouse-Quota', String(quota)]
  if (remaining !== null) headers.push('X-Gatehouse-Quota-Remaining', String(remaining))
  headers.push('X-Gatehouse-Overhead-Ms', overheadMs.toFixed(2))
  if (isAdmin(call.caller.user.role)) {
    headers.push('X-Gatehouse-Channel', String(call.attempt.channel.id))
  }
  return headers
}

/** Sends the upstream's response. The content type is the only header that is passed on. */
export function sendAnswer(
  parts: RelayParts,
  call: Call,
  answer: {
    contentType: string | string[] | undefined
    body: Buffer
    charged: number
    remaining: number | null
  },
): void {
  const { contentType, body, charged, remaining } = answer
  call.capture?.addWhole(body)
  if (call.isGone) return
  writeHead(call, 200, [
    'Content-Type',
    typeof contentType === 'string' ? contentType : 'application/json',
    'Content-Length',
    String(body.length),
    ...costHeaders(parts, call, { quota: charged, remaining }),
  ])
  // A text is sent in one piece with the head; bytes need a second, slower system call.
  if (body.length <= TEXT_BYTES_MAX) call.response.end(body.toString('latin1'), 'latin1')
  else call.response.end(body)
}

/**
 * Responds with an error, in the stream if it is open but has no content. If the response has
 * already begun, closes the connection so that the client does not take it for complete.
 */
export function sendError(call: Call, upstreamOrOwn: RelayError): void {
  const { response, opened } = call
  const error = toldError(upstreamOrOwn)
  call.refusal = error
  if (opened !== null) {
    call.isRefusedInStream = true
    response.end(opened.error(error, call.requestId))
    return
  }
  if (response.headersSent) {
    response.destroy()
    return
  }
  const body = dialects[call.dialect].errorBody(error, call.requestId)
  if (error.retryAfter !== undefined) call.headers.push('Retry-After', error.retryAfter)
  sendText(call, error.status, body)
}

export function sendJson(call: Call, value: unknown): void {
  sendText(call, 200, JSON.stringify(value))
}

/** Sends JSON that is already serialized. */
export function sendText(call: Call, status: number, body: string): void {
  sendWhole(call, status, textHeaders(body), body)
}

/**
 * Sends a response in one piece. If the client is still sending its request, the response has
 * `Connection: close`, and ends after the rest of the request was dropped.
 */
export function sendWhole(
  call: Call,
  status: number,
  headers: readonly string[],
  body: string | Buffer = '',
): void {
  const { request, response } = call
  if (!isBodyPending(request)) {
    writeHead(call, status, headers)
    response.end(body)
    return
  }
  const isClosing = call.headers.includes('Connection')
  writeHead(call, status, isClosing ? headers : [...headers, 'Connection', 'close'])
  response.write(body)
  dropRest(request, call.restLimits, () => response.end())
}

/** Forbids caching: shared caches respect a key in `Authorization`, but not in other headers. */
export const NOT_STORED = ['Cache-Control', 'no-store'] as const

const textHeaders = (body: string): string[] => [
  'Content-Type',
  'application/json; charset=utf-8',
  'Content-Length',
  String(Buffer.byteLength(body)),
  ...NOT_STORED,
]

/**
 * Writes the head of a response: the common headers, the headers about changed request members,
 * then `headers`, names and values alternating. A flat list, because it is written for every call:
 * headers set one by one cost three times as much.
 */
export function writeHead(call: Call, status: number, headers: readonly string[]): void {
  call.response.writeHead(status, [...call.headers, ...noteHeaders(call.notes), ...headers])
}

/**
 * Passes an upstream's response to the client as it arrives. The upstream is read no faster than
 * the client reads.
 */
export class ClientFlow {
  /** Why this server aborted the upstream before its end; null if it did not. */
  brokenOff: BreakReason | null = null
  /** The client's buffer is full, and the upstream is paused. */
  isStuck = false
  private readonly call: Call
  private upstream: UpstreamCall | null = null

  constructor(call: Call) {
    this.call = call
  }

  /** `finishes`: the response is read to its end even after the client has left. */
  start(
    { egress, abortLater }: RelayParts,
    request: UpstreamRequest,
    listener: UpstreamListener,
    { finishes = false }: { finishes?: boolean } = {},
  ): void {
    this.upstream = callUpstream(egress, request, listener)
    const abort = (): void => abortLater(() => this.abort())
    onEarlyEnd(this.call, finishes ? () => this.readOn() : abort, (reason) => {
      this.brokenOff = reason
      abort()
    })
  }

  write(bytes: Buffer): void {
    const { response } = this.call
    if (response.write(bytes) || this.isStuck) return
    this.isStuck = true
    this.pause()
    response.once('drain', () => this.readOn())
  }

  pause(): void {
    this.upstream?.pause()
  }

  /** Resumes the upstream: the client's buffer has drained or the client has left. */
  readOn(): void {
    this.isStuck = false
    this.upstream?.resume()
  }

  abort(): void {
    this.upstream?.abort()
  }
}

/** Whether the client requested the final cost as a comment in the stream. */
export const wantsCost = ({ request }: Call): boolean => request.headers['x-gatehouse-cost'] === '1'

export const isGood = (status: number): boolean => status >= 200 && status < 300

/** Whether the status means success. Some frameworks, such as NestJS, return 201 for every POST. */
export const isAnswerStatus = (status: number): boolean => status === 200 || status === 201
