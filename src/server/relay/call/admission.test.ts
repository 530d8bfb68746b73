import { expect, test } from 'vitest'
import { Admission } from './admission.ts'

/**
 * A ledger whose reservations take `msOf(running)` on a fake clock. `callAt` begins a call; `run`
 * ends all reservations in order.
 */
function simulation(msOf: (running: number) => number) {
  let nowMs = 0
  const admission = new Admission({ monotonicMs: () => nowMs }, 25)
  const events: { atMs: number; resume(): void }[] = []
  let running = 0
  let runningMost = 0
  const outcomes: { tokenId: number; atMs: number; tookMs: number | null }[] = []

  const sleep = (ms: number): Promise<void> =>
    new Promise((resume) => events.push({ atMs: nowMs + ms, resume }))

  async function reserve(): Promise<void> {
    running += 1
    runningMost = Math.max(runningMost, running)
    await sleep(msOf(running))
    running -= 1
  }

  function callAt(atMs: number, tokenId = 1): void {
    const resume = async (): Promise<void> => {
      try {
        admission.refuseIfFull(tokenId)
        await admission.run(tokenId, reserve)
        outcomes.push({ tokenId, atMs, tookMs: nowMs - atMs })
      } catch {
        outcomes.push({ tokenId, atMs, tookMs: null })
      }
    }
    events.push({ atMs, resume: () => void resume() })
  }

  async function run(): Promise<void> {
    while (events.length > 0) {
      events.sort((one, other) => one.atMs - other.atMs)
      const event = events.shift()
      nowMs = event?.atMs ?? nowMs
      event?.resume()
      // Lets what waits for the event run, and add its own events.
      await new Promise(setImmediate)
    }
  }
  return { admission, callAt, run, outcomes, runningMost: () => runningMost }
}

/** A database that commits 1,000 reservations a second: a queue makes each wait. */
const LIMITED = (running: number): number => 2 + running

test('nothing is limited while reservations are quick, however many run', async () => {
  const { callAt, run, outcomes, runningMost } = simulation(() => 3)
  for (let at = 0; at < 1000; at += 1) for (let n = 0; n < 5; n += 1) callAt(at)
  await run()
  expect(outcomes).toHaveLength(5000)
  expect(outcomes.every(({ tookMs }) => tookMs === 3)).toBe(true)
  expect(runningMost()).toBeGreaterThan(10)
})

test('with more calls than the ledger can commit, some are refused and the others stay quick', async () => {
  const { callAt, run, outcomes, admission } = simulation(LIMITED)
  for (let at = 0; at < 200; at += 2) callAt(at)
  for (let at = 200; at < 3200; at += 1) for (let n = 0; n < 4; n += 1) callAt(at)
  await run()
  const later = outcomes.filter(({ atMs }) => atMs >= 2200)
  const served = later.filter(({ tookMs }) => tookMs !== null).map(({ tookMs }) => tookMs ?? 0)
  expect(admission.refused).toBeGreaterThan(0)
  expect(Math.max(...served)).toBeLessThan(200)
  // The ledger can commit 1,000.
  expect(served.length).toBeGreaterThan(800)
})

test('the limit is gone when the overload is', async () => {
  const { callAt, run, outcomes } = simulation(LIMITED)
  for (let at = 0; at < 200; at += 2) callAt(at)
  for (let at = 200; at < 1200; at += 1) for (let n = 0; n < 4; n += 1) callAt(at)
  for (let at = 2000; at < 4000; at += 2) callAt(at)
  for (let at = 4000; at < 4001; at += 1) for (let n = 0; n < 60; n += 1) callAt(at)
  await run()
  const after = outcomes.filter(({ atMs }) => atMs >= 2000)
  expect(after.filter(({ tookMs }) => tookMs === null)).toEqual([])
})

test('a token with few calls is served while another one floods', async () => {
  const { callAt, run, outcomes } = simulation(LIMITED)
  for (let at = 0; at < 2000; at += 1) for (let n = 0; n < 4; n += 1) callAt(at, 1)
  for (let at = 1000; at < 2000; at += 20) callAt(at, 2)
  await run()
  const light = outcomes.filter(({ tokenId }) => tokenId === 2)
  expect(light).toHaveLength(50)
  expect(light.filter(({ tookMs }) => tookMs === null)).toEqual([])
})

test('a database that has become slower counts as usual after a while', async () => {
  const { callAt, run, outcomes } = simulation(() => (outcomes.length < 100 ? 2 : 120))
  for (let at = 0; at < 60_000; at += 5) callAt(at)
  await run()
  const last = outcomes.filter(({ atMs }) => atMs > 50_000)
  expect(last.filter(({ tookMs }) => tookMs === null)).toEqual([])
})
