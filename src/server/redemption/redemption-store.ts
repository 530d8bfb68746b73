import type { Selectable } from 'kysely'
import { PAGE_SIZE, SEARCH_ROWS_MAX } from '../../contract/paging.ts'
import { RedemptionStatus } from '../../contract/redemption.ts'
import type { Queries } from '../db/database.ts'
import { redemptionEntry } from '../ledger/balances.ts'
import { takeIds } from '../db/ids.ts'
import type { RedemptionRow } from '../db/schema.ts'
import { contains, hasKeyEnd } from '../db/sql-text.ts'

export type StoredRedemption = Selectable<RedemptionRow>

/** PostgreSQL pads `char(32)` with blanks if an adopted key is shorter. */
const clean = (row: StoredRedemption): StoredRedemption => ({ ...row, key: row.key.trimEnd() })

export async function redemptionPage(
  db: Queries,
  page: number,
): Promise<{ rows: StoredRedemption[]; total: number }> {
  const [rows, total] = await Promise.all([
    db
      .selectFrom('redemptions')
      .selectAll()
      .orderBy('id', 'desc')
      .limit(PAGE_SIZE)
      .offset(page * PAGE_SIZE)
      .execute(),
    db
      .selectFrom('redemptions')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow(),
  ])
  return { rows: rows.map(clean), total: total.count }
}

/** Adds the users who redeemed the codes, from the ledger. */
export async function withUsers(
  db: Queries,
  rows: readonly StoredRedemption[],
): Promise<(StoredRedemption & { used_user_id?: number; used_username?: string })[]> {
  const used = rows.filter(({ status }) => status === RedemptionStatus.used)
  if (used.length === 0) return [...rows]
  const credits = await db
    .selectFrom('ledger')
    .leftJoin('users', 'users.id', 'ledger.user_id')
    .select(['ledger.request_id', 'ledger.user_id', 'users.username'])
    .where(
      'ledger.request_id',
      'in',
      used.map(({ id }) => redemptionEntry(id)),
    )
    .execute()
  const byEntry = new Map(credits.map((credit) => [credit.request_id, credit]))
  return rows.map((row) => {
    const credit = byEntry.get(redemptionEntry(row.id))
    if (credit === undefined) return row
    return { ...row, used_user_id: credit.user_id, used_username: credit.username ?? '' }
  })
}

/** Finds codes by id, by a part of the name, or by an end of the code. */
export async function searchRedemptions(db: Queries, keyword: string): Promise<StoredRedemption[]> {
  const rows = await db
    .selectFrom('redemptions')
    .selectAll()
    .where(({ or, eb }) =>
      or([
        ...(/^\d{1,15}$/.test(keyword) ? [eb('id', '=', Number(keyword))] : []),
        contains('name', keyword),
        hasKeyEnd('key', keyword),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(SEARCH_ROWS_MAX)
    .execute()
  return rows.map(clean)
}

export async function findRedemption(db: Queries, id: number): Promise<StoredRedemption | null> {
  const row = await db.selectFrom('redemptions').selectAll().where('id', '=', id).executeTakeFirst()
  return row === undefined ? null : clean(row)
}

/**
 * Returns the row and locks it until the transaction ends, so that it is not redeemed or changed
 * meanwhile.
 */
export async function lockRedemption(trx: Queries, id: number): Promise<StoredRedemption | null> {
  // Updating a column to its own value takes the row lock on PostgreSQL; on SQLite the transaction
  // holds the file's write lock.
  const row = await trx
    .updateTable('redemptions')
    .set((eb) => ({ status: eb.ref('status') }))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row === undefined ? null : clean(row)
}

/** Inserts a code for each key, in order. Returns the ids. */
export async function insertRedemptions(
  trx: Queries,
  keys: readonly string[],
  common: { user_id: number; name: string; quota: number; created_time: number },
): Promise<number[]> {
  const ids = await takeIds(trx, 'redemptions', keys.length)
  const rows = keys.flatMap((key, index): StoredRedemption[] => {
    const id = ids[index]
    if (id === undefined) return []
    return [{ ...common, id, key, status: RedemptionStatus.unused, redeemed_time: 0 }]
  })
  await trx.insertInto('redemptions').values(rows).execute()
  return ids
}

/** Writes only the given columns. */
export async function updateRedemption(
  trx: Queries,
  id: number,
  changes: Partial<Pick<StoredRedemption, 'name' | 'quota' | 'status'>>,
): Promise<void> {
  await trx.updateTable('redemptions').set(changes).where('id', '=', id).execute()
}

export async function deleteRedemption(trx: Queries, id: number): Promise<void> {
  await trx.deleteFrom('redemptions').where('id', '=', id).execute()
}
