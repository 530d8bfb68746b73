import type { App } from '../../app.ts'
import { moveSetting, readSetting } from '../../db/setting-store.ts'

/** Lets one process at a time move rows to the log store: a row in `settings` that it renews. */
export interface OutboxLease {
  /** Takes or renews the lease. Returns false if another process has it. */
  hold(): Promise<boolean>
  /** Lets the next process begin immediately. */
  giveBack(): Promise<void>
}

/** Setting with the process that moves rows, as JSON. */
const LEASE = 'log_outbox'
/** Seconds after which the lease of a process that does not renew it is free. */
const LEASE_SECONDS = 15
const RENEW_SECONDS = 5

interface Lease {
  node: string
  /** Time of the last renewal, in seconds; 0 if given back. */
  seenAt: number
}

export function createLease({
  database,
  clock,
  node,
}: Pick<App, 'database' | 'clock' | 'node'>): OutboxLease {
  async function read(): Promise<{ text: string | null; lease: Lease | null }> {
    const text = await readSetting(database.read, LEASE)
    // Only `store` writes it.
    return { text, lease: text === null ? null : (JSON.parse(text) as Lease) }
  }

  const store = (from: string | null, seenAt: number): Promise<boolean> =>
    moveSetting(database.write, LEASE, {
      from,
      to: JSON.stringify({ node, seenAt } satisfies Lease),
    })

  return {
    async hold() {
      const now = clock.nowSeconds()
      const { text, lease } = await read()
      const age = lease === null ? Infinity : Math.abs(now - lease.seenAt)
      if (lease?.node === node && age < RENEW_SECONDS) return true
      if (lease !== null && lease.node !== node && age < LEASE_SECONDS) return false
      return store(text, now)
    },
    async giveBack() {
      const { text, lease } = await read()
      if (lease?.node === node) await store(text, 0)
    },
  }
}
