import { answersWithoutData } from '../../contract/answers-without-data.ts'
import type { EndpointByKey } from '../../contract/api.ts'
import type { AnswerData, AnswerExtra, Endpoint, ParsedInput } from '../../contract/endpoint.ts'

export type EndpointKey = keyof EndpointByKey

type WhenQuery<E extends Endpoint> = E['options'] extends { whenQuery: infer Q extends string }
  ? Q
  : never
/** Makes members optional whose type includes undefined. */
type OptionalIfUndefined<T> = { [K in keyof T as undefined extends T[K] ? K : never]?: T[K] } & {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K]
}
type Part<E extends Endpoint, M> = M extends 'query'
  ? OptionalIfUndefined<Omit<ParsedInput<E>['query'], WhenQuery<E>>>
  : M extends keyof ParsedInput<E>
    ? OptionalIfUndefined<ParsedInput<E>[M]>
    : never
type IsDeclared<
  E extends Endpoint,
  M extends keyof ParsedInput<E>,
> = ParsedInput<E>[M] extends undefined ? false : keyof Part<E, M> extends never ? false : true

/** Input of a request to an endpoint: only the parts that it declares. */
export type RequestInput<E extends Endpoint> = {
  [M in keyof ParsedInput<E> as IsDeclared<E, M> extends true ? M : never]: Part<E, M>
}
export interface CallOptions {
  /**
   * Aborts the request. Except for files, a request with a signal also has a timeout: it reads page
   * data and can be repeated.
   */
  signal?: AbortSignal
  /** Background request: a failure raises no toast and does not redirect to the sign-in page. */
  background?: boolean
  /** The caller reports a failure itself; no toast is raised. */
  quiet?: boolean
  /** For files: called with the number of bytes received so far. */
  onBytes?: (bytes: number) => void
}
type Args<E extends Endpoint> = keyof RequestInput<E> extends never
  ? [input?: {}, options?: CallOptions]
  : [input: RequestInput<E>, options?: CallOptions]

type RawKey = {
  [K in EndpointKey]: EndpointByKey[K]['options'] extends { answer: 'raw' } ? K : never
}[EndpointKey]
type StreamKey = {
  [K in EndpointKey]: EndpointByKey[K]['options'] extends { answer: 'stream' } ? K : never
}[EndpointKey]
type EnvelopeKey = Exclude<EndpointKey, RawKey | StreamKey>

type Known<T> = unknown extends T ? {} : T extends undefined ? {} : T
/** Response with the members beside its data. */
export type WholeAnswer<E extends Endpoint> = Known<AnswerExtra<E>> & {
  data: AnswerData<E>
  message: string
  /** Number of rows in the whole list (`X-Total-Count`); null if the server does not send it. */
  total: number | null
}

/** A failed request. `message` can be displayed. */
export class CallFailure extends Error {
  override name = 'CallFailure'
  /** HTTP status; 200 for an error in the envelope, 0 without a response. */
  readonly status: number
  /** The server responded with an error, and `message` is its message. */
  readonly refused: boolean
  /** `data` of an error response; some list what was done before the failure. */
  readonly data: unknown
  /** `code` of an error response to which the console reacts; empty for all others. */
  readonly code: string

  constructor(
    message: string,
    at: { status: number; refused?: boolean; data?: unknown; code?: string },
  ) {
    super(message)
    this.status = at.status
    this.refused = at.refused ?? false
    this.data = at.data
    this.code = at.code ?? ''
  }

  /** Without a clear response, the server may or may not have carried out the request. */
  get isUncertain(): boolean {
    return !this.refused && (this.status < 400 || this.status >= 500)
  }

  /** The session has ended, and the console redirects to the sign-in page, which reports it. */
  get endsSession(): boolean {
    return this.status === 401
  }
}

/** `code` of errors that need a proof of identity. */
const PROOF_REQUIRED = 'VERIFICATION_REQUIRED'

/** `code` of errors of an account that must set up a second factor. */
const FACTOR_REQUIRED = 'SECOND_FACTOR_REQUIRED'

export interface CallEnvironment {
  fetch: (address: string, init: RequestInit) => Promise<Response>
  /** Address before `/api`, read for each request. */
  base: () => string
  /** `Accept-Language` of each request. */
  languageTag: () => string
  /** Timeout in milliseconds of requests with a `signal`. */
  timeoutMs: number
  /** Raises the toast of a failed request. */
  report: (failure: CallFailure) => void
  /** Called when the session has ended. */
  signedOut: (background: boolean) => void
  /** Asks the user for a proof of identity. Resolves to false if they give none. */
  prove: () => Promise<boolean>
  /** Called when the account must set up a second factor before anything else. */
  factorRequired: () => void
  sentences: {
    /** The user gave no proof of identity. */
    unproven: () => string
    unreachable: () => string
    unreadable: () => string
    /** Replaces the missing message of an error response. */
    refused: () => string
    /** Replaces the missing message of a failed response. */
    ofStatus: (status: number) => string
  }
}

type Values = Readonly<Record<string, unknown>>
interface LooseInput {
  params?: Values
  query?: Values
  body?: unknown
}

/**
 * Converts `GET /api/token/:id` and its input to an address. A `?name` at the end of the key adds
 * `name=true`.
 */
export function callAddress(key: string, input: LooseInput): { method: string; address: string } {
  const [method = '', pattern = ''] = key.split(' ')
  const [path = '', flag] = pattern.split('?')
  const query = new URLSearchParams()
  if (flag !== undefined) query.set(flag, 'true')
  for (const [name, value] of Object.entries(input.query ?? {})) {
    if (value !== undefined && value !== '') query.set(name, String(value))
  }
  const filled = path.replace(/:(\w+)/g, (_, name: string) =>
    encodeURIComponent(String(input.params?.[name] ?? '')),
  )
  const search = query.toString()
  return { method, address: search === '' ? filled : `${filled}?${search}` }
}

/**
 * Creates functions that call the contract's endpoints by their key, with uniform error handling.
 */
export function createCalls(environment: CallEnvironment) {
  const { sentences, timeoutMs } = environment
  const send = (key: string, input: LooseInput, options: CallOptions): Promise<Response> =>
    sendRequest(environment, key, { input, options })
  const watched = <T>(options: CallOptions, work: () => Promise<T>): Promise<T> =>
    reportFailure(environment, options, () => withProof(environment, options, work))

  async function callWhole<K extends EnvelopeKey>(
    key: K,
    ...[input = {}, options = {}]: Args<EndpointByKey[K]>
  ): Promise<WholeAnswer<EndpointByKey[K]>> {
    const whole = await watched(options, async () => {
      const answer = await send(key, input, withTimeout(options, timeoutMs))
      return readEnvelope(key, { answer, text: await answer.text() }, sentences)
    })
    // Trusted without validation, which would load the schemas into the browser.
    return whole as WholeAnswer<EndpointByKey[K]>
  }

  async function call<K extends EnvelopeKey>(
    key: K,
    ...args: Args<EndpointByKey[K]>
  ): Promise<AnswerData<EndpointByKey[K]>> {
    return (await callWhole(key, ...args)).data
  }

  /** For responses without an envelope. */
  async function callRaw<K extends RawKey>(
    key: K,
    ...[input = {}, options = {}]: Args<EndpointByKey[K]>
  ): Promise<AnswerData<EndpointByKey[K]>> {
    const answer: unknown = await watched(options, async () =>
      (await send(key, input, withTimeout(options, timeoutMs))).json(),
    )
    // Trusted without validation, like the data of an envelope.
    return answer as AnswerData<EndpointByKey[K]>
  }

  /** For responses that are saved as a file. */
  async function callForFile<K extends StreamKey>(
    key: K,
    ...[input = {}, options = {}]: Args<EndpointByKey[K]>
  ): Promise<Blob> {
    return watched(options, async () => {
      const answer = await send(key, input, options)
      const file = await blobOf(answer, options.onBytes)
      const message = await refusalIn(file)
      if (message !== null) throw refusal(sentences, message, { status: answer.status })
      return file
    })
  }

  return { call, callWhole, callRaw, callForFile }
}

/** Sends one request. Throws a `CallFailure` for an HTTP error status. */
async function sendRequest(
  environment: CallEnvironment,
  key: string,
  { input, options }: { input: LooseInput; options: CallOptions },
): Promise<Response> {
  const { method, address } = callAddress(key, input)
  const headers: Record<string, string> = { 'Accept-Language': environment.languageTag() }
  if (input.body !== undefined) headers['Content-Type'] = 'application/json'
  const request: RequestInit = {
    method,
    headers,
    // The cookie is also needed if the console is served from another host than the API.
    credentials: 'include',
    // One API lets browsers cache a 404 for a week, and lists must never be stale.
    cache: 'no-store',
    ...(input.body === undefined ? {} : { body: JSON.stringify(input.body) }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  }
  const answer = await environment.fetch(environment.base() + address, request)
  if (answer.ok) return answer
  const { status } = answer
  const { message, code } = envelopeOf(await answer.text())
  // These two always get our own message, so that pages and toasts show the same.
  const own = status === 429 || status === 500 ? '' : message
  throw new CallFailure(own || environment.sentences.ofStatus(status), { status, code })
}

/** Adds the timeout to a request that has a signal. */
const withTimeout = ({ signal, ...others }: CallOptions, timeoutMs: number): CallOptions =>
  signal === undefined
    ? others
    : { ...others, signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) }

/** Sends a request again after a proof of identity if the server asks for one. */
async function withProof<T>(
  { prove, sentences }: CallEnvironment,
  options: CallOptions,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isAsked = error instanceof CallFailure && error.code === PROOF_REQUIRED
    if (!isAsked || options.background === true) throw error
    if (await prove()) return work()
    throw refusal(sentences, sentences.unproven(), { status: error.status })
  }
}

/** Passes every failure once to its report on the way to the caller. */
async function reportFailure<T>(
  environment: CallEnvironment,
  options: CallOptions,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    const failure = failureFrom(error, environment.sentences)
    const background = options.background === true
    // The page that opens then says why.
    if (failure.code === FACTOR_REQUIRED) environment.factorRequired()
    else if (failure.endsSession) environment.signedOut(background)
    else if (!background && options.quiet !== true) environment.report(failure)
    throw failure
  }
}

type Sentences = CallEnvironment['sentences']

/** Turns any error into a `CallFailure`; reading a response can fail midway too. */
function failureFrom(error: unknown, { unreachable, unreadable }: Sentences): CallFailure {
  if (error instanceof CallFailure) return error
  const sentence = error instanceof SyntaxError ? unreadable() : unreachable()
  return new CallFailure(sentence, { status: 0 })
}

const refusal = (
  sentences: Sentences,
  message: string,
  at: { status: number; data?: unknown; code?: string },
): CallFailure => new CallFailure(message.trim() || sentences.refused(), { ...at, refused: true })

function readEnvelope(
  key: string,
  { answer, text }: { answer: Response; text: string },
  sentences: Sentences,
): WholeAnswer<Endpoint> {
  const { success, message, code, ...rest } = envelopeOf(text)
  // A success without the expected data comes from an older server or an intermediate proxy.
  const isWhole = (rest['data'] ?? null) !== null || answersWithoutData.has(key)
  if (success === true && isWhole) {
    const total = answer.headers.get('X-Total-Count')
    return { data: undefined, ...rest, message, total: total === null ? null : Number(total) }
  }
  if (success !== false) {
    throw new CallFailure(sentences.unreadable(), { status: answer.status })
  }
  throw refusal(sentences, message, { status: answer.status, data: rest['data'], code })
}

/** An error response is short: a larger body is a file and is not parsed. */
const REFUSAL_BYTES_MAX = 65_536

/** Message of an error response to a file request; null if the body is the file. */
async function refusalIn(file: Blob): Promise<string | null> {
  if (file.size > REFUSAL_BYTES_MAX) return null
  const { success, message } = envelopeOf(await file.text())
  return success === false ? message : null
}

function blobOf(answer: Response, onBytes: CallOptions['onBytes']): Promise<Blob> {
  if (answer.body === null || onBytes === undefined) return answer.blob()
  let bytes = 0
  const counted = answer.body.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        bytes += chunk.length
        onBytes(bytes)
        controller.enqueue(chunk)
      },
    }),
  )
  return new Response(counted, { headers: answer.headers }).blob()
}

function envelopeOf(text: string): Record<string, unknown> & { message: string; code: string } {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) {
      const message = 'message' in value && typeof value.message === 'string' ? value.message : ''
      const code = 'code' in value && typeof value.code === 'string' ? value.code : ''
      return { ...value, message, code }
    }
  } catch {
    // An intermediate proxy's page has no message for us.
  }
  return { message: '', code: '' }
}
