import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  aClient,
  aServedModel,
  chatBody,
  eventually,
  expectRefusal,
  post,
  quotaOf,
  startRelay,
  type RelaySetup,
} from '../test/relay-setup.ts'
import type { TestAnswer } from '../test/test-app.ts'

/** Calls that arrive while points cannot be reserved as fast as usual. */

/** The smallest number of concurrent reservations that overload allows, and of waiting calls. */
const LEAST = 16
/** Points of one call. */
const COST = 18
const QUOTA = 1_000_000_000

let setup: RelaySetup
/** Resolves when points may be reserved; `open` resolves it. */
let gate = Promise.resolve()
let open = (): void => {}
let reserving = 0
beforeEach(async () => {
  // Between the durations of quick reservations, also on a busy machine, and of slow ones.
  setup = await startRelay(undefined, {}, { slowReservationMs: 5000 })
  const { ledger } = setup.app
  const reserve = ledger.reserve.bind(ledger)
  ledger.reserve = async (reservation) => {
    reserving += 1
    await gate
    reserving -= 1
    return reserve(reservation)
  }
})
afterEach(() => {
  open()
  return setup.close()
})

function closeGate(): void {
  const { promise, resolve } = Promise.withResolvers<void>()
  gate = promise
  open = resolve
}

test('those above the capacity get 503 with Retry-After and cost nothing', async () => {
  const client = await aClient(setup, { quota: QUOTA })
  const model = await aServedModel(setup)
  const answers: TestAnswer[] = []
  const ask = async (): Promise<void> => {
    answers.push(await post(setup, client, chatBody(model)))
  }
  const asked = (count: number): Promise<unknown> => Promise.all(Array.from({ length: count }, ask))
  await asked(LEAST)
  // The next call ends the measurement window of the quick ones.
  setup.clock.lapseSeconds(1)
  await asked(1)

  // The database becomes slow: fewer reservations may run at the same time.
  closeGate()
  const slow = asked(2 * LEAST)
  await eventually(() => reserving === 2 * LEAST, 'the slow calls')
  setup.clock.lapseSeconds(60)
  open()
  await slow
  const before = answers.length
  expect(answers.map(({ status }) => status)).toEqual(Array(before).fill(200))

  closeGate()
  const most = asked(50)
  const refused = 50 - 2 * LEAST
  await eventually(() => answers.length === before + refused, 'the refusals')
  for (const answer of answers.slice(before)) {
    expectRefusal(answer, { code: 'busy', status: 503, wireCode: 'overloaded' })
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  }
  open()
  await most
  const served = answers.filter(({ status }) => status === 200).length
  expect(served).toBe(before + 2 * LEAST)
  expect(await quotaOf(setup, client.userId)).toBe(QUOTA - served * COST)
})
