import { sql } from 'kysely'
import { z } from 'zod'
import type { Database, Queries } from '../../db/database.ts'
import { moveSetting } from '../../db/setting-store.ts'
import { LOST_AFTER_SECONDS, POSTGRES_NOW } from '../../ledger/heartbeat.ts'

/**
 * Allows one run of each kind at a time per database, in any process. Its progress is stored as a
 * setting, so that every process can report it.
 */

const StoredRun = z.object({
  /** Process of the run. */
  node: z.string(),
  running: z.boolean(),
  scope: z.string(),
  done: z.int(),
  total: z.int(),
  failed: z.int(),
  /** Missing in rows of earlier versions. */
  firstFailure: z
    .object({ channel: z.string(), zh: z.string(), en: z.string() })
    .nullable()
    .default(null),
})
export type StoredRun = z.infer<typeof StoredRun>

export type RunName = 'channel_test' | 'channel_balance'

const settingOf = (name: RunName): string => `run:${name}`

/** A run without visits. */
export const IDLE: StoredRun = {
  node: '',
  running: false,
  scope: '',
  done: 0,
  total: 0,
  failed: 0,
  firstFailure: null,
}

function parseRun(text: string | undefined): StoredRun {
  if (text === undefined) return IDLE
  try {
    return StoredRun.catch(IDLE).parse(JSON.parse(text))
  } catch {
    return IDLE
  }
}

/**
 * Whether the process of a stored run is alive. On SQLite there is one process, so a run of another
 * is left over from before a restart.
 */
async function isAlive(db: Queries, engine: Database['engine'], node: string): Promise<boolean> {
  if (engine === 'sqlite') return false
  const seen = await db
    .selectFrom('nodes')
    .select('name')
    .where('name', '=', node)
    .where('seen_at', '>=', sql<number>`${POSTGRES_NOW} - ${LOST_AFTER_SECONDS}::bigint`)
    .executeTakeFirst()
  return seen !== undefined
}

/** Claims the run for a process. Returns false if another live process runs it. */
export async function takeRun(
  { write, engine }: Pick<Database, 'write' | 'engine'>,
  name: RunName,
  run: StoredRun,
): Promise<boolean> {
  return write.transaction().execute(async (trx) => {
    await trx
      .insertInto('settings')
      .values({ name: settingOf(name), value: JSON.stringify(IDLE) })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute()
    // Updating the column to its own value takes the row lock, so that of two claims the second
    // sees the first.
    const row = await trx
      .updateTable('settings')
      .set((eb) => ({ value: eb.ref('value') }))
      .where('name', '=', settingOf(name))
      .returning('value')
      .executeTakeFirst()
    const last = parseRun(row?.value)
    if (last.running && last.node !== run.node && (await isAlive(trx, engine, last.node))) {
      return false
    }
    await trx
      .updateTable('settings')
      .set({ value: JSON.stringify(run) })
      .where('name', '=', settingOf(name))
      .execute()
    return true
  })
}

/** Stores the progress of a run. Returns false if another process has claimed it. */
export const saveRun = (
  db: Queries,
  name: RunName,
  { was, is }: { was: StoredRun; is: StoredRun },
): Promise<boolean> =>
  moveSetting(db, settingOf(name), { from: JSON.stringify(was), to: JSON.stringify(is) })

/** Returns the current or last run; not running if its process is dead. */
export async function readRun(
  { read, engine }: Pick<Database, 'read' | 'engine'>,
  name: RunName,
  ownNode: string,
): Promise<StoredRun> {
  const row = await read
    .selectFrom('settings')
    .select('value')
    .where('name', '=', settingOf(name))
    .executeTakeFirst()
  const run = parseRun(row?.value)
  const goesOn = run.running && (run.node === ownNode || (await isAlive(read, engine, run.node)))
  return { ...run, running: goesOn }
}
