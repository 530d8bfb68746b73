import { expect, test } from 'vitest'
import { runFaults } from './faults.ts'
import { CHANNELS } from './fault-script.ts'

const SERVED_MIN = 0.95

// Eight seconds teach a gateway little about twenty channels; the long form asks for more.
test('while upstreams fail, calls are answered, charged once, and no healthy channel is disabled', async () => {
  const report = await runFaults({
    seconds: 8,
    rate: 40,
    database: 'sqlite',
    silenceSeconds: 1,
    core: null,
  })
  expect(report.problems).toEqual([])
  const manyWell = report.phases.filter(({ well }) => well > CHANNELS.length / 4)
  const sum = (of: (phase: (typeof manyWell)[number]) => number): number =>
    manyWell.reduce((total, phase) => total + of(phase), 0)
  const taken = sum(({ calls }) => calls) - sum(({ broken }) => broken)
  expect(taken).toBeGreaterThan(200)
  expect(sum(({ served }) => served) / taken).toBeGreaterThanOrEqual(SERVED_MIN)
  expect(report.phases.at(-1)?.refused).toBe(0)
}, 180_000)
