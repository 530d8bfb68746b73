import { sql, type Selectable } from 'kysely'
import type { CaptureMode } from '../../contract/log.ts'
import { PAGE_SIZE, SEARCH_ROWS_MAX } from '../../contract/paging.ts'
import { NEVER_EXPIRES, TOKEN_PREFIX, TokenStatus, type TokenOrder } from '../../contract/token.ts'
import type { Queries } from '../db/database.ts'
import { takeId } from '../db/ids.ts'
import type { TokenRow } from '../db/schema.ts'
import { contains, hasKeyEnd } from '../db/sql-text.ts'
import { captureMode } from '../log/body/body-store.ts'
import { isHashedKey, type StoredKey, type TokenKeys } from './token-key.ts'

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
  'tokens.gh_key_hint',
  'tokens.gh_previous_key',
  'tokens.gh_previous_key_until',
  'tokens.gh_expiry_reminded',
  'tokens.gh_last_ip',
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
  { keyword, hash }: { keyword: string; hash: TokenKeys['hash'] },
): Promise<StoredToken[]> {
  const key = withoutPrefix(keyword)
  const rows = await tokens(db)
    .where('user_id', '=', userId)
    .where(({ or, and, eb }) =>
      or([
        contains('name', keyword),
        and([eb('gh_key_hint', 'is', null), hasKeyEnd('key', key)]),
        hasKeyEnd('gh_key_hint', key),
        eb('key', '=', hash(key)),
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

/** A token, and the key by which it was found. */
export interface FoundToken {
  token: StoredToken
  key: string
}

/**
 * Finds the token of the first key that exists, for the relay: its current key or, until its time
 * is over, the previous one.
 */
export async function findTokenByKey(
  db: Queries,
  keys: readonly string[],
  { hash, nowSeconds }: { hash: TokenKeys['hash']; nowSeconds: number },
): Promise<FoundToken | null> {
  // The stored text of a hashed key is no key itself.
  const texts = keys
    .filter((key) => !isHashedKey(key))
    .flatMap((key) => [
      { key, text: key },
      { key, text: hash(key) },
    ])
  if (texts.length === 0) return null
  const sought = texts.map(({ text }) => text)
  const rows = await tokens(db)
    .where(({ or, eb }) =>
      or([eb('tokens.key', 'in', sought), eb('tokens.gh_previous_key', 'in', sought)]),
    )
    .execute()
  const found = rows.map(stored)
  for (const { key, text } of texts) {
    const token = found.find((one) => one.key === text || previousKey(one, nowSeconds) === text)
    if (token !== undefined) return { token, key }
  }
  return null
}

const previousKey = (token: StoredToken, nowSeconds: number): string | null =>
  (token.gh_previous_key_until ?? 0) > nowSeconds ? token.gh_previous_key : null

/** Replaces the key of a token. The previous one works until `previousUntil`; 0 ends it. */
export async function rotateKey(
  db: Queries,
  { userId, id }: { userId: number; id: number },
  { key, gh_key_hint, previousUntil }: StoredKey & { previousUntil: number },
): Promise<boolean> {
  const keeps = previousUntil > 0
  const result = await db
    .updateTable('tokens')
    .set({
      key,
      gh_key_hint,
      gh_previous_key: keeps ? sql<string>`rtrim("key")` : null,
      gh_previous_key_until: keeps ? previousUntil : null,
    })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Ends the time in which the previous key works. */
export async function endPreviousKey(db: Queries, userId: number, id: number): Promise<boolean> {
  const result = await db
    .updateTable('tokens')
    .set({ gh_previous_key: null, gh_previous_key_until: null })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
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
  gh_key_hint?: string | null
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
    gh_key_hint: token.gh_key_hint ?? null,
    gh_previous_key: null,
    gh_previous_key_until: null,
    gh_expiry_reminded: null,
    gh_last_ip: null,
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
export async function markToken(
  db: Queries,
  id: number,
  { status, nowSeconds }: { status: number; nowSeconds: number },
): Promise<boolean> {
  let update = db
    .updateTable('tokens')
    .set({ status })
    .where('id', '=', id)
    // Also if already stored: several parallel calls may find it, and each needs the result.
    .where('status', 'in', [TokenStatus.enabled, status])
  if (status === TokenStatus.expired) {
    update = update
      .where(sql<number>`coalesce(expired_time, 0)`, '<', nowSeconds)
      .where(sql<number>`coalesce(expired_time, 0)`, '<>', NEVER_EXPIRES)
  }
  if (status === TokenStatus.exhausted) {
    update = update
      .where('remain_quota', '<=', 0)
      .where(({ or, eb }) =>
        or([eb('unlimited_quota', 'is', null), eb('unlimited_quota', '=', false)]),
      )
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
