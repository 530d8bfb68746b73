import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createMetrics } from './metrics.ts'

const linesOf = async (metrics: ReturnType<typeof createMetrics>, name: string) =>
  (await metrics.registry.metrics()).split('\n').filter((line) => line.startsWith(name))

test('counts calls by how they ended and by channel, however often it is read', async () => {
  const metrics = createMetrics(() => 3)
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
  expect(await linesOf(metrics, 'gatehouse_ledger_pending')).toEqual(['gatehouse_ledger_pending 3'])
})

test('the event loop of a server with nothing to do has no delay, and one that was held up has', async () => {
  const metrics = createMetrics(() => 0)
  const lag = async (figure: string) => {
    const [line = ''] = await linesOf(metrics, `gatehouse_nodejs_eventloop_lag_${figure}_seconds `)
    return Number(line.split(' ')[1])
  }
  await sleep(1000)
  // Of other figures a busy machine that runs this test has its share.
  expect(await lag('min')).toBeLessThan(0.05)
  // Node compares each look with the one before, and forgets that when it is read.
  await sleep(400)
  const untilMs = performance.now() + 500
  while (performance.now() < untilMs);
  await sleep(300)
  expect(await lag('p99')).toBeGreaterThan(0.2)
})
