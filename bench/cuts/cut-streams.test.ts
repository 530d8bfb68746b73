import { expect, test } from 'vitest'
import { cutStreams } from './cut-streams.ts'

const STREAMS = 300

// A client that aborts a stream is charged for what was produced until then, neither nothing nor
// all of it.
test.each(['sqlite', 'postgres'] as const)(
  'B11: streams cut at a random byte are charged for what was produced (%s)',
  async (database) => {
    const report = await cutStreams({ streams: STREAMS, database })
    expect(report.problems).toEqual([])
    expect(report.streams).toBe(STREAMS)
    expect(report.byClient).toBeGreaterThan(STREAMS / 4)
    expect(report.byUpstream).toBeGreaterThan(STREAMS / 6)
  },
  120_000,
)
