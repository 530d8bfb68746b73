import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** What the server counts about itself, in Prometheus's terms. */
export interface Metrics {
  registry: Registry
  /** One relayed call has ended. `channelId`: 0 where none was asked. */
  relayed(call: { outcome: string; channelId: number; elapsedMs: number; quota: number }): void
  /** A channel was asked for nothing; another may have answered the call. */
  attemptFailed(cause: string, channelId: number): void
}

const SECONDS_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

/**
 * How often the delay of the event loop is looked at. Each look wakes a server that has nothing to
 * do.
 */
const LAG_SAMPLE_MS = 100

const LAG_FIGURES = ['min', 'max', 'mean', 'p50', 'p90', 'p99'] as const

/** What Node measures is the time from look to look: without delay, that between two of them. */
function subtractSample(registry: Registry, figure: (typeof LAG_FIGURES)[number]): void {
  const gauge = registry.getSingleMetric(`gatehouse_nodejs_eventloop_lag_${figure}_seconds`)
  if (!(gauge instanceof Gauge)) throw new Error(`there is no figure ${figure} of the event loop`)
  const set = gauge.set.bind(gauge)
  gauge.set = (labels: object | number, seconds?: number) => {
    const measured = seconds ?? Number(labels)
    set(Math.max(0, measured - LAG_SAMPLE_MS / 1000))
  }
}

export function createMetrics(ledgerPending: () => number): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({
    register: registry,
    prefix: 'gatehouse_',
    eventLoopMonitoringPrecision: LAG_SAMPLE_MS,
  })
  for (const figure of LAG_FIGURES) subtractSample(registry, figure)
  // Counted here and handed over when they are asked for: finding a counter by its labels takes
  // more than a microsecond, in every call.
  const ended = new Map<string, Map<number, number>>()
  const calls = new Counter({
    name: 'gatehouse_relay_calls_total',
    help: 'Relayed calls by how they ended',
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
    help: 'Channels that were asked in vain, by what went wrong',
    labelNames: ['cause', 'channel'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'gatehouse_relay_seconds',
    help: 'From the call to the last byte of its answer, for calls that a channel was asked for',
    buckets: SECONDS_BUCKETS,
    registers: [registry],
  })
  const quota = new Counter({
    name: 'gatehouse_relay_quota_total',
    help: 'Quota points charged',
    registers: [registry],
  })
  const pending = new Gauge({
    name: 'gatehouse_ledger_pending',
    help: 'Ledger operations not yet committed',
    registers: [],
    collect() {
      this.set(ledgerPending())
    },
  })
  registry.registerMetric(calls)
  registry.registerMetric(pending)
  return {
    registry,
    relayed(call) {
      let byChannel = ended.get(call.outcome)
      if (byChannel === undefined) ended.set(call.outcome, (byChannel = new Map()))
      byChannel.set(call.channelId, (byChannel.get(call.channelId) ?? 0) + 1)
      if (call.channelId !== 0) seconds.observe(call.elapsedMs / 1000)
      if (call.quota > 0) quota.inc(call.quota)
    },
    attemptFailed: (cause, channelId) => failedAttempts.inc({ cause, channel: channelId }),
  }
}
