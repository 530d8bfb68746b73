import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'

/** What the server counts about itself, in Prometheus's terms. */
export interface Metrics {
  registry: Registry
  /** One relayed call has ended. */
  relayed(call: { outcome: string; channelId: number; elapsedMs: number; quota: number }): void
}

const SECONDS_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]

export function createMetrics(ledgerPending: () => number): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'gatehouse_' })
  const calls = new Counter({
    name: 'gatehouse_relay_calls_total',
    help: 'Relayed calls by how they ended',
    labelNames: ['outcome', 'channel'],
    registers: [registry],
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
  registry.registerMetric(pending)
  return {
    registry,
    relayed(call) {
      calls.labels(call.outcome, String(call.channelId)).inc()
      seconds.observe(call.elapsedMs / 1000)
      if (call.quota > 0) quota.inc(call.quota)
    },
  }
}
