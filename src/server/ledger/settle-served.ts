import type { App } from '../app.ts'
import { openAgain } from './ledger-store.ts'
import type { Settled } from './ledger.ts'
import type { Settlement } from './operations.ts'

/** Recoveries that may come between: several processes may take this one for dead. */
const ATTEMPTS_MAX = 3

/**
 * Settles a call whose answer its client gets. Another process may have taken this one for dead, be
 * it that its machine slept, and have released the call, whose points the user has back: what was
 * served is paid for all the same. Null when the call had been billed before, by the other process
 * as far as it knew: nothing was booked now.
 *
 * For the process that serves the call, and never one that closes it for another: that one cannot
 * know whether it was released because it came to nothing.
 */
export async function settleServed(
  { ledger, database, node }: Pick<App, 'ledger' | 'database' | 'node'>,
  settlement: Settlement,
): Promise<Settled | null> {
  for (let attempt = 1; ; attempt += 1) {
    const settled = await ledger.settle(settlement)
    if (settled !== null || attempt === ATTEMPTS_MAX) return settled
    // A storage that fails just now must not take the answer from a client who waits for it.
    const isOpen = await openAgain(database.write, settlement, node).catch(() => false)
    if (!isOpen) return null
  }
}
