import fastifyCompress from '@fastify/compress'
import fastifyCookie from '@fastify/cookie'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as passed } from 'node:timers/promises'
import type { Logger } from 'pino'
import { accessTokenRoutes } from './access-token/access-token-routes.ts'
import { ownAccountRoutes } from './account/own-account-routes.ts'
import { passwordResetRoutes } from './account/password-reset-routes.ts'
import { startQuotaReminders } from './account/quota-reminder.ts'
import { registrationRoutes } from './account/registration-routes.ts'
import type { App } from './app.ts'
import type { AppError } from './app-error.ts'
import { auditRoutes } from './audit/audit-routes.ts'
import { startAuditUpkeep } from './audit/audit-upkeep.ts'
import { createBackground } from './background.ts'
import { startDailyBackup, type DailyBackup } from './backup/daily-backup.ts'
import {
  createFirstRoot,
  replaceDefaultPassword,
  sessionSecret,
  type NewRoot,
} from './bootstrap.ts'
import { channelRoutes } from './channel/channel-routes.ts'
import { countByStatus } from './channel/channel-store.ts'
import { startStatusDigest } from './channel/notice/status-digest.ts'
import { systemClock, type Clock } from './clock.ts'
import type { Config } from './config.ts'
import { dashboardRoutes } from './dashboard/dashboard-routes.ts'
import type { Database } from './db/database.ts'
import { createEgress } from './egress/egress.ts'
import { endSlowBody } from './http/slow-body.ts'
import {
  clientAddress,
  isHttps,
  isTrustedProxy,
  parseTrustedProxies,
  type TrustedProxies,
} from './http/client-address.ts'
import { serveConsole } from './http/console-files.ts'
import {
  Connections,
  connectionsMaxOf,
  openFilesMax,
  type ConnectionSettings,
} from './http/connections.ts'
import { allowConsoles } from './http/console-origins.ts'
import { BODY_LIMITS } from './http/body-limit.ts'
import { createHostCheck, refuseHost } from './http/host-check.ts'
import { mountApi, renderRefusal } from './http/mount.ts'
import type { Route } from './http/handler.ts'
import { mountOperations } from './http/operations-routes.ts'
import { createProxyWatch } from './http/ignored-proxy.ts'
import { serveManual } from './http/manual-files.ts'
import { createRateLimits } from './http/rate-limit.ts'
import { answerParserError } from './http/input/parser-error.ts'
import {
  disownsHeaders,
  hasTwoHosts,
  plainTarget,
  takePathOnly,
  withoutBase,
} from './http/request-head.ts'
import { newRequestId, REQUEST_ID_HEADER } from './http/request-id.ts'
import { API_POLICY, secureHeaders } from './http/security-headers.ts'
import { createSessions } from './http/sessions.ts'
import { TIME_LIMITS, type TimeLimits } from './http/time-limits.ts'
import { dropRest, isBodyPending } from './http/unread-body.ts'
import { inTime } from './db/outage.ts'
import { limitRoutes } from './limit/limit-routes.ts'
import { startChannelSums } from './ledger/channel-sums.ts'
import { createLedger } from './ledger/ledger.ts'
import { startRecovery } from './ledger/recover.ts'
import { createLogCleanup, type LogCleanup } from './log/cleanup/cleanup-run.ts'
import { createFileSender } from './log/export/send-file.ts'
import { logRoutes } from './log/log-routes.ts'
import { startLogOutbox, type LogOutbox } from './log/outbox/outbox.ts'
import { openLogStorage } from './log/storage/open-log-storage.ts'
import { startLogUpkeep } from './log/log-upkeep.ts'
import { createMetrics, type MetricSources } from './metrics.ts'
import { createLiveModels } from './model/live-models.ts'
import { createLiveOptions } from './option/live-options.ts'
import { optionRoutes } from './option/option-routes.ts'
import { isRelayPath } from './relay/relay-path.ts'
import { createRelay, type Relay } from './relay/relay.ts'
import { routeRoutes } from './relay/forecast/route-routes.ts'
import { modelRoutes } from './model/model-routes.ts'
import { publishedPricesRoutes } from './published-prices/published-prices-routes.ts'
import { releaseRoutes } from './release/release-routes.ts'
import { redemptionRoutes } from './redemption/redemption-routes.ts'
import { oauthRoutes } from './sign-in/oauth-routes.ts'
import { untilEmpty } from './slots.ts'
import { statusRoutes } from './status/status-routes.ts'
import { startExpiryReminders } from './token/expiry-reminder.ts'
import { tokenKeys } from './token/token-key.ts'
import { tokenHashSecret } from './token/token-key-store.ts'
import { startTelemetry } from './telemetry/telemetry.ts'
import { tokenRoutes } from './token/token-routes.ts'
import { sessionRoutes } from './sign-in/session-routes.ts'
import { passkeyRoutes } from './passkey/passkey-routes.ts'
import { secondFactorRoutes } from './second-factor/second-factor-routes.ts'
import { createUserLanguages } from './user/user-languages.ts'
import { createPasswords, PASSWORD_COST } from './user/password.ts'
import { accountRoutes } from './user/account-routes.ts'
import { signInRoutes } from './user/sign-in-routes.ts'
import { userRoutes } from './user/user-routes.ts'
import { packageVersion } from './version.ts'
import { isWorker, metricsOfAllWorkers } from './workers.ts'

export interface ServerSettings {
  config: Config
  database: Database
  trace: Logger
  clock?: Clock
  /** Environment variables whose settings are saved in daily backups. */
  environment?: Readonly<Record<string, string | undefined>>
  /** Work factor of new password hashes; tests use a cheap one. */
  passwordCost?: number
  /** Folder of the built console. */
  consoleFolder?: string
  /** Folder of the built manual. */
  manualFolder?: string
  /** Tests use shorter times than the default. */
  timeLimits?: Partial<TimeLimits>
}

export interface Server {
  app: App
  /** Set if the log has a store of its own. */
  logOutbox: LogOutbox | null
  /** Set if this start created `root` or changed its password. */
  newRoot: NewRoot | null
  /** Starts to listen and returns the address. */
  listen(): Promise<string>
  /**
   * Stops accepting requests, lets running ones finish up to the limit, settles them, and leaves
   * the database open.
   */
  close(): Promise<void>
}

/** Creates a server. It owns everything except the database, which its caller opens and closes. */
export async function createServer(settings: ServerSettings): Promise<Server> {
  const { config, database, trace, clock = systemClock } = settings
  const passwords = createPasswords(settings.passwordCost ?? PASSWORD_COST)
  const firstRoot = await createFirstRoot(config, { database, passwords, clock })
  // The comparison takes a quarter of a second, in parallel with the rest of the startup.
  const replacing = firstRoot ?? replaceDefaultPassword(config, { database, passwords })
  // If startup cannot close calls of an earlier process, this is the only output meanwhile.
  const ledger = createLedger(database, (error) => {
    trace.warn({ err: error }, 'calls cannot be closed; retrying until the database accepts them')
  })
  const trusted = parseTrustedProxies(config.TRUSTED_PROXIES)
  const options = await createLiveOptions(database, { Theme: config.THEME })
  const background = createBackground(trace)
  const { logs, remote } = openLogStorage(config, { database, clock })
  const app: App = {
    config,
    database,
    logs,
    ledger,
    options,
    models: await createLiveModels(database, options),
    tokenKeys: tokenKeys(await tokenHashSecret(database.write), () =>
      options.flag('TokensShownOnce'),
    ),
    sessions: createSessions({
      database,
      clock,
      secret: await sessionSecret(config, database),
      idleSeconds: () => options.number('SessionIdleMinutes') * 60,
    }),
    passwords,
    rateLimits: await createRateLimits({
      api: config.GLOBAL_API_RATE_LIMIT,
      web: config.GLOBAL_WEB_RATE_LIMIT,
      critical: config.CRITICAL_RATE_LIMIT,
      pool: database.pool,
    }),
    background,
    languages: await createUserLanguages({ database, background }),
    egress: createEgress({ allowPrivate: config.EGRESS_ALLOW_PRIVATE }),
    timeLimits: { ...TIME_LIMITS, ...settings.timeLimits },
    clock,
    trace,
    version: `v${packageVersion()}`,
    startSeconds: clock.nowSeconds(),
    manualFolder: settings.manualFolder ?? MANUAL_FOLDER,
    node: randomBytes(6).toString('hex'),
    addressOf: (request) =>
      clientAddress(request.socket.remoteAddress, header(request, 'x-forwarded-for'), trusted),
    isSecure: (request) => {
      const throughProxy = isTrustedProxy(request.socket.remoteAddress, trusted)
      return throughProxy && isHttps(header(request, 'x-forwarded-proto'))
    },
    ownOrigins: new Set(config.CONSOLE_ORIGINS),
    proxyWatch: createProxyWatch({ config, trusted, trace }),
  }
  if (database.replica?.lagSeconds() === Infinity) {
    trace.warn(
      'the replica (SQL_READ_DSN) does not respond; lists are read from SQL_DSN until it does',
    )
  }
  const recovery = await startRecovery(app)
  const channelSums = startChannelSums(app)
  const logOutbox = remote === null ? null : await startLogOutbox(app, remote)
  const cleanup = createLogCleanup(app, logOutbox)
  const logUpkeep = startLogUpkeep(app, cleanup)
  const auditUpkeep = startAuditUpkeep(app)
  startQuotaReminders(app)
  const expiryReminders = startExpiryReminders(app)
  const statusDigest = startStatusDigest(app)
  const dailyBackup = startDailyBackup(app, settings.environment ?? {})
  const metrics = createMetrics({
    ...metricSources(app, dailyBackup),
    logOutbox,
    connections: () => connections.counts(),
  })
  ledger.onSettled((_userId, { debt }) => metrics.unpaid(debt))
  const telemetry = await startTelemetry(app, metrics.registry)
  if (telemetry !== null) metrics.watchTelemetry(telemetry.losses)
  const relay = await createRelay(app, metrics, telemetry)
  recovery.closeLost(relay.runningIds)
  const stopper = new AbortController()
  const isOwnHost = createHostCheck({
    config,
    trusted,
    serverAddress: () => options.text('ServerAddress'),
  })
  /** Unfinished responses of the framework. */
  const answering = new Set<ServerResponse>()

  const connections = new Connections(connectionSettings(app, trusted))
  const web = fastify({
    serverFactory: (handler) =>
      connections.serve(
        splitFaces(config, {
          isOwnHost,
          look: app.proxyWatch.look,
          web: remembering(answering, handler),
          relay: relay.handle,
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
  mountApi(web, {
    app,
    routes: allRoutes(app, { relay, cleanup, stopping: stopper.signal }),
    answered: metrics.managed,
  })
  mountOperations(web, app, {
    metrics: {
      contentType: metrics.registry.contentType,
      text: isWorker() ? metricsOfAllWorkers(metrics.registry) : () => metrics.registry.metrics(),
    },
    isStopping: () => stopper.signal.aborted,
  })
  serveManual(web, app)
  await serveConsole(web, app, settings.consoleFolder ?? CONSOLE_FOLDER)
  const stopUpkeep = async () => {
    await dailyBackup.stop()
    await logUpkeep.stop()
    await logOutbox?.stop()
    await remote?.close()
    await channelSums.stop()
    await auditUpkeep.stop()
    await recovery.stop()
  }
  const newRoot = await replacing

  return {
    app,
    logOutbox,
    newRoot,
    async listen() {
      await web.listen({ port: config.PORT, host: config.HOST, backlog: BACKLOG })
      // A server that listens on a port has an address of this type.
      const { port } = web.server.address() as AddressInfo
      const host = config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST
      return `http://${host}:${port}${config.BASE_PATH}`
    },
    async close() {
      stopper.abort()
      const limit = config.SHUTDOWN_TIMEOUT * 1000
      if (isWorker()) {
        // Other workers serve the port: clients that keep their connections learn to open new ones,
        // and do not send a call into one that is being closed.
        connections.endWithNextResponse()
        await delay(LEAVING_MS)
      }
      const closed = web.close()
      // The framework closes the port a moment later. Connections opened until then are served.
      await untilEmpty(
        {
          get size() {
            return Number(web.server.listening) + connections.unused.size
          },
        },
        ARRIVING_MS,
      )
      await Promise.all([relay.close(limit), untilEmpty(answering, limit)])
      connections.closeAll()
      await closed
      await telemetry?.close()
      // A database that stays down must not block the exit; open calls are recovered later.
      await Promise.race([ledger.drain(), delay(LEDGER_LIMIT_MS)])
      await Promise.race([stopUpkeep(), delay(UPKEEP_LIMIT_MS)])
      statusDigest.stop()
      expiryReminders.stop()
      await Promise.race([app.background.idle(), delay(BACKGROUND_LIMIT_MS)])
      await app.egress.close()
    },
  }
}

const metricSources = (
  { ledger, database }: App,
  dailyBackup: DailyBackup,
): Omit<MetricSources, 'connections' | 'logOutbox'> => ({
  version: packageVersion(),
  ledgerPending: () => ledger.pending,
  channelsByStatus: () => inTime(countByStatus(database.read)),
  backups: {
    lastDone: () => inTime(dailyBackup.lastDone()),
    failures: dailyBackup.failures,
  },
  replica: database.replica,
})

/** Returns the routes of the management API. */
function allRoutes(
  app: App,
  { relay, cleanup, stopping }: { relay: Relay; cleanup: LogCleanup; stopping: AbortSignal },
): Route[] {
  const sendFile = createFileSender()
  return [
    ...statusRoutes(app),
    ...signInRoutes(app),
    ...oauthRoutes(app),
    ...secondFactorRoutes(app),
    ...passkeyRoutes(app),
    ...sessionRoutes(app),
    ...accessTokenRoutes(app),
    ...accountRoutes(app),
    ...registrationRoutes(app),
    ...passwordResetRoutes(app),
    ...ownAccountRoutes(app),
    ...userRoutes(app),
    ...tokenRoutes(app),
    ...limitRoutes(app),
    ...channelRoutes(app, {
      probe: relay.probe,
      egress: relay.egress,
      stopping,
    }),
    ...routeRoutes(app, relay.routing),
    ...redemptionRoutes(app),
    ...logRoutes(app, { cleanup, sendFile }),
    ...dashboardRoutes(app, sendFile),
    ...optionRoutes(app),
    ...releaseRoutes(app),
    ...publishedPricesRoutes(app),
    ...modelRoutes(app),
    ...auditRoutes(app, sendFile),
  ]
}

/**
 * Connections that may wait to be accepted. With Node's default of 511, clients that connect at the
 * same time are not answered and try again after a second or more.
 */
const BACKLOG = 4096

/** Time in ms for which a worker that stops serves on, and closes connections with a response. */
const LEAVING_MS = 1000

/** Time limit in ms for the requests of connections that were opened just before the port closed. */
const ARRIVING_MS = 2000

/** Time limit in ms for the last settlements. */
const LEDGER_LIMIT_MS = 10_000

/**
 * Time limit in ms for the log maintenance and for removing this process from the list of nodes.
 */
const UPKEEP_LIMIT_MS = 10_000

/** Time limit in ms for queued mail. */
const BACKGROUND_LIMIT_MS = 10_000

const delay = (ms: number): Promise<void> => passed(ms, undefined, { ref: false })

const CONSOLE_FOLDER = path.join(import.meta.dirname, '../../dist/console')
const MANUAL_FOLDER = path.join(import.meta.dirname, '../../dist/manual')

const header = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(',') : value
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

function connectionSettings(app: App, trusted: TrustedProxies): ConnectionSettings {
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
  relay: RequestListener
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
    if (isRelayPath(request.url ?? '/')) {
      relay(request, response)
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
