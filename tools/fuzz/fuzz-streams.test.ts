import { expect, test } from 'vitest'
import { fuzzStreams } from './fuzz-streams.ts'

test('ten thousand malformed streams have the same result however they are cut', () => {
  const { cases, outcomes, findings } = fuzzStreams({ cases: 10_000, seed: 1 })
  expect(findings.slice(0, 3)).toEqual([])
  expect(cases).toBeGreaterThanOrEqual(10_000)
  for (const outcome of ['clean', 'usage-missing', 'truncated', 'error-chunk', 'malformed']) {
    expect({ outcome, isOften: (outcomes[outcome] ?? 0) > 100 }).toEqual({ outcome, isOften: true })
  }
})
