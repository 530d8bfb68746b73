import { setTimeout as sleep } from 'node:timers/promises'

/** With what the check itself takes, a second at most. */
const TURNS = 30
const TURN_MS = 20

/**
 * Repeats a check that fails until it holds. Counted in turns, because a machine that stands still
 * for a moment holds back what is waited for and the clock alike.
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
