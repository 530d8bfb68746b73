import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createAbortQueue } from './abort-queue.ts'

/** Milliseconds of work that keep the event loop to themselves. */
function busy(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('aborts run soon, in order, and never synchronously', async () => {
  const abortLater = createAbortQueue()
  const ran: number[] = []
  for (const index of [1, 2, 3]) abortLater(() => ran.push(index))
  expect(ran).toEqual([])
  await nextTurn()
  await nextTurn()
  expect(ran).toEqual([1, 2, 3])
})

test('slow aborts yield to the event loop between them', async () => {
  const abortLater = createAbortQueue()
  const count = 40
  const ran: number[] = []
  for (let index = 0; index < count; index += 1) {
    abortLater(() => {
      busy(1)
      ran.push(index)
    })
  }
  const seen: number[] = []
  while (ran.length < count) {
    await nextTurn()
    seen.push(ran.length)
  }
  const steps = seen.map((value, index) => value - (seen[index - 1] ?? 0))
  // Four milliseconds per turn, plus the abort that was already running.
  expect(Math.max(...steps)).toBeLessThanOrEqual(6)
  expect(ran).toHaveLength(count)
})

test('runs an abort that is queued while others run', async () => {
  const abortLater = createAbortQueue()
  const ran: string[] = []
  abortLater(() => {
    ran.push('outer')
    abortLater(() => ran.push('inner'))
  })
  for (let turn = 0; turn < 4; turn += 1) await nextTurn()
  abortLater(() => ran.push('later'))
  for (let turn = 0; turn < 4; turn += 1) await nextTurn()
  expect(ran).toEqual(['outer', 'inner', 'later'])
})
