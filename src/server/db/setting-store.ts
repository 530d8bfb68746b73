import { sql } from 'kysely'
import type { Queries } from './database.ts'

/**
 * Returns a setting of this installation. Creates it at the first use; all processes get the same
 * value.
 */
export async function readOrCreateSetting(
  db: Queries,
  name: string,
  fresh: string,
): Promise<string> {
  await db
    .insertInto('settings')
    .values({ name, value: fresh })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return row.value
}

/** Returns a setting of this installation, or null if not set. */
export async function readSetting(db: Queries, name: string): Promise<string | null> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.value ?? null
}

/** Rejects if the database does not respond. */
export async function ping(db: Queries): Promise<void> {
  await sql`SELECT 1`.execute(db)
}

/**
 * Compare-and-set: writes `to` only if the stored value is still `from` (null if not set). Returns
 * false if another process was faster.
 */
export async function moveSetting(
  db: Queries,
  name: string,
  { from, to }: { from: string | null; to: string },
): Promise<boolean> {
  if (from === null) {
    const made = await db
      .insertInto('settings')
      .values({ name, value: to })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirst()
    return made.numInsertedOrUpdatedRows === 1n
  }
  const moved = await db
    .updateTable('settings')
    .set({ value: to })
    .where('name', '=', name)
    .where('value', '=', from)
    .executeTakeFirst()
  return moved.numUpdatedRows > 0n
}
