import { expect, test } from 'vitest'
import { allEndpoints } from '../../src/contract/api.ts'
import { forEachDatabase } from '../../src/server/test/for-each-database.ts'
import { createDice } from './dice.ts'
import { fuzzServer } from './fuzz-server.ts'

/** On each database. */
const CALLS = 2500

/** Other calls on each: most of what they meet is the same code. */
const SEEDS = { sqlite: 20_261_121, postgres: 20_261_122 }

forEachDatabase('random calls', (open, engine) => {
  test('no fault, no answer outside its schema, and the books balance', async () => {
    const result = await fuzzServer(open, { calls: CALLS, seed: SEEDS[engine] })
    expect(result.findings).toEqual([])
    expect(result.faults).toEqual([])
    expect(result.calls).toBe(CALLS)
    // A run in which every call is rejected would prove nothing.
    expect(result.succeeded.size).toBeGreaterThan(allEndpoints.length * 0.6)
  }, 240_000)
})

test('a seed repeats its numbers, and they are uniform', () => {
  const first = createDice(7)
  const second = createDice(7)
  const thrown = Array.from({ length: 10_000 }, () => first.below(10))
  expect(Array.from({ length: 10_000 }, () => second.below(10))).toEqual(thrown)
  for (let face = 0; face < 10; face += 1) {
    const count = thrown.filter((value) => value === face).length
    expect(count).toBeGreaterThan(850)
    expect(count).toBeLessThan(1150)
  }
})
