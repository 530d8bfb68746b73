import { setTimeout as sleep } from 'node:timers/promises'

/**
 * About a second of a machine without other work, three times: the database's process may have to
 * wait for its turn while this one does not.
 */
const TURNS = 100
const TURN_MS = 20

/**
 * Repeats a failing check until it succeeds. Counted in turns, because a stalled machine delays
 * both the condition and the clock.
 */
export async function expectWithinASecond(check: () => Promise<void>): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) {
    try {
      await check()
      return
    } catch {
      await sleep(TURN_MS)
    }
  }
  await check()
}
