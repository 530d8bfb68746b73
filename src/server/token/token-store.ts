import type { Selectable } from 'kysely'
import type { CaptureMode } from '../../contract/log.ts'
import { PAGE_SIZE, SEARCH_ROWS_MAX } from '../../contract/paging.ts'
import { TOKEN_PREFIX, TokenStatus, type TokenOrder } from '../../contract/token.ts'
import type { Queries } from '../db/database.ts'
import { takeId } from '../db/ids.ts'
import type { TokenRow } from '../db/schema.ts'
import { contains, hasKeyEnd } from '../db/sql-text.ts'
import { captureMode } from '../log/body/body-store.ts'

/** A token with all that is stored of it but its limits. */
export interface StoredToken extends Selectable<TokenRow> {
  /** The group that its calls belong to; empty if they belong to the groups of its owner. */
  group: string
  /** How much of its calls is captured. */
  capture: CaptureMode
}

/** An adopted table may have more columns, such as `group`, which are not read. */
const COLUMNS = [
  'tokens.id',
  'tokens.user_id',
  'tokens.key',
  'tokens.status',
  'tokens.name',
  'tokens.created_time',
  'tokens.accessed_time',
  'tokens.expired_time',
  'tokens.remain_quota',
  'tokens.unlimited_quota',
  'tokens.used_quota',
  'tokens.models',
  'tokens.subnet',
  'tokens.limited',
] as const

const tokens = (db: Queries) =>
  db
    .selectFrom('tokens')
    .leftJoin('token_groups', 'token_groups.token_id', 'tokens.id')
    .leftJoin('token_captures', 'token_captures.token_id', 'tokens.id')
    .select(COLUMNS)
    .select(['token_groups.group', 'token_captures.mode'])

type JoinedRow = Selectable<TokenRow> & { group: string | null; mode: string | null }

/** PostgreSQL pads `char(48)` with blanks when an adopted key is shorter. */
const stored = ({ mode, ...row }: JoinedRow): StoredToken => ({
  ...row,
  key: row.key.trimEnd(),
  group: row.group ?? '',
  capture: captureMode(mode),
})

export async function tokenPage(
  db: Queries,
  userId: number,
  { page, order }: { page: number; order: TokenOrder },
): Promise<{ rows: StoredToken[]; total: number }> {
  let query = tokens(db).where('user_id', '=', userId)
  if (order === 'remain_quota') {
    // Unlimited tokens come first, regardless of their number.
    query = query.orderBy('unlimited_quota', 'desc').orderBy('remain_quota', 'desc')
  }
  if (order === 'used_quota') query = query.orderBy('used_quota', 'desc')
  const [rows, total] = await Promise.all([
    query
      .orderBy('id', 'desc')
      .limit(PAGE_SIZE)
      .offset(page * PAGE_SIZE)
      .execute(),
    db
      .selectFrom('tokens')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .where('user_id', '=', userId)
      .executeTakeFirstOrThrow(),
  ])
  return { rows: rows.map(stored), total: total.count }
}

/** Removes the prefix of a key as clients write it. */
const withoutPrefix = (text: string): string =>
  text.startsWith(TOKEN_PREFIX) ? text.slice(TOKEN_PREFIX.length) : text

/** Finds a user's tokens by a part of the name, by an end of the key, or by the group. */
export async function searchTokens(
  db: Queries,
  userId: number,
  keyword: string,
): Promise<StoredToken[]> {
  const rows = await tokens(db)
    .where('user_id', '=', userId)
    .where(({ or, eb }) =>
      or([
        contains('name', keyword),
        hasKeyEnd('key', withoutPrefix(keyword)),
        eb('token_groups.group', '=', keyword),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(SEARCH_ROWS_MAX)
    .execute()
  return rows.map(stored)
}

/** Returns a token of this owner; tokens of others are not found. */
export async function findToken(
  db: Queries,
  userId: number,
  id: number,
): Promise<StoredToken | null> {
  const row = await tokens(db).where('id', '=', id).where('user_id', '=', userId).executeTakeFirst()
  return row === undefined ? null : stored(row)
}

/** Returns a token of any owner; for administrators. */
export async function findTokenById(db: Queries, id: number): Promise<StoredToken | null> {
  const row = await tokens(db).where('id', '=', id).executeTakeFirst()
  return row === undefined ? null : stored(row)
}

/** Returns the newest of an owner's tokens with this name. */
export async function findTokenByName(
  db: Queries,
  userId: number,
  name: string,
): Promise<StoredToken | null> {
  const row = await tokens(db)
    .where('user_id', '=', userId)
    .where('name', '=', name)
    .orderBy('id', 'desc')
    .executeTakeFirst()
  return row === undefined ? null : stored(row)
}

/**
 * Whose token this is, and what it may do; for the relay. Returns the token of the first key that
 * exists.
 */
export async function findTokenByKey(db: Queries, ...keys: string[]): Promise<StoredToken | null> {
  const rows = await tokens(db).where('tokens.key', 'in', keys).execute()
  const found = rows.map(stored)
  const [first = null] = keys.flatMap((key) => found.filter((token) => token.key === key))
  return first
}

export interface NewToken {
  user_id: number
  key: string
  name: string
  created_time: number
  expired_time: number
  remain_quota: number
  unlimited_quota: boolean
  models: string
  subnet: string
}

/** Inserts a token; `openToken` books its quota in the same transaction. */
export async function insertToken(db: Queries, token: NewToken): Promise<StoredToken> {
  const row = {
    ...token,
    id: await takeId(db, 'tokens'),
    status: TokenStatus.enabled,
    accessed_time: token.created_time,
    used_quota: 0,
    limited: null,
  }
  await db.insertInto('tokens').values(row).execute()
  return { ...row, group: '', capture: 'off' }
}

/** Columns that an owner can change; quota changes go through the ledger. */
export type TokenChanges = Pick<
  StoredToken,
  'name' | 'expired_time' | 'unlimited_quota' | 'models' | 'subnet'
>

export async function updateToken(
  db: Queries,
  userId: number,
  id: number,
  changes: TokenChanges,
): Promise<boolean> {
  const result = await db
    .updateTable('tokens')
    .set(changes)
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export async function setTokenStatus(db: Queries, id: number, status: number): Promise<void> {
  await db.updateTable('tokens').set({ status }).where('id', '=', id).execute()
}

/**
 * Stores that a token has expired or is exhausted. Returns false if it does not apply: the token
 * was changed meanwhile, or running calls hold points that may be returned.
 */
export async function markToken(db: Queries, id: number, status: number): Promise<boolean> {
  let update = db
    .updateTable('tokens')
    .set({ status })
    .where('id', '=', id)
    // Also if already stored: several parallel calls may find it, and each needs the result.
    .where('status', 'in', [TokenStatus.enabled, status])
  if (status === TokenStatus.exhausted) {
    update = update
      .where('remain_quota', '<=', 0)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('reservations')
              .select('request_id')
              .where('token_id', '=', id)
              .where('token_amount', '>', 0),
          ),
        ),
      )
  }
  const { numUpdatedRows } = await update.executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function deleteToken(db: Queries, userId: number, id: number): Promise<boolean> {
  const result = await db
    .deleteFrom('tokens')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}
