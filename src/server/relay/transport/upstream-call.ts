import type { Dispatcher } from 'undici'
import type { Config } from '../../config.ts'
import type { Egress } from '../../egress/egress.ts'

/** One HTTP request to an upstream, with callbacks: no stream objects between the two sockets. */
export interface UpstreamRequest {
  url: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD'
  headers: Record<string, string>
  body: Buffer | null
  /** Timeout until the response headers, in milliseconds. */
  firstByteTimeoutMs: number
  /** Timeout between two chunks of the response, in milliseconds. */
  idleTimeoutMs: number
  /** Address of the HTTP proxy to use; if absent, the default route. */
  proxy?: string
  /** Signs the request, or fetches its credential, right before it is sent. */
  seal?: Seal
  /** Performs a call that takes more than one request; absent if one request is enough. */
  via?: Via
}

/** Performs a call in its own way; it must call the listener as `callUpstream` does. */
export type Via = (
  egress: Egress,
  request: UpstreamRequest,
  listener: UpstreamListener,
) => UpstreamCall

/** `request`: the request to be sent, which in a multi-step call is not always the first. */
export type Seal = (egress: Egress, request: UpstreamRequest) => Sealed | Promise<Sealed>

export type Sealed =
  /** Headers to add to the request, and a query for an address without one. */
  | { kind: 'sealed'; headers: Record<string, string>; query?: string }
  /**
   * There is no credential: the authentication server's response becomes the response of the call.
   */
  | { kind: 'refused'; status: number; body: Buffer }
  | { kind: 'failed'; reason: 'unreachable' | 'timeout' }

/**
 * Why there is no (complete) response. `unsealed`: the credential did not arrive in time, so the
 * upstream did not get the request; `garbled`: the HTTP library could not parse the response head;
 * `unsent`: aborted before the upstream got the request; `aborted`: aborted afterwards.
 */
export type UpstreamFailure =
  | 'unreachable'
  | 'unsealed'
  | 'garbled'
  | 'timeout'
  | 'cut'
  | 'unsent'
  | 'aborted'

export interface UpstreamListener {
  onHead(status: number, headers: Record<string, string | string[] | undefined>): void
  onData(chunk: Buffer): void
  /** A multi-step call has read so many bytes, which have not been passed on yet. */
  onHeld?(bytes: number): void
  onEnd(): void
  /** Called last: no other callback follows. */
  onFailure(failure: UpstreamFailure, error: Error): void
}

/** Controls a running call. */
export interface UpstreamCall {
  abort(): void
  pause(): void
  resume(): void
}

/** Factor of the first-byte timeout for a response that is sent only when it is complete. */
const WHOLE_ANSWER_TIMES = 5

/** Returns the upstream timeouts. `isWhole`: nothing is sent before the whole response is ready. */
export function silenceLimits(
  {
    RELAY_FIRST_BYTE_TIMEOUT: first,
    RELAY_WHOLE_ANSWER_TIMEOUT: whole = WHOLE_ANSWER_TIMES * first,
    RELAY_IDLE_TIMEOUT: idle,
  }: Config,
  { isWhole }: { isWhole: boolean },
): Pick<UpstreamRequest, 'firstByteTimeoutMs' | 'idleTimeoutMs'> {
  return { firstByteTimeoutMs: (isWhole ? whole : first) * 1000, idleTimeoutMs: idle * 1000 }
}

interface Place {
  origin: string
  path: string
}

/** Cache of parsed addresses; a server calls the same few repeatedly. */
const places = new Map<string, Place>()
const PLACES_MAX = 5000

/** Parses an address. Throws if it is invalid. */
function placeOf(url: string): Place {
  const known = places.get(url)
  if (known !== undefined) return known
  const { origin, pathname, search } = new URL(url)
  const place = { origin, path: `${pathname}${search}` }
  if (places.size >= PLACES_MAX) places.clear()
  places.set(url, place)
  return place
}

/** Returns the egress for auxiliary requests, such as for a credential: the request's own proxy. */
const throughProxy = (egress: Egress, proxy: string | undefined): Egress =>
  proxy === undefined
    ? egress
    : { ...egress, dispatcher: (origin) => egress.dispatcher(origin, proxy) }

const ABORTED = new Error('the call was given up')
const UNSEALED = new Error('no credential in time')

/**
 * Starts a call. Exactly one of `onEnd` and `onFailure` is called at the end, never synchronously.
 */
export function callUpstream(
  egress: Egress,
  request: UpstreamRequest,
  listener: UpstreamListener,
): UpstreamCall {
  if (request.via === undefined) return callOnce(egress, request, listener)
  const { via, ...plain } = request
  return via(egress, plain, listener)
}

function callOnce(
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

  const dispatch = (sent: Record<string, string>, query = ''): void => {
    const { origin, path } = placeOf(request.url)
    egress.dispatcher(origin, request.proxy).dispatch(
      {
        origin,
        path: path + query,
        method: request.method,
        headers: sent,
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
          // undici reports an abort synchronously inside `abort()`, in the middle of its caller's
          // code.
          if (isAborted) queueMicrotask(() => fail(error))
          else fail(error)
        },
      },
    )
  }

  const failSoon = (error: unknown): void =>
    queueMicrotask(() => fail(error instanceof Error ? error : new Error(String(error))))

  /** Delivers the authentication server's response as the response of the call. */
  const answerInstead = (status: number, body: Buffer): void => {
    if (isOver) return
    hasHead = true
    listener.onHead(status, { 'content-type': 'application/json' })
    listener.onData(body)
    if (isOver) return
    isOver = true
    listener.onEnd()
  }

  const sealAndDispatch = async (seal: Seal): Promise<void> => {
    const sealed = await seal(throughProxy(egress, request.proxy), request)
    if (isAborted) return
    if (sealed.kind === 'sealed') {
      const query = sealed.query === undefined ? '' : `?${sealed.query}`
      dispatch({ ...request.headers, ...sealed.headers }, query)
    } else if (sealed.kind === 'refused') answerInstead(sealed.status, sealed.body)
    else fail(sealed.reason === 'timeout' ? UNSEALED : new Error('no credential can be had'))
  }

  try {
    // Refused addresses and malformed URLs throw synchronously; they are reported like all other
    // failures.
    if (request.seal === undefined) dispatch(request.headers)
    else sealAndDispatch(request.seal).catch(failSoon)
  } catch (error) {
    failSoon(error)
  }

  return {
    abort() {
      isAborted = true
      controller?.abort(ABORTED)
      // The request has not started and never will.
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
  if (error === UNSEALED) return 'unsealed'
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'timeout'
  if (hasHead) return 'cut'
  return isGarbled(code, error) ? 'garbled' : 'unreachable'
}

/**
 * Whether the response head is invalid: the parser's own errors, and undici's for a status that it
 * does not continue from: 100, which servers may send unasked (RFC 9110, section 15.2), and 101.
 */
const isGarbled = (code: string, { name, message }: Error): boolean =>
  name === 'HTTPParserError' ||
  (code === 'UND_ERR_SOCKET' && (message === 'bad response' || message === 'bad upgrade'))
