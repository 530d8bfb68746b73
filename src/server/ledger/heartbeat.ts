import { sql } from 'kysely'
import type { Database } from '../db/database.ts'
import { keyringIn } from '../secrets/keyring-plugin.ts'

/**
 * Reports to the other processes on a PostgreSQL database that this process is alive. Times come
 * from the database, so that processes with different clocks do not consider each other dead.
 */
export interface Heartbeat {
  /** Removes the heartbeat, so that other processes may recover its open calls immediately. */
  stop(): Promise<void>
}

export const POSTGRES_NOW = sql<number>`floor(extract(epoch FROM clock_timestamp()))::bigint`

/**
 * Seconds without a heartbeat after which a process counts as dead; allows for several lost
 * heartbeats.
 */
export const LOST_AFTER_SECONDS = 60
const BEAT_INTERVAL_MS = 10_000
/** Seconds after which the name of a dead process is deleted. */
const FORGOTTEN_AFTER_SECONDS = 86_400

/** Resolves after the first heartbeat; from then on this process may reserve. */
export async function createHeartbeat({
  database: { pulse },
  node,
  onFailure,
}: {
  database: Database
  node: string
  /** Called for each failed heartbeat; the next one is sent regardless. */
  onFailure: (error: unknown) => void
}): Promise<Heartbeat> {
  const beat = async () => {
    await pulse
      .insertInto('nodes')
      .values({ name: node, seen_at: POSTGRES_NOW, secrets_keys: keyringIn(pulse).ids.join(',') })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ seen_at: POSTGRES_NOW }))
      .execute()
  }
  await beat()
  await pulse
    .deleteFrom('nodes')
    .where('seen_at', '<', sql<number>`${POSTGRES_NOW} - ${FORGOTTEN_AFTER_SECONDS}::bigint`)
    .execute()
  // Sends one heartbeat at a time. None blocks for long: an unresponsive connection is closed and
  // replaced.
  let beating = Promise.resolve()
  const timer = setInterval(() => {
    beating = beating.then(beat).catch(onFailure)
  }, BEAT_INTERVAL_MS)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await beating
      // If this fails, the other processes wait until the heartbeat expires.
      await pulse.deleteFrom('nodes').where('name', '=', node).execute().catch(onFailure)
    },
  }
}
