import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { setTimeout as passed } from 'node:timers/promises'
import { startQuotaReminders } from './account/quota-reminder.ts'
import type { App } from './app.ts'
import { startAuditUpkeep } from './audit/audit-upkeep.ts'
import { startDailyBackup, type DailyBackup } from './backup/daily-backup.ts'
import type { NewRoot } from './bootstrap.ts'
import { countByStatus } from './channel/channel-store.ts'
import { startStatusDigest } from './channel/notice/status-digest.ts'
import { serveConsole } from './http/console-files.ts'
import { Connections } from './http/connections.ts'
import { mountApi } from './http/mount.ts'
import { mountOperations } from './http/operations-routes.ts'
import { serveManual } from './http/manual-files.ts'
import { inTime } from './db/outage.ts'
import { startChannelSums } from './ledger/channel-sums.ts'
import { startRecovery } from './ledger/recover.ts'
import { createLogCleanup } from './log/cleanup/cleanup-run.ts'
import { startLogOutbox, type LogOutbox } from './log/outbox/outbox.ts'
import { startLogUpkeep } from './log/log-upkeep.ts'
import { createMetrics, type MetricSources } from './metrics.ts'
import { isRelayPath } from './relay/relay-path.ts'
import { createRelay } from './relay/relay.ts'
import { untilEmpty } from './slots.ts'
import { startExpiryReminders } from './token/expiry-reminder.ts'
import { startTelemetry } from './telemetry/telemetry.ts'
import { packageVersion } from './version.ts'
import { isWorker, metricsOfAllWorkers } from './workers.ts'
import { allRoutes } from './all-routes.ts'
import { createApp, type ServerSettings } from './create-app.ts'
import { connectionSettings, createWebServer } from './http/web-server.ts'

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
  const { app, trusted, remote, newRoot } = await createApp(settings)
  const { config, database, trace, ledger } = app
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
  const connections = new Connections(connectionSettings(app, trusted))
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
  const { web, answering } = await createWebServer(app, connections, {
    trusted,
    relay: { isRelayPath, handle: relay.handle },
  })
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

  return {
    app,
    logOutbox,
    newRoot: await newRoot,
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
