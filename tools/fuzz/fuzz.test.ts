import { expect, test } from 'vitest'
import { allEndpoints } from '../../src/contract/api.ts'
import { forEachDatabase } from '../../src/server/test/for-each-database.ts'
import { createDice } from './dice.ts'
import { fuzzServer } from './fuzz-server.ts'

/** Per database. */
const CALLS = 5000

forEachDatabase('random calls', (open) => {
  test('no server fault, no response outside its schema, and balanced books', async () => {
    const result = await fuzzServer(open, { calls: CALLS, seed: 20_261_121 })
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
