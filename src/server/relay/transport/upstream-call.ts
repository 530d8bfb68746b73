import type { Dispatcher } from 'undici'
import type { Config } from '../../config.ts'
import type { Egress } from '../../egress/egress.ts'

/** One HTTP call to an upstream, as callbacks: no stream objects between the two sockets. */
export interface UpstreamRequest {
  url: string
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD'
  headers: Record<string, string>
  body: Buffer | null
  /** Until the answer's headers. */
  firstByteTimeoutMs: number
  /** Between two pieces of the answer. */
  idleTimeoutMs: number
  /** Address of the HTTP proxy to take; absent: the usual way. */
  proxy?: string
  /** Signs the request, or fetches the credential it needs, right before it goes out. */
  seal?: Seal
  /** How the call is made where one request and its answer are not all; absent: they are. */
  via?: Via
}

/** Makes a call in a way of its own; it owes the listener what `callUpstream` does. */
export type Via = (
  egress: Egress,
  request: UpstreamRequest,
  listener: UpstreamListener,
) => UpstreamCall

/** `request`: what goes out, which in a call of several steps is not always the first. */
export type Seal = (egress: Egress, request: UpstreamRequest) => Sealed | Promise<Sealed>

export type Sealed =
  /** Headers beside those of the request, and a query for an address that has none. */
  | { kind: 'sealed'; headers: Record<string, string>; query?: string }
  /** There is no credential: what was said instead is the answer to the call. */
  | { kind: 'refused'; status: number; body: Buffer }
  | { kind: 'failed'; reason: 'unreachable' | 'timeout' }

/**
 * Why there is no (whole) answer. `unsealed`: the credential did not come in time, so that the
 * upstream did not get the request; `garbled`: what came is no head of an answer, as far as the
 * HTTP library reads one; `unsent`: given up before it got it; `aborted`: given up afterwards.
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
  /** A call of several requests has read so many bytes, which have not been passed on yet. */
  onHeld?(bytes: number): void
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

/** How many times as long as the beginning of a stream an answer may take that comes whole. */
const WHOLE_ANSWER_TIMES = 5

/** How long an upstream may be silent. `isWhole`: nothing comes before the whole answer is made. */
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

/** What a request needs on the way, such as a credential, is fetched by the same way. */
const throughProxy = (egress: Egress, proxy: string | undefined): Egress =>
  proxy === undefined
    ? egress
    : { ...egress, dispatcher: (origin) => egress.dispatcher(origin, proxy) }

const ABORTED = new Error('the call was given up')
const UNSEALED = new Error('no credential in time')

/** Starts a call. Exactly one of `onEnd` and `onFailure` is called in the end, never synchronously. */
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
          // undici reports an abort inside `abort()`, in the middle of whatever its caller does.
          if (isAborted) queueMicrotask(() => fail(error))
          else fail(error)
        },
      },
    )
  }

  const failSoon = (error: unknown): void =>
    queueMicrotask(() => fail(error instanceof Error ? error : new Error(String(error))))

  /** What has been said instead of a credential, as the answer that it stands for. */
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
    // Refused addresses and malformed URLs throw at once; the caller hears of them like of all
    // others.
    if (request.seal === undefined) dispatch(request.headers)
    else sealAndDispatch(request.seal).catch(failSoon)
  } catch (error) {
    failSoon(error)
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
  if (error === UNSEALED) return 'unsealed'
  const code = 'code' in error ? String(error.code) : ''
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'timeout'
  if (hasHead) return 'cut'
  return isGarbled(code, error) ? 'garbled' : 'unreachable'
}

/**
 * The parser's own errors, and undici's for a head that it does not go on from: 100, which servers
 * may send unasked (RFC 9110, section 15.2), and 101.
 */
const isGarbled = (code: string, { name, message }: Error): boolean =>
  name === 'HTTPParserError' ||
  (code === 'UND_ERR_SOCKET' && (message === 'bad response' || message === 'bad upgrade'))
