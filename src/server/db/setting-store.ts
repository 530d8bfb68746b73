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

/** Rejects when the database does not answer. */
export async function ping(db: Queries): Promise<void> {
  await sql`SELECT 1`.execute(db)
}
