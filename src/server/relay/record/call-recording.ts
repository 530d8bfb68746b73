import type { ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { secretsOf } from '../../channel/secrets.ts'
import type { Egress } from '../../egress/egress.ts'
import type { Caller } from '../routing/caller.ts'
import type { RoutableChannel } from '../routing/choose-channel.ts'
import { Pieces } from './pieces.ts'
import type { HeaderValues } from './recorded-headers.ts'

/** Maximum upstream requests per call that are recorded. */
const EXCHANGES_MAX = 20

export interface ClientRequest {
  method: string
  /** Path and query. */
  address: string
  headers: HeaderValues
  body: Pieces
}

/** One request to an upstream and its response. */
export interface UpstreamExchange {
  channelType: number
  /** The channel's base URL; '' for the default of its type. */
  baseUrl: string
  modelSent: string
  method: string
  origin: string
  address: string
  headers: HeaderValues
  body: Pieces
  sentMs: number
  status: number | null
  responseHeaders: HeaderValues
  response: Pieces
  /** Error of the connection; null if the response is complete or still arriving. */
  failure: string | null
  isComplete: boolean
}

/**
 * Collects the bytes of one call and their times, by taps on both connections in both directions;
 * the code between them is unaffected. Milliseconds count from the recording's start.
 */
export class CallRecording {
  readonly id: string
  readonly startedAt: Date
  readonly request: ClientRequest
  readonly exchanges: UpstreamExchange[] = []
  readonly answer = new Pieces()
  answerStatus = 0
  answerHeaders: HeaderValues = {}
  isAnswerComplete = false
  modelRequested = ''
  /** Texts that must not be in the file: keys, host names and email addresses. */
  readonly secrets = new Set<string>()
  private readonly sinceStart: () => number

  constructor(
    { id, startedAt, sinceStart }: { id: string; startedAt: Date; sinceStart: () => number },
    request: Omit<ClientRequest, 'body'>,
    body: Buffer,
  ) {
    this.id = id
    this.startedAt = startedAt
    this.sinceStart = sinceStart
    this.request = { ...request, body: new Pieces() }
    this.request.body.add(body, 0)
  }

  noteCaller({ key, user }: Pick<Caller, 'key' | 'user'>): void {
    for (const secret of [key, user.email]) if (secret) this.secrets.add(secret)
  }

  /** Records everything that is written to the client. */
  tapResponse(response: ServerResponse): void {
    const { writeHead, write, end } = response
    // The arguments of Node's overloaded methods are passed on unchanged.
    const through = (method: unknown, args: unknown[]): unknown =>
      Reflect.apply(method as () => unknown, response, args)
    Object.assign(response, {
      writeHead: (...args: unknown[]) => {
        this.noteHead(Number(args[0]), args.at(-1))
        return through(writeHead, args)
      },
      write: (...args: unknown[]) => {
        this.noteAnswer(args)
        return through(write, args)
      },
      end: (...args: unknown[]) => {
        this.noteAnswer(args)
        this.isAnswerComplete = true
        return through(end, args)
      },
    })
    if (response.headersSent) this.answerStatus = response.statusCode
  }

  /**
   * Returns an egress that records this call to this channel. Credential requests use `request` and
   * are not recorded.
   */
  through(egress: Egress, channel: RoutableChannel, modelSent: string): Egress {
    for (const secret of secretsOf({ ...channel, key: channel.row.key })) this.secrets.add(secret)
    for (const secret of secretsOf(channel)) this.secrets.add(secret)
    for (const part of userinfoOf(channel.baseUrl)) this.secrets.add(part)
    const dispatcher: Egress['dispatcher'] = (origin, proxy) => {
      const real = egress.dispatcher(origin, proxy)
      return new Proxy(real, {
        get: (target, name) => {
          if (name !== 'dispatch') {
            const value: unknown = Reflect.get(target, name, target)
            if (typeof value !== 'function') return value
            return (...args: unknown[]): unknown => Reflect.apply(value, target, args)
          }
          return (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) =>
            target.dispatch(options, this.watched(options, handler, { channel, modelSent }))
        },
      })
    }
    return { ...egress, dispatcher }
  }

  private watched(
    options: Dispatcher.DispatchOptions,
    handler: Dispatcher.DispatchHandler,
    { channel, modelSent }: { channel: RoutableChannel; modelSent: string },
  ): Dispatcher.DispatchHandler {
    if (this.exchanges.length >= EXCHANGES_MAX) return handler
    const body = new Pieces()
    const sent: unknown = options.body
    if (typeof sent === 'string' || Buffer.isBuffer(sent)) body.add(Buffer.from(sent), 0)
    const exchange: UpstreamExchange = {
      channelType: channel.type,
      baseUrl: channel.baseUrl,
      modelSent,
      method: options.method,
      origin: String(options.origin ?? ''),
      address: options.path,
      headers: headersIn(options.headers),
      body,
      sentMs: this.sinceStart(),
      status: null,
      responseHeaders: {},
      response: new Pieces(),
      failure: null,
      isComplete: false,
    }
    this.exchanges.push(exchange)
    return {
      onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
      onRequestUpgrade: (controller, status, headers, socket) => {
        exchange.status = status
        exchange.responseHeaders = headers
        handler.onRequestUpgrade?.(controller, status, headers, socket)
      },
      onResponseStart: (controller, status, headers, message) => {
        exchange.status = status
        exchange.responseHeaders = headers
        handler.onResponseStart?.(controller, status, headers, message)
      },
      onResponseData: (controller, chunk) => {
        exchange.response.add(chunk, this.sinceStart())
        handler.onResponseData?.(controller, chunk)
      },
      onResponseEnd: (controller, trailers) => {
        exchange.isComplete = true
        handler.onResponseEnd?.(controller, trailers)
      },
      onResponseError: (controller, error) => {
        exchange.failure = 'code' in error ? String(error.code) : error.name
        handler.onResponseError?.(controller, error)
      },
    }
  }

  private noteHead(status: number, headers: unknown): void {
    this.answerStatus = status
    this.answerHeaders = headersIn(headers)
  }

  private noteAnswer([chunk, encoding]: unknown[]): void {
    if (typeof chunk === 'string') {
      const named = typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8'
      this.answer.add(Buffer.from(chunk, named), this.sinceStart())
    } else if (chunk instanceof Uint8Array && chunk.length > 0) {
      this.answer.add(Buffer.from(chunk), this.sinceStart())
    }
  }
}

/** Reads headers in the forms of Node and undici: an object, or a flat list of names and values. */
function headersIn(headers: unknown): HeaderValues {
  if (Array.isArray(headers)) {
    const pairs: [string, string][] = []
    for (let at = 0; at + 1 < headers.length; at += 2) {
      pairs.push([String(headers[at]), String(headers[at + 1])])
    }
    return Object.fromEntries(pairs)
  }
  // undici accepts more forms; the relay uses only this one.
  return typeof headers === 'object' && headers !== null ? { ...(headers as HeaderValues) } : {}
}

function userinfoOf(baseUrl: string): string[] {
  if (!URL.canParse(baseUrl)) return []
  const { username, password } = new URL(baseUrl)
  return [username, password].filter((part) => part !== '')
}
