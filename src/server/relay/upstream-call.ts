import type { Dispatcher } from 'undici'
import type { Egress } from '../egress/egress.ts'

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

/** Why there is no (whole) answer. */
export type UpstreamFailure = 'unreachable' | 'timeout' | 'cut' | 'aborted'

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
    listener.onFailure(failureOf(error, { isAborted, hasHead }), error)
  }

  const { origin, pathname, search } = new URL(request.url)
  try {
    egress.dispatcher(origin).dispatch(
      {
        origin,
        path: `${pathname}${search}`,
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
          fail(error)
        },
      },
    )
  } catch (error) {
    // Refused addresses and malformed URLs throw at once; the caller hears of them like of all others.
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
  { isAborted, hasHead }: { isAborted: boolean; hasHead: boolean },
): UpstreamFailure {
  if (isAborted) return 'aborted'
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'timeout'
  return hasHead ? 'cut' : 'unreachable'
}
