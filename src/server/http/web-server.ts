import fastifyCompress from '@fastify/compress'
import fastifyCookie from '@fastify/cookie'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { App } from '../app.ts'
import type { AppError } from '../app-error.ts'
import type { Config } from '../config.ts'
import { BODY_LIMITS } from './body-limit.ts'
import type { TrustedProxies } from './client-address.ts'
import {
  connectionsMaxOf,
  openFilesMax,
  type Connections,
  type ConnectionSettings,
} from './connections.ts'
import { allowConsoles } from './console-origins.ts'
import { createHostCheck, refuseHost } from './host-check.ts'
import { answerParserError } from './input/parser-error.ts'
import { renderRefusal } from './mount.ts'
import {
  disownsHeaders,
  hasTwoHosts,
  plainTarget,
  takePathOnly,
  withoutBase,
} from './request-head.ts'
import { newRequestId, REQUEST_ID_HEADER } from './request-id.ts'
import { API_POLICY, secureHeaders } from './security-headers.ts'
import { endSlowBody } from './slow-body.ts'
import { dropRest, isBodyPending } from './unread-body.ts'

/** The framework for console and management API, on one listener with the relay. */
export interface WebServer {
  web: FastifyInstance
  /** Unfinished responses of the framework. */
  answering: ReadonlySet<ServerResponse>
}

/** Serves the paths of the relay beside the framework, without its overhead. */
interface RelayListener {
  isRelayPath(url: string): boolean
  handle: RequestListener
}

export async function createWebServer(
  app: App,
  connections: Connections,
  { trusted, relay }: { trusted: TrustedProxies; relay: RelayListener },
): Promise<WebServer> {
  const { config, clock, options } = app
  const isOwnHost = createHostCheck({
    config,
    trusted,
    serverAddress: () => options.text('ServerAddress'),
  })
  const answering = new Set<ServerResponse>()
  const web = fastify({
    serverFactory: (handler) =>
      connections.serve(
        splitFaces(config, {
          isOwnHost,
          look: app.proxyWatch.look,
          web: remembering(answering, handler),
          relay,
        }),
      ),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 512 },
    exposeHeadRoutes: false,
    // Requests that arrive while the server stops are served.
    return503OnClosing: false,
    bodyLimit: BODY_LIMITS.public.bytesMax,
    genReqId: () => newRequestId(clock.nowMs()),
    logger: false,
    forceCloseConnections: 'idle',
    clientErrorHandler: answerParserError,
    // No hook runs for an invalid path.
    frameworkErrors: (error, request, reply) => {
      ownHeaders(request, reply)
      reply.headers({
        'Cache-Control': 'no-store',
        'Content-Security-Policy': API_POLICY,
        'X-Content-Type-Options': 'nosniff',
      })
      renderRefusal(error, { request, reply, app })
    },
  })
  await prepare(web, app)
  return { web, answering }
}

const remembering =
  (answering: Set<ServerResponse>, listener: RequestListener): RequestListener =>
  (request, response) => {
    answering.add(response)
    response.once('close', () => answering.delete(response))
    listener(request, response)
  }

/** Milliseconds between two warnings about refused connections; `/metrics` counts all of them. */
const REFUSED_WARNING_MS = 60_000

/** Returns the limits of connections, and warns when they are reached. */
export function connectionSettings(app: App, trusted: TrustedProxies): ConnectionSettings {
  const { config, timeLimits, trace, clock } = app
  const connectionsMax = connectionsMaxOf(config.MAX_CONNECTIONS, openFilesMax())
  let warnedMs = -Infinity
  return {
    times: timeLimits,
    trusted,
    connectionsMax,
    bodyBytesMax: config.MAX_BODY_MB * MEBIBYTE,
    onRefused() {
      if (clock.monotonicMs() - warnedMs < REFUSED_WARNING_MS) return
      warnedMs = clock.monotonicMs()
      trace.warn({ connectionsMax }, 'connections are refused: too many are open (MAX_CONNECTIONS)')
    },
  }
}

interface Faces {
  isOwnHost(request: IncomingMessage): boolean
  /** Watches for forwarding headers of proxies that are not trusted. */
  look(request: IncomingMessage): void
  web: RequestListener
  relay: RelayListener
}

/**
 * Splits one listener in two: relay paths go directly to the relay, all others to the framework.
 */
function splitFaces(config: Config, { isOwnHost, look, web, relay }: Faces): RequestListener {
  const base = config.BASE_PATH.slice(0, -1)
  return (request, response) => {
    if (hasTwoHosts(request.rawHeaders) || disownsHeaders(request.headers.connection)) {
      // The same response as the parser's for a request without `Host`.
      response.writeHead(400, { Connection: 'close' }).end()
      return
    }
    takePathOnly(request)
    look(request)
    if (!isOwnHost(request)) {
      refuseHost(request, response)
      return
    }
    if (base !== '') request.url = withoutBase(request.url ?? '/', base)
    if (relay.isRelayPath(request.url ?? '/')) {
      relay.handle(request, response)
      return
    }
    request.url = plainTarget(request.url ?? '/')
    web(request, response)
  }
}

const MEBIBYTE = 2 ** 20

/**
 * Announces the end of the connection to a client that is still sending its request, and ends the
 * response after the rest of the request was dropped.
 */
function closeUnread(web: FastifyInstance, { config, timeLimits }: App): void {
  const limits = { bytesMax: config.MAX_BODY_MB * MEBIBYTE, timeoutMs: timeLimits.restMs }
  web.addHook('onSend', async ({ raw }, reply, payload: unknown) => {
    if (!isBodyPending(raw)) return payload
    reply.header('Connection', 'close')
    const whole = typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : null
    // Streams and empty responses end as usual; the connection closes with them.
    if (whole === null) return payload
    reply.header('Content-Length', Buffer.byteLength(whole))
    return Readable.from(lingering(whole, () => new Promise((done) => dropRest(raw, limits, done))))
  })
}

async function* lingering(
  whole: string | Buffer,
  rest: () => Promise<void>,
): AsyncGenerator<string | Buffer> {
  yield whole
  await rest()
}

async function prepare(web: FastifyInstance, app: App): Promise<void> {
  await web.register(fastifyCookie)
  web.addHook('onRequest', (request, reply, done) => {
    const refuse = (error: AppError): void => {
      if (!reply.sent) renderRefusal(error, { request, reply, app })
    }
    endSlowBody(request.raw, refuse, app.timeLimits.bodyMs)
    done()
  })
  await secureHeaders(web, app)
  allowConsoles(web, app)
  await web.register(fastifyCompress, {
    threshold: 1024,
    encodings: ['br', 'gzip'],
    globalDecompression: false,
  })
  closeUnread(web, app)
  // Bodies are parsed as JSON with any content type; the endpoint's shape decides.
  web.removeAllContentTypeParsers()
  web.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  web.addHook('onRequest', async (request, reply) => {
    // The framework rejects an invalid media type before it looks for a parser.
    if (request.headers['content-type'] !== undefined) {
      request.headers['content-type'] = 'application/json'
    }
    ownHeaders(request, reply)
  })
  web.setErrorHandler((error, request, reply) => renderRefusal(error, { request, reply, app }))
}

function ownHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header(REQUEST_ID_HEADER, request.id)
  if (request.url.startsWith('/api')) reply.header('Content-Security-Policy', API_POLICY)
}
