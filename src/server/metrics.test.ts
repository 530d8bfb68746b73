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
