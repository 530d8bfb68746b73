import type { Dispatcher } from 'undici'
import type { Egress } from '../../egress/egress.ts'

/** One HTTP call to an upstream, as callbacks: no stream objects between the two sockets. */
export interface UpstreamRequest {
  url: string
  method: 'GET' | 'POST'
  headers: Record<string, string>
  body: Buffer | null
  /** Until the answer's headers. */
  firstByteTimeoutMs: number
  /** Between two pieces of the answer. */
  idleTimeoutMs: number
}

/**
 * Why there is no (whole) answer. `unsent`: given up before the upstream got the request;
 * `aborted`: given up afterwards.
 */
export type UpstreamFailure = 'unreachable' | 'timeout' | 'cut' | 'unsent' | 'aborted'

export interface UpstreamListener {
  onHead(status: number, headers: Record<string, string | string[] | undefined>): void
  onData(chunk: Buffer): void
  onEnd(): void
  /** After it nothing else is called. */
  onFailure(failure: UpstreamFailure, error: Error): void
}

/** Control over a call under way. */
export interface UpstreamCall {
  abort(): void
  pause(): void
  resume(): void
}

interface Place {
  origin: string
  path: string
}

/** Parsed addresses; a server calls the same few over and over. */
const places = new Map<string, Place>()
const PLACES_MAX = 5000

/** Throws for what is no address. */
function placeOf(url: string): Place {
  const known = places.get(url)
  if (known !== undefined) return known
  const { origin, pathname, search } = new URL(url)
  const place = { origin, path: `${pathname}${search}` }
  if (places.size >= PLACES_MAX) places.clear()
  places.set(url, place)
  return place
}

const ABORTED = new Error('the call was given up')

/** Starts a call. Exactly one of `onEnd` and `onFailure` is called in the end, never synchronously. */
export function callUpstream(
  egress: Egress,
  request: UpstreamRequest,
  listener: UpstreamListener,
): UpstreamCall {
  let controller: Dispatcher.DispatchController | null = null
  let isAborted = false
  let hasHead = false
  let isOver = false

  const fail = (error: Error): void => {
    if (isOver) return
    isOver = true
    const isSent = controller !== null
    listener.onFailure(failureOf(error, { isAborted, isSent, hasHead }), error)
  }

  try {
    const { origin, path } = placeOf(request.url)
    egress.dispatcher(origin).dispatch(
      {
        origin,
        path,
        method: request.method,
        headers: request.headers,
        body: request.body,
        headersTimeout: request.firstByteTimeoutMs,
        bodyTimeout: request.idleTimeoutMs,
      },
      {
        onRequestStart(started) {
          controller = started
          if (isAborted) started.abort(ABORTED)
        },
        onResponseStart(_controller, status, headers) {
          if (status < 200) return
          hasHead = true
          listener.onHead(status, headers)
        },
        onResponseData(_controller, chunk) {
          if (!isOver) listener.onData(chunk)
        },
        onResponseEnd() {
          if (isOver) return
          isOver = true
          listener.onEnd()
        },
        onResponseError(_controller, error) {
          // Aborting calls this on the spot, in the middle of whatever the caller is doing.
          if (isAborted) queueMicrotask(() => fail(error))
          else fail(error)
        },
      },
    )
  } catch (error) {
    // Refused addresses and malformed URLs throw at once; the caller hears of them like of all
    // others.
    queueMicrotask(() => fail(error instanceof Error ? error : new Error(String(error))))
  }

  return {
    abort() {
      isAborted = true
      controller?.abort(ABORTED)
      // Not started yet: it never will, as far as the caller is concerned.
      if (controller === null) queueMicrotask(() => fail(ABORTED))
    },
    pause: () => controller?.pause(),
    resume: () => controller?.resume(),
  }
}

function failureOf(
  error: Error,
  { isAborted, isSent, hasHead }: { isAborted: boolean; isSent: boolean; hasHead: boolean },
): UpstreamFailure {
  if (isAborted) return isSent ? 'aborted' : 'unsent'
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'timeout'
  return hasHead ? 'cut' : 'unreachable'
}
