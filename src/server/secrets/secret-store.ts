import { sql } from 'kysely'
import { fieldPlaces } from '../../contract/field-title.ts'
import { AppError } from '../app-error.ts'
import type { Queries } from '../db/database.ts'
import { SECRETS_KEY_ID } from '../db/setting-names.ts'
import { readSetting } from '../db/setting-store.ts'
import { LOST_AFTER_SECONDS, POSTGRES_NOW } from '../ledger/heartbeat.ts'
import { keyIdOf, startOf } from './keyring.ts'
import { keyringIn } from './keyring-plugin.ts'
import {
  placeOf,
  secretColumns,
  type SecretColumn,
  type SecretColumnName,
} from './secret-columns.ts'

/**
 * The only place where stored secrets are encrypted and decrypted. Stores pass a value through
 * `decryptionIn` after reading and through `encryptionIn` before writing; both leave values alone
 * that are not secret. A setting names the key for new values, so that all processes change over
 * at the same time; without it nothing is encrypted.
 */

/** Converts the value of a column and row. */
export type ConvertSecret = (name: SecretColumnName, rowId: string | number, text: string) => string

/** Returns the function that decrypts values read through this handle. */
export function decryptionIn(db: Queries): ConvertSecret {
  const keyring = keyringIn(db)
  return (name, rowId, text) => keyring.decrypt(text, placeOf(name, rowId))
}

/** Returns the function that encrypts values to be written in this transaction. */
export async function encryptionIn(trx: Queries): Promise<ConvertSecret> {
  const keyring = keyringIn(trx)
  const keyId = await secretsKeyId(trx)
  return (name, rowId, text) => {
    const { isSecret }: SecretColumn = secretColumns[name]
    if (text === '' || !isSecret(String(rowId), text)) return text
    if (keyId !== '') return keyring.encrypt(text, placeOf(name, rowId), keyId)
    // Would be read as an encrypted value.
    if (keyIdOf(text) !== null) throw looksEncrypted(secretColumns[name].column)
    return text
  }
}

const looksEncrypted = (field: string): AppError =>
  new AppError('invalid_field', {
    ...fieldPlaces(field),
    problemZh: '不能是已加密的值，请填写原文',
    problemEn: 'it is an encrypted value; enter the original one',
  })

/** Returns the id of the key that new secrets are encrypted with; empty if encryption is off. */
export const secretsKeyId = async (db: Queries): Promise<string> =>
  (await readSetting(db, SECRETS_KEY_ID)) ?? ''

/** Changes the key for new secrets; an empty id turns encryption off. */
export async function saveSecretsKeyId(db: Queries, keyId: string): Promise<void> {
  await db
    .insertInto('settings')
    .values({ name: SECRETS_KEY_ID, value: keyId })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: keyId }))
    .execute()
}

/** A value of a secret column as it is stored. */
export interface StoredSecret {
  rowId: string | number
  text: string
}

/** Returns values of a column that begin with a text, in the order of their rows. */
export async function storedSecrets(
  db: Queries,
  name: SecretColumnName,
  { start, after, limit }: { start: string; after: string | number | null; limit: number },
): Promise<StoredSecret[]> {
  const { table, column, id }: SecretColumn = secretColumns[name]
  const rest = after === null ? sql`` : sql`AND ${sql.ref(id)} > ${after}`
  const { rows } = await sql<{ row_id: string | number; text: string }>`
    SELECT ${sql.ref(id)} AS row_id, ${sql.ref(column)} AS text FROM ${sql.table(table)}
    WHERE ${sql.ref(column)} <> '' AND ${sql.ref(column)} LIKE ${`${start}%`} ${rest}
    ORDER BY ${sql.ref(id)} LIMIT ${limit}`.execute(db)
  return rows.map(({ row_id, text }) => ({ rowId: row_id, text }))
}

/** Compare-and-set: replaces a stored value. Returns false if it was changed meanwhile. */
export async function replaceSecret(
  db: Queries,
  name: SecretColumnName,
  { rowId, from, to }: { rowId: string | number; from: string; to: string },
): Promise<boolean> {
  const { table, column, id }: SecretColumn = secretColumns[name]
  const { numAffectedRows } = await sql`
    UPDATE ${sql.table(table)} SET ${sql.ref(column)} = ${to}
    WHERE ${sql.ref(id)} = ${rowId} AND ${sql.ref(column)} = ${from}`.execute(db)
  return numAffectedRows === 1n
}

/** Returns the ids of channels with an encrypted key that has this line. */
export async function channelsWithKey(db: Queries, line: string): Promise<number[]> {
  if (keyringIn(db).ids.length === 0) return []
  const decrypt = decryptionIn(db)
  const rows = await db
    .selectFrom('channels')
    .select(['id', 'key'])
    .where('key', 'like', `${startOf()}%`)
    .execute()
  return rows
    .filter(({ id, key }) => decrypt('channels.key', id, key).split('\n').includes(line))
    .map(({ id }) => id)
}

/**
 * Returns the names of running servers that lack a key. On SQLite the caller checks whether a
 * server runs; only the newest one has a row.
 */
export async function serversWithout(
  db: Queries,
  engine: 'sqlite' | 'postgres',
  keyId: string,
): Promise<string[]> {
  const rows = await db
    .selectFrom('nodes')
    .select(['name', 'secrets_keys'])
    .$if(engine === 'postgres', (query) =>
      query.where('seen_at', '>=', sql<number>`${POSTGRES_NOW} - ${LOST_AFTER_SECONDS}::bigint`),
    )
    .execute()
  return rows
    .filter(({ secrets_keys }) => !(secrets_keys ?? '').split(',').includes(keyId))
    .map(({ name }) => name)
}

/** Stores the key ids of the only server on a SQLite file; on PostgreSQL heartbeats carry them. */
export async function noteServersKeys(
  db: Queries,
  node: string,
  nowSeconds: number,
): Promise<void> {
  await db.deleteFrom('nodes').execute()
  const secrets_keys = keyringIn(db).ids.join(',')
  await db.insertInto('nodes').values({ name: node, seen_at: nowSeconds, secrets_keys }).execute()
}
