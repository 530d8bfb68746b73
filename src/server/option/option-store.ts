import { PostgresAdapter, sql } from 'kysely'
import type { Queries } from '../db/database.ts'
import { ADOPTED_AT } from '../db/setting-names.ts'
import { readSetting } from '../db/setting-store.ts'
import { decryptionIn, encryptionIn } from '../secrets/secret-store.ts'

/**
 * What One API does where an option was never saved and our default is another one. An adopted
 * installation stays so until an administrator decides: no retries, and models without a price cost
 * this.
 */
const ONE_API_DEFAULTS = { RetryTimes: '0', DefaultModelRatio: '30' }

/** Options that were ever saved, and those that adoption decides. */
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
 * Until the transaction ends no other process saves an option: for a change that depends on what is
 * stored. On SQLite the transaction has the file.
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
