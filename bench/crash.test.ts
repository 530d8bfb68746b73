import { expect, test } from 'vitest'
import { crashRounds } from './crash.ts'

// Whoever saw an answer complete pays for it once, and nobody pays twice, however the process ends.
test.each(['sqlite', 'postgres'] as const)(
  '%s: killed under load, the books hold every complete call exactly once',
  async (database) => {
    const report = await crashRounds({ rounds: 5, database, killAfterMaxMs: 700 })
    expect(report.problems).toEqual([])
    expect(report.rounds).toBe(5)
    expect(report.completeStreams).toBeGreaterThan(0)
    expect(report.complete).toBeGreaterThan(report.completeStreams)
    expect(report.interrupted).toBeGreaterThan(0)
  },
  180_000,
)
