import { expect, test } from 'vitest'
import { crashRounds } from './crash.ts'

// A client that received a complete response is charged exactly once, whenever the process is
// killed.
test.each(['sqlite', 'postgres'] as const)(
  '%s: after SIGKILL under load, the books contain every complete call exactly once',
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
