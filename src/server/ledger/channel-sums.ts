import { PostgresAdapter, sql } from 'kysely'
import type { App } from '../app.ts'
import { AdvisoryLock } from '../db/advisory-locks.ts'
import type { Database, Queries } from '../db/database.ts'

/**
 * On PostgreSQL the ledger's batches leave the amounts of channels in `channel_settled`, because
 * all processes share the rows of channels and would wait for one another there. Every process adds
 * these rows to `channels.used_quota` and `channel_usage_hourly`; they take turns.
 */

const INTERVAL_MS = 2000

/**
 * Adds up what is there now, unless another process is doing so. Does nothing on SQLite, whose
 * batches write the sums themselves.
 */
export async function addChannelSums({
  engine,
  write,
}: Pick<Database, 'engine' | 'write'>): Promise<void> {
  if (engine === 'sqlite') return
  let added = 1
  while (added > 0) {
    const { rows } = await sql<{ added: number }>`
      SELECT gatehouse_channel_sums() AS added`.execute(write)
    added = rows[0]?.added ?? 0
  }
}

/**
 * Waits until no other process adds up, and keeps them from it until the caller's transaction ends.
 */
export async function lockChannelSums(trx: Queries): Promise<void> {
  if (!isPostgres(trx)) return
  await sql`SELECT pg_advisory_xact_lock(${AdvisoryLock.channelSums})`.execute(trx)
}

/** Adds up all that is there in the caller's transaction, for work that needs complete sums. */
export async function addAllChannelSums(trx: Queries): Promise<void> {
  if (!isPostgres(trx)) return
  await lockChannelSums(trx)
  await addChannelSums({ engine: 'postgres', write: trx })
}

const isPostgres = (trx: Queries): boolean => trx.getExecutor().adapter instanceof PostgresAdapter

/** Adds up at regular intervals, and a last time when it is stopped. */
export function startChannelSums({ database, trace }: Pick<App, 'database' | 'trace'>): {
  stop(): Promise<void>
} {
  const add = () =>
    addChannelSums(database).catch((error: unknown) => {
      trace.warn({ err: error }, 'the sums of channels could not be added up; they will be later')
    })
  let running = Promise.resolve()
  let isRunning = false
  const timer = setInterval(() => {
    if (isRunning) return
    isRunning = true
    running = add().finally(() => (isRunning = false))
  }, INTERVAL_MS).unref()
  return {
    async stop() {
      clearInterval(timer)
      await running
      await add()
    },
  }
}
