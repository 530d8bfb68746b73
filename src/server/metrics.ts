import { ChannelStatus } from '../contract/channel.ts'
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ReadReplica } from './db/read-replica.ts'
import type { ConnectionCounts } from './http/connections.ts'
import type { TelemetryLosses } from './telemetry/telemetry.ts'

/** Figures of the server in Prometheus format. */
export interface Metrics {
  registry: Registry
  /** A relayed call has ended. `channelId` is 0 if no channel was tried. */
  relayed(call: { outcome: string; channelId: number; elapsedMs: number; quota: number }): void
  /** A settled call cost this many points more than the balance had. */
  unpaid(quota: number): void
  /** An attempt on a channel failed; another channel may have served the call. */
  attemptFailed(cause: string, channelId: number): void
  /** A request of the management API got this status. */
  managed(status: number): void
  /** Registers a memory budget for bodies: `requests` or `answers`. */
  watchBudget(kind: string, budget: BudgetFigures): void
  /** Registers the figures of calls that wait or are refused under overload. */
  watchAdmission(figures: AdmissionFigures): void
  /** Registers what the export to OpenTelemetry has lost. */
  watchTelemetry(losses: Readonly<TelemetryLosses>): void
}

/** Calls that wait for their reservation, and the number of refusals since the start. */
export type AdmissionFigures = Readonly<{ waiting: number; refused: number }>

/** Bytes used of a budget, its size in bytes, and the number of refusals. */
export type BudgetFigures = Readonly<{ held: number; bytesMax: number; refusals: number }>

/** Sources that are read when the metrics are scraped. */
export interface MetricSources {
  version: string
  ledgerPending(): number
  /** Number of channels by status. Rejects while the database does not respond. */
  channelsByStatus(): Promise<ReadonlyMap<number, number>>
  /** Counts of the listener's connections. */
  connections(): ConnectionCounts
  /** Daily backups. `lastDone` rejects while the database does not respond. */
  backups: { lastDone(): Promise<number | null>; failures(): number }
  /** Rows that wait for the log's own store; null if the log is in the main database. */
  logOutbox: OutboxFigures | null
  replica: Pick<ReadReplica, 'lagSeconds' | 'counts'> | null
}

/** Both read the database, and reject while it does not respond. */
export interface OutboxFigures {
  /** Number of waiting rows by table. */
  waiting(): Promise<Readonly<Record<string, number>>>
  /** Time of the oldest waiting log row; null if none waits. */
  oldestSeconds(): Promise<number | null>
  /** Number of rows dropped by this process, by table. */
  dropped: Readonly<Record<string, number>>
}

const STATUS_LABELS: readonly [status: number, label: string][] = [
  [ChannelStatus.enabled, 'enabled'],
  [ChannelStatus.disabled, 'disabled'],
  [ChannelStatus.autoDisabled, 'auto_disabled'],
]

const SECONDS_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

/** Interval of the samples of the event loop lag. Each sample wakes an idle server. */
const LAG_SAMPLE_MS = 100

const LAG_FIGURES = ['min', 'max', 'mean', 'p50', 'p90', 'p99'] as const

/** Node measures the time between samples, which without lag equals the interval. */
function subtractSample(registry: Registry, figure: (typeof LAG_FIGURES)[number]): void {
  const gauge = registry.getSingleMetric(`nodejs_eventloop_lag_${figure}_seconds`)
  if (!(gauge instanceof Gauge)) throw new Error(`there is no figure ${figure} of the event loop`)
  const set = gauge.set.bind(gauge)
  gauge.set = (labels: object | number, seconds?: number) => {
    const measured = seconds ?? Number(labels)
    set(Math.max(0, measured - LAG_SAMPLE_MS / 1000))
  }
}

/**
 * Adds gauges of the ledger, the channels and the server itself, read when scraped. `aggregator` is
 * how the figures of several workers become one; sums if absent.
 */
function addGauges(registry: Registry, sources: MetricSources): void {
  const pending = new Gauge({
    name: 'gatehouse_ledger_pending',
    help: 'Ledger operations not yet committed',
    registers: [],
    collect() {
      this.set(sources.ledgerPending())
    },
  })
  const channels = new Gauge({
    name: 'gatehouse_channels',
    aggregator: 'max',
    help: 'Channels by status; missing while the database does not respond',
    labelNames: ['status'],
    registers: [],
    async collect() {
      const counts = await sources.channelsByStatus().catch(() => null)
      this.reset()
      if (counts === null) return
      for (const [status, label] of STATUS_LABELS) {
        this.set({ status: label }, counts.get(status) ?? 0)
      }
    },
  })
  const open = new Gauge({
    name: 'gatehouse_connections',
    help: 'Open connections of clients and proxies',
    registers: [],
    collect() {
      this.set(sources.connections().open)
    },
  })
  const most = new Gauge({
    name: 'gatehouse_connections_max',
    help: 'Maximum number of open connections',
    registers: [],
    collect() {
      this.set(sources.connections().max)
    },
  })
  const refused = new Counter({
    name: 'gatehouse_connections_refused_total',
    help: 'Connections closed on arrival because too many were open',
    registers: [],
    collect() {
      this.reset()
      this.inc(sources.connections().refused)
    },
  })
  const backup = new Gauge({
    name: 'gatehouse_backup_last_success_timestamp_seconds',
    aggregator: 'max',
    help: 'Time of the last complete daily backup; 0 without one',
    registers: [],
    async collect() {
      // While the database does not respond, the previous value stays.
      const seconds = await sources.backups.lastDone().catch(() => null)
      if (seconds !== null) this.set(seconds)
    },
  })
  const backupFailures = new Counter({
    name: 'gatehouse_backup_failures_total',
    help: 'Daily backups that failed',
    registers: [],
    collect() {
      this.reset()
      this.inc(sources.backups.failures())
    },
  })
  const build = new Gauge({
    name: 'gatehouse_build_info',
    aggregator: 'first',
    help: 'Always 1; the version is its label',
    labelNames: ['version'],
    registers: [],
  })
  build.set({ version: sources.version }, 1)
  const metrics = [pending, channels, open, most, refused, backup, backupFailures, build]
  for (const metric of metrics) registry.registerMetric(metric)
}

/** Adds the gauges of a log with a store of its own. */
function addOutbox(registry: Registry, outbox: OutboxFigures): void {
  const rows = new Gauge({
    name: 'gatehouse_log_outbox_rows',
    aggregator: 'max',
    help: 'Rows that wait in the main database for the log store, by table',
    labelNames: ['table'],
    registers: [],
    async collect() {
      const waiting = await outbox.waiting().catch(() => null)
      this.reset()
      for (const [table, count] of Object.entries(waiting ?? {})) this.set({ table }, count)
    },
  })
  const oldest = new Gauge({
    name: 'gatehouse_log_outbox_oldest_timestamp_seconds',
    aggregator: 'max',
    help: 'Time of the oldest log row that waits; 0 if none waits',
    registers: [],
    async collect() {
      // While the database does not respond, the previous value stays.
      const seconds = await outbox.oldestSeconds().catch(() => undefined)
      if (seconds !== undefined) this.set(seconds ?? 0)
    },
  })
  const dropped = new Counter({
    name: 'gatehouse_log_outbox_dropped_total',
    help: 'Captured texts and traces dropped because too many waited for the log store, by table',
    labelNames: ['table'],
    registers: [],
    collect() {
      this.reset()
      for (const [table, count] of Object.entries(outbox.dropped)) this.inc({ table }, count)
    },
  })
  for (const metric of [rows, oldest, dropped]) registry.registerMetric(metric)
}

function addReplica(registry: Registry, replica: NonNullable<MetricSources['replica']>): void {
  const lag = new Gauge({
    name: 'gatehouse_replica_lag_seconds',
    aggregator: 'max',
    help: 'Seconds that the read replica is behind; +Inf if it has never responded',
    registers: [],
    collect() {
      this.set(replica.lagSeconds())
    },
  })
  const reads = new Counter({
    name: 'gatehouse_replica_reads_total',
    help: 'Reads of pages by server; those from the primary could not use the replica',
    labelNames: ['from'],
    registers: [],
    collect() {
      this.reset()
      for (const [from, count] of Object.entries(replica.counts)) this.inc({ from }, count)
    },
  })
  registry.registerMetric(lag)
  registry.registerMetric(reads)
}

/** Adds the gauges of memory budgets. Returns a function that registers a budget. */
function addBudgets(registry: Registry): Metrics['watchBudget'] {
  const budgets = new Map<string, BudgetFigures>()
  const gauge = (name: string, help: string, figure: (budget: BudgetFigures) => number) =>
    new Gauge({
      name,
      help,
      labelNames: ['kind'],
      registers: [registry],
      collect() {
        for (const [kind, budget] of budgets) this.set({ kind }, figure(budget))
      },
    })
  gauge('gatehouse_relay_body_bytes', 'Bytes of bodies in memory', ({ held }) => held)
  gauge(
    'gatehouse_relay_body_bytes_max',
    'Maximum bytes of bodies in memory',
    ({ bytesMax }) => bytesMax,
  )
  const refused = new Counter({
    name: 'gatehouse_relay_body_refused_total',
    help: 'Bodies refused because that memory was used up',
    labelNames: ['kind'],
    registers: [],
    collect() {
      this.reset()
      for (const [kind, { refusals }] of budgets) this.inc({ kind }, refusals)
    },
  })
  registry.registerMetric(refused)
  return (kind, budget) => void budgets.set(kind, budget)
}

/** Returns a function that adds the figures of calls that wait or are refused under overload. */
const addAdmission =
  (registry: Registry): Metrics['watchAdmission'] =>
  (figures) => {
    const waiting = new Gauge({
      name: 'gatehouse_relay_waiting',
      help: 'Calls that wait because the server is overloaded',
      registers: [],
      collect() {
        this.set(figures.waiting)
      },
    })
    const refused = new Counter({
      name: 'gatehouse_relay_overload_refused_total',
      help: 'Calls refused because the server was overloaded',
      registers: [],
      collect() {
        this.reset()
        this.inc(figures.refused)
      },
    })
    registry.registerMetric(waiting)
    registry.registerMetric(refused)
  }

/** Returns a function that adds what the export to OpenTelemetry has lost. */
const addTelemetry =
  (registry: Registry): Metrics['watchTelemetry'] =>
  (losses) => {
    const spans = new Counter({
      name: 'gatehouse_otel_spans_dropped_total',
      help: 'Spans that the OpenTelemetry collector has not received, by reason',
      labelNames: ['reason'],
      registers: [],
      collect() {
        this.reset()
        this.inc({ reason: 'queue_full' }, losses.queueFull)
        this.inc({ reason: 'not_sent' }, losses.notSent)
      },
    })
    const exports = new Counter({
      name: 'gatehouse_otel_exports_failed_total',
      help: 'Requests to the OpenTelemetry collector that failed',
      registers: [],
      collect() {
        this.reset()
        this.inc(losses.failedExports)
      },
    })
    registry.registerMetric(spans)
    registry.registerMetric(exports)
  }

export function createMetrics(sources: MetricSources): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS })
  for (const figure of LAG_FIGURES) subtractSample(registry, figure)
  // Counted here and transferred when scraped, because finding a counter by its labels takes more
  // than a microsecond per call.
  const ended = new Map<string, Map<number, number>>()
  const millisecondsByChannel = new Map<number, number>()
  const calls = new Counter({
    name: 'gatehouse_relay_calls_total',
    help: 'Relayed calls by outcome',
    labelNames: ['outcome', 'channel'],
    registers: [],
    collect() {
      this.reset()
      for (const [outcome, byChannel] of ended) {
        for (const [channel, count] of byChannel) this.inc({ outcome, channel }, count)
      }
    },
  })
  const failedAttempts = new Counter({
    name: 'gatehouse_relay_attempts_failed_total',
    help: 'Failed attempts at channels, by cause',
    labelNames: ['cause', 'channel'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'gatehouse_relay_seconds',
    help: 'Duration of relayed calls to the last byte of the response, for calls that reached a channel',
    buckets: SECONDS_BUCKETS,
    registers: [registry],
  })
  const channelSeconds = new Counter({
    name: 'gatehouse_channel_seconds_total',
    help: 'Total duration of calls, by the last attempted channel',
    labelNames: ['channel'],
    registers: [],
    collect() {
      this.reset()
      for (const [channel, ms] of millisecondsByChannel) this.inc({ channel }, ms / 1000)
    },
  })
  const managed = new Counter({
    name: 'gatehouse_api_calls_total',
    help: 'Calls of the management API by response status',
    labelNames: ['status'],
    registers: [registry],
  })
  const quota = new Counter({
    name: 'gatehouse_relay_quota_total',
    help: 'Quota points charged',
    registers: [registry],
  })
  const debt = new Counter({
    name: 'gatehouse_relay_debt_quota_total',
    help: 'Quota points of calls that balances could not cover',
    registers: [registry],
  })
  registry.registerMetric(calls)
  registry.registerMetric(channelSeconds)
  addGauges(registry, sources)
  if (sources.logOutbox !== null) addOutbox(registry, sources.logOutbox)
  if (sources.replica !== null) addReplica(registry, sources.replica)
  const watchBudget = addBudgets(registry)
  return {
    registry,
    relayed(call) {
      let byChannel = ended.get(call.outcome)
      if (byChannel === undefined) ended.set(call.outcome, (byChannel = new Map()))
      byChannel.set(call.channelId, (byChannel.get(call.channelId) ?? 0) + 1)
      if (call.channelId !== 0) {
        seconds.observe(call.elapsedMs / 1000)
        const earlierMs = millisecondsByChannel.get(call.channelId) ?? 0
        millisecondsByChannel.set(call.channelId, earlierMs + call.elapsedMs)
      }
      if (call.quota > 0) quota.inc(call.quota)
    },
    unpaid: (points) => debt.inc(points),
    attemptFailed: (cause, channelId) => failedAttempts.inc({ cause, channel: channelId }),
    managed: (status) => managed.inc({ status }),
    watchBudget,
    watchAdmission: addAdmission(registry),
    watchTelemetry: addTelemetry(registry),
  }
}
