import type { App } from '../app.ts'
import { openAgain } from './ledger-store.ts'
import type { Settled } from './ledger.ts'
import type { Settlement } from './operations.ts'

/** Number of settlement attempts, because several processes may release the call in between. */
const ATTEMPTS_MAX = 3

/**
 * Settles a call whose response is delivered to the client. Another process may have considered
 * this one dead, for example after the machine slept, and released the call. The served call is
 * charged nevertheless. Returns null if the call was already billed, by the other process from its
 * checkpoint; nothing is booked then.
 *
 * Only the process that serves the call may use this. A process that recovers calls cannot know
 * whether a call was released because it produced nothing.
 */
export async function settleServed(
  { ledger, database, node }: Pick<App, 'ledger' | 'database' | 'node'>,
  settlement: Settlement,
): Promise<Settled | null> {
  for (let attempt = 1; ; attempt += 1) {
    const settled = await ledger.settle(settlement)
    if (settled !== null || attempt === ATTEMPTS_MAX) return settled
    // A failing storage must not take the response from a waiting client.
    const isOpen = await openAgain(database.write, settlement, node).catch(() => false)
    if (!isOpen) return null
  }
}
