import { sql } from 'kysely'
import type { Database } from '../db/database.ts'

/**
 * Tells the other processes on a PostgreSQL database that this one lives. Seconds are the
 * database's own, so that machines whose clocks differ do not declare one another dead.
 */
export interface Heartbeat {
  /** Says goodbye: what this process still holds may be recovered at once. */
  stop(): Promise<void>
}

export const POSTGRES_NOW = sql<number>`floor(extract(epoch FROM clock_timestamp()))::bigint`

/** A process that was not seen for so long is dead; several beats may get lost before that. */
export const LOST_AFTER_SECONDS = 60
const BEAT_INTERVAL_MS = 10_000
/** When the name of a dead process is forgotten. */
const FORGOTTEN_AFTER_SECONDS = 86_400

/** Resolves after the first beat: from then on this process may reserve. */
export async function createHeartbeat({
  database: { pulse },
  node,
  onFailure,
}: {
  database: Database
  node: string
  /** Hears of beats that were lost; the next one is tried in any case. */
  onFailure: (error: unknown) => void
}): Promise<Heartbeat> {
  const beat = async () => {
    await pulse
      .insertInto('nodes')
      .values({ name: node, seen_at: POSTGRES_NOW })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ seen_at: POSTGRES_NOW }))
      .execute()
  }
  await beat()
  await pulse
    .deleteFrom('nodes')
    .where('seen_at', '<', sql<number>`${POSTGRES_NOW} - ${FORGOTTEN_AFTER_SECONDS}::bigint`)
    .execute()
  // One at a time. None takes long: a connection that says nothing is given up and replaced.
  let beating = Promise.resolve()
  const timer = setInterval(() => {
    beating = beating.then(beat).catch(onFailure)
  }, BEAT_INTERVAL_MS)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      await beating
      // Without a goodbye the others wait until it is lost.
      await pulse.deleteFrom('nodes').where('name', '=', node).execute().catch(onFailure)
    },
  }
}
