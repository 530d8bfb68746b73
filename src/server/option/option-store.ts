import { PostgresAdapter, sql } from 'kysely'
import type { Queries } from '../db/database.ts'
import { ADOPTED_AT } from '../db/setting-names.ts'
import { readSetting } from '../db/setting-store.ts'
import { decryptionIn, encryptionIn } from '../secrets/secret-store.ts'

/**
 * Defaults of One API that differ from ours. They apply to adopted installations until an
 * administrator sets the options: no retries, and this ratio for models without a price.
 */
const ONE_API_DEFAULTS = { RetryTimes: '0', DefaultModelRatio: '30' }

/** Returns the stored options, and One API's defaults in an adopted database. */
export async function loadOptions(db: Queries): Promise<Map<string, string>> {
  const rows = await db.selectFrom('options').select(['key', 'value']).execute()
  const decrypt = decryptionIn(db)
  const adoptedAt = await readSetting(db, ADOPTED_AT)
  return new Map([
    ...(adoptedAt === null ? [] : Object.entries(ONE_API_DEFAULTS)),
    ...rows.map(({ key, value }): [string, string] => [
      key,
      decrypt('options.value', key, value ?? ''),
    ]),
  ])
}

/**
 * Prevents other processes from saving options until the transaction ends, for changes that depend
 * on stored values. On SQLite the transaction already holds the file's write lock.
 */
export async function lockOptions(trx: Queries): Promise<void> {
  if (!(trx.getExecutor().adapter instanceof PostgresAdapter)) return
  await sql`LOCK TABLE options IN SHARE ROW EXCLUSIVE MODE`.execute(trx)
}

export async function saveOption(db: Queries, key: string, text: string): Promise<void> {
  const value = (await encryptionIn(db))('options.value', key, text)
  await db
    .insertInto('options')
    .values({ key, value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute()
}
