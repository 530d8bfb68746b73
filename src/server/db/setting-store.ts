import { sql } from 'kysely'
import type { Queries } from './database.ts'

/** A fact of this installation, made at its first use; all processes get the same. */
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

/** A fact of this installation; null if not set. */
export async function readSetting(db: Queries, name: string): Promise<string | null> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.value ?? null
}

/** Rejects when the database does not answer. */
export async function ping(db: Queries): Promise<void> {
  await sql`SELECT 1`.execute(db)
}

/**
 * Moves a fact on from the value that was read; null: there was none. False: another process was
 * faster.
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
