import { expect, test } from 'vitest'
import { runFaults } from './faults.ts'
import { CHANNELS } from './fault-script.ts'

const SERVED_MIN = 0.8

// In eight seconds, on a machine busy with other tests, a gateway learns little about twenty
// channels; the long run has stricter limits.
test('while upstreams fail, calls are served, charged once, and no healthy channel is disabled', async () => {
  const report = await runFaults({
    seconds: 8,
    rate: 40,
    database: 'sqlite',
    silenceSeconds: 1,
    core: null,
  })
  expect(report.problems).toEqual([])
  const manyHealthy = report.phases.filter(({ healthy }) => healthy > CHANNELS.length / 4)
  const sum = (of: (phase: (typeof manyHealthy)[number]) => number): number =>
    manyHealthy.reduce((total, phase) => total + of(phase), 0)
  const taken = sum(({ calls }) => calls) - sum(({ broken }) => broken)
  expect(taken).toBeGreaterThan(200)
  expect(sum(({ served }) => served) / taken).toBeGreaterThanOrEqual(SERVED_MIN)
  expect(report.phases.at(-1)?.refused).toBe(0)
}, 180_000)
