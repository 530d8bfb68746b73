import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'

const linesOf = async (metrics: ReturnType<typeof createMetrics>, name: string) =>
  (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(name))

const SOURCES = {
  version: '1.2.3',
  backups: { lastDone: () => Promise.resolve(1_800_000_000), failures: () => 3 },
  replica: null,
  ledgerPending: () => 3,
  connections: () => ({ open: 4, max: 100, refused: 2 }),
  logOutbox: {
    waiting: () => Promise.resolve({ logs: 9, log_bodies: 2, route_traces: 1 }),
    oldestSeconds: () => Promise.resolve(1_800_000_000),
    dropped: { log_bodies: 4, route_traces: 0 },
  },
  channelsByStatus: () =>
    Promise.resolve(
      new Map([
        [1, 5],
        [3, 2],
      ]),
    ),
}

test('counts calls by outcome and channel, even if read repeatedly', async () => {
  const metrics = createMetrics(SOURCES)
  const call = { outcome: 'answered', channelId: 7, elapsedMs: 80, quota: 12 }
  metrics.relayed(call)
  metrics.relayed(call)
  metrics.relayed({ ...call, channelId: 8, quota: 0 })
  await metrics.registry.metrics()
  metrics.relayed({ ...call, outcome: 'failed', quota: 0 })

  expect(await linesOf(metrics, 'gatehouse_relay_calls_total')).toEqual([
    'gatehouse_relay_calls_total{outcome="answered",channel="7"} 2',
    'gatehouse_relay_calls_total{outcome="answered",channel="8"} 1',
    'gatehouse_relay_calls_total{outcome="failed",channel="7"} 1',
  ])
  expect(await linesOf(metrics, 'gatehouse_relay_quota_total')).toEqual([
    'gatehouse_relay_quota_total 24',
  ])
  expect(await linesOf(metrics, 'gatehouse_relay_seconds_count')).toEqual([
    'gatehouse_relay_seconds_count 4',
  ])
  expect(await linesOf(metrics, 'gatehouse_channel_seconds_total')).toEqual([
    'gatehouse_channel_seconds_total{channel="7"} 0.24',
    'gatehouse_channel_seconds_total{channel="8"} 0.08',
  ])
  expect(await linesOf(metrics, 'gatehouse_ledger_pending')).toEqual(['gatehouse_ledger_pending 3'])
})

test('counts amounts that balances did not cover', async () => {
  const metrics = createMetrics(SOURCES)
  const debt = () => linesOf(metrics, 'gatehouse_relay_debt_quota_total')
  expect(await debt()).toEqual(['gatehouse_relay_debt_quota_total 0'])
  for (const points of [30, 0, 12]) metrics.unpaid(points)
  expect(await debt()).toEqual(['gatehouse_relay_debt_quota_total 42'])
})

test('reports channels by status while the database is up, and the version', async () => {
  let isAway = false
  const channelsByStatus = (): Promise<Map<number, number>> =>
    isAway ? Promise.reject(new Error('no database')) : SOURCES.channelsByStatus()
  const metrics = createMetrics({ ...SOURCES, channelsByStatus })
  expect(await linesOf(metrics, 'gatehouse_channels')).toEqual([
    'gatehouse_channels{status="enabled"} 5',
    'gatehouse_channels{status="disabled"} 0',
    'gatehouse_channels{status="auto_disabled"} 2',
  ])
  expect(await linesOf(metrics, 'gatehouse_connections')).toEqual([
    'gatehouse_connections 4',
    'gatehouse_connections_max 100',
    'gatehouse_connections_refused_total 2',
  ])
  expect(await linesOf(metrics, 'gatehouse_build_info')).toEqual([
    'gatehouse_build_info{version="1.2.3"} 1',
  ])
  isAway = true
  expect(await linesOf(metrics, 'gatehouse_channels')).toEqual([])
  expect(await linesOf(metrics, 'gatehouse_ledger_pending')).toEqual(['gatehouse_ledger_pending 3'])
})

test('reports the lag of a replica and where pages were read', async () => {
  const replica = { lagSeconds: () => 0.5, counts: { replica: 7, primary: 2 } }
  const metrics = createMetrics({ ...SOURCES, replica })
  for (let scrape = 0; scrape < 2; scrape += 1) {
    expect(await linesOf(metrics, 'gatehouse_replica_')).toEqual([
      'gatehouse_replica_lag_seconds 0.5',
      'gatehouse_replica_reads_total{from="replica"} 7',
      'gatehouse_replica_reads_total{from="primary"} 2',
    ])
  }
})

test('the event loop lag is zero for an idle server and positive for a blocked one', async () => {
  const metrics = createMetrics(SOURCES)
  const lag = async (figure: string) => {
    const [line = ''] = await linesOf(metrics, `nodejs_eventloop_lag_${figure}_seconds `)
    return Number(line.split(' ')[1])
  }
  await sleep(1000)
  // A busy machine affects the other figures.
  expect(await lag('min')).toBeLessThan(0.05)
  // Node compares each sample with the previous one, and resets it when read.
  await sleep(400)
  const untilMs = performance.now() + 500
  while (performance.now() < untilMs);
  await sleep(300)
  expect(await lag('p99')).toBeGreaterThan(0.2)
})

test.each(['deploy/grafana/gatehouse.json', 'deploy/prometheus/alerts.yaml'])(
  'every metric in %s exists',
  (file) => {
    const replica = { lagSeconds: () => 0, counts: { replica: 0, primary: 0 } }
    const metrics = createMetrics({ ...SOURCES, replica })
    metrics.watchAdmission({ waiting: 0, refused: 0 })
    metrics.watchTelemetry({ queueFull: 0, notSent: 0, failedExports: 0 })
    const known = new Set(metrics.registry.getMetricsAsArray().map(({ name }) => name))
    const text = readFileSync(join(import.meta.dirname, '../..', file), 'utf8')
    const named = new Set(text.match(/\b(?:gatehouse|nodejs|process)_[a-z0-9_]+/g))
    const missing = [...named].filter(
      (name) => !known.has(name.replace(/_(?:bucket|count|sum)$/, '')),
    )
    expect(named.size).toBeGreaterThan(9)
    expect(missing).toEqual([])
  },
)

test('counts what waits for the log store and what was dropped', async () => {
  const metrics = createMetrics(SOURCES)
  expect(await linesOf(metrics, 'gatehouse_log_outbox')).toEqual([
    'gatehouse_log_outbox_rows{table="logs"} 9',
    'gatehouse_log_outbox_rows{table="log_bodies"} 2',
    'gatehouse_log_outbox_rows{table="route_traces"} 1',
    'gatehouse_log_outbox_oldest_timestamp_seconds 1800000000',
    'gatehouse_log_outbox_dropped_total{table="log_bodies"} 4',
    'gatehouse_log_outbox_dropped_total{table="route_traces"} 0',
  ])
  const without = createMetrics({ ...SOURCES, logOutbox: null })
  expect(await linesOf(without, 'gatehouse_log_outbox')).toEqual([])
})
