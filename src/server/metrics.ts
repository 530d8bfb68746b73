import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** What the server counts about itself, in Prometheus's terms. */
export interface Metrics {
  registry: Registry
  /** One relayed call has ended. */
  relayed(call: { outcome: string; channelId: number; elapsedMs: number; quota: number }): void
}

const SECONDS_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

/**
 * How often the delay of the event loop is looked at. Each look wakes a server that has nothing to
 * do.
 */
const LAG_SAMPLE_MS = 100

export function createMetrics(ledgerPending: () => number): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({
    register: registry,
    prefix: 'gatehouse_',
    eventLoopMonitoringPrecision: LAG_SAMPLE_MS,
  })
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
  const seconds = new Histogram({
    name: 'gatehouse_relay_seconds',
    help: 'From the call to the last byte of its answer',
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
      seconds.observe(call.elapsedMs / 1000)
      if (call.quota > 0) quota.inc(call.quota)
    },
  }
}
