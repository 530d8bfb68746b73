import { sql } from 'kysely'
import { z } from 'zod'
import type { Queries } from '../../db/database.ts'
import { insertPasskey, type StoredPasskey } from '../../passkey/passkey-store.ts'
import { about, aboutLoss, type Finding } from '../finding-store.ts'
import type { FoundTables } from '../found-tables.ts'
import { isUsableUser } from './carry-over-store.ts'
import { readJson } from './json-column.ts'

/**
 * Takes over authenticator apps, backup codes and passkeys: New API's `model/twofa.go` (commit
 * 0417e0b), `common/totp.go` (commit bf4dcbc), `model/passkey.go` (commit 2499e4f) and
 * `service/passkey/service.go` (commit 0dbbd16) of https://github.com/QuantumNous/new-api, and
 * `users.totp_secret` of https://github.com/Laisky/one-api (`model/user.go`, commit 041e8a9; SHA-1,
 * 6 digits, 30 seconds). Everything else that looks like a second factor is reported as a loss.
 */

const TEXTS = {
  app: 'users have an authenticator app, which is taken over',
  badSecret:
    'users have a second factor that cannot be read; it is dropped, so the password is enough until they set one up again',
  otherTable: (table: string) =>
    `rows of the table ${table} look like second factors; they are dropped, so the password is enough until their users set one up again`,
  code: 'unused backup codes are taken over',
  badCode:
    'unused backup codes are not bcrypt hashes; they are dropped, and their users should make new ones',
  passkey: 'passkeys are taken over; they work only if the host name of the server stays the same',
  badPasskey: 'passkeys cannot be read; they are dropped, and their users should add new ones',
  otherHost: (host: string, here: string) =>
    `passkeys belong to the host name ${host}, but ServerAddress has ${here}; they are dropped, and their users should add new ones`,
}

/** RFC 4648 without lower case; New API writes it without padding. */
const BASE32 = /^[A-Z2-7]{16,}=*$/
/** New API writes bcrypt, which the recovery codes check. */
const BCRYPT = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/

/** Names of tables and of columns of users for second factors of any program. */
const FACTOR_NAME =
  /(?:^|_)(?:2fas?|two_?fas?|(?:two|second)_?factors?|mfas?|totps?|otps?|passkeys?|webauthn)(?:_|$)/

/** Whether a table that One API lacks may store second factors. */
export const isFactorTable = (table: string): boolean => FACTOR_NAME.test(table)

/** Whether a column of `users` may belong to a second factor. */
export const isFactorColumn = (name: string): boolean => FACTOR_NAME.test(name)

const SECRET_COLUMNS = [
  ['two_fas', 'secret'],
  ['users', 'totp_secret'],
] as const

/** Tables whose rows are taken over. */
const KNOWN_TABLES = ['two_fas', 'two_fa_backup_codes', 'passkey_credentials']

interface Factors {
  apps: { userId: number; secret: string }[]
  codes: { userId: number; hash: string }[]
  passkeys: StoredPasskey[]
  findings: Finding[]
}

/** Reports the second factors that adoption finds, and what becomes of them. */
export async function factorFindings(db: Queries, tables: FoundTables): Promise<Finding[]> {
  return (await readFactors(db, tables)).findings
}

/** Writes the second factors to our tables. Runs after the migrations. Returns what was done. */
export async function carryFactors(
  trx: Queries,
  { tables, nowSeconds }: { tables: FoundTables; nowSeconds: number },
): Promise<Finding[]> {
  const { apps, codes, passkeys, findings } = await readFactors(trx, tables)
  for (const { userId, secret } of apps) {
    await trx
      .insertInto('second_factors')
      .values({
        user_id: userId,
        secret,
        enabled_at: nowSeconds,
        last_step: 0,
        created_at: nowSeconds,
      })
      .execute()
  }
  for (const { userId, hash } of codes) {
    await trx.insertInto('recovery_codes').values({ user_id: userId, code_hash: hash }).execute()
  }
  for (const passkey of passkeys) await insertPasskey(trx, passkey)
  return findings
}

async function readFactors(db: Queries, tables: FoundTables): Promise<Factors> {
  const found = await readApps(db, tables)
  const apps = found.filter(({ secret }) => BASE32.test(secret))
  const owners = new Set(apps.map(({ userId }) => userId))
  const flagged = await usersWithFlag(db, tables)
  const withoutApp = new Set(
    [...found.map(({ userId }) => userId), ...flagged].filter((userId) => !owners.has(userId)),
  )
  const allCodes = hasColumns(tables, 'two_fa_backup_codes', 'user_id', 'is_used')
    ? await readCodes(db, tables)
    : []
  const ownedCodes = allCodes.filter(({ userId }) => owners.has(userId))
  const codes = ownedCodes.filter(({ hash }) => BCRYPT.test(hash))
  const rows = hasColumns(tables, 'passkey_credentials', 'user_id')
    ? await readPasskeys(db, tables)
    : []
  const readable = rows.map(adoptedPasskey).filter((passkey) => passkey !== null)
  const hosts = hasColumns(tables, 'options', 'key', 'value') ? await passkeyHosts(db) : null
  const namesOf = (users: readonly { userId: number }[]): string[] =>
    users.map(({ userId }) => String(userId))
  const findings = [
    about(TEXTS.app, namesOf(apps)),
    aboutLoss(TEXTS.badSecret, [...withoutApp].toSorted((a, b) => a - b).map(String)),
    about(TEXTS.code, namesOf(codes)),
    aboutLoss(TEXTS.badCode, namesOf(ownedCodes.filter(({ hash }) => !BCRYPT.test(hash)))),
    hosts === null
      ? about(TEXTS.passkey, namesOf(readable))
      : aboutLoss(TEXTS.otherHost(hosts.host, hosts.here), namesOf(readable)),
    aboutLoss(
      TEXTS.badPasskey,
      rows.filter((row) => adoptedPasskey(row) === null).map((row) => String(row.user_id)),
    ),
    ...(await otherTables(db, tables)),
  ]
  return {
    apps,
    codes,
    passkeys: hosts === null ? readable : [],
    findings: findings.filter(({ count }) => count > 0),
  }
}

/**
 * Returns the columns of the program that used this database before in which secrets of
 * authenticator apps remain, with their number. They are kept for a return to that program.
 */
export async function leftSecrets(
  db: Queries,
  tables: FoundTables,
): Promise<{ column: string; count: number }[]> {
  const left: { column: string; count: number }[] = []
  for (const [table, name] of SECRET_COLUMNS) {
    if (tables.get(table)?.has(name) !== true) continue
    const { rows } = await sql<{ count: number }>`
      SELECT count(*) AS count FROM ${sql.table(table)}
      WHERE coalesce(CAST(${sql.ref(name)} AS text), '') <> ''`.execute(db)
    left.push({ column: `${table}.${name}`, count: Number(rows[0]?.count ?? 0) })
  }
  return left.filter(({ count }) => count > 0)
}

const hasColumns = (tables: FoundTables, table: string, ...names: string[]): boolean =>
  names.every((name) => tables.get(table)?.has(name) === true)

const isTrue = (column: string) => sql`CAST(${sql.ref(column)} AS text) IN ('1', 't', 'true')`
/** Rows of users that are usable here; GORM only marks deleted rows. */
const isLive = (tables: FoundTables, table: string) => sql`
  user_id IN (SELECT id FROM users WHERE ${isUsableUser(tables)})
  AND ${hasColumns(tables, table, 'deleted_at') ? sql`deleted_at IS NULL` : sql`true`}`

/** Returns the column as a text, empty if it or its value is missing. */
const textOf = (tables: FoundTables, table: string, name: string) =>
  hasColumns(tables, table, name) ? sql`coalesce(CAST(${sql.ref(name)} AS text), '')` : sql`''`

/** Returns the enabled authenticator apps, one for each user. */
async function readApps(db: Queries, tables: FoundTables): Promise<Factors['apps']> {
  const secrets = new Map<number, string>()
  if (hasColumns(tables, 'users', 'totp_secret')) {
    const { rows } = await sql<{ id: number; secret: string }>`
      SELECT id, CAST(totp_secret AS text) AS secret FROM users
      WHERE coalesce(CAST(totp_secret AS text), '') <> '' AND ${isUsableUser(tables)} ORDER BY id`.execute(
      db,
    )
    for (const { id, secret } of rows) secrets.set(Number(id), secret.trim())
  }
  if (hasColumns(tables, 'two_fas', 'user_id', 'is_enabled')) {
    const { rows } = await sql<{ user_id: number; secret: string }>`
      SELECT user_id, max(${textOf(tables, 'two_fas', 'secret')}) AS secret FROM two_fas
      WHERE ${isTrue('is_enabled')} AND ${isLive(tables, 'two_fas')}
      GROUP BY user_id ORDER BY user_id`.execute(db)
    for (const row of rows) secrets.set(Number(row.user_id), row.secret.trim())
  }
  return [...secrets].map(([userId, secret]) => ({ userId, secret }))
}

/** Returns users for whom another column of `users` says that they have a second factor. */
async function usersWithFlag(db: Queries, tables: FoundTables): Promise<number[]> {
  const columns = [...(tables.get('users') ?? [])].filter(
    (name) => isFactorColumn(name) && name !== 'totp_secret',
  )
  if (columns.length === 0) return []
  const isSet = columns.map(
    (name) => sql`lower(coalesce(CAST(${sql.ref(name)} AS text), '')) NOT IN
      ('', '0', 'f', 'false', 'null', '[]', '{}')`,
  )
  const { rows } = await sql<{ id: number }>`
    SELECT id FROM users WHERE ${isUsableUser(tables)} AND (${sql.join(isSet, sql` OR `)})
    ORDER BY id`.execute(db)
  return rows.map(({ id }) => Number(id))
}

/** Reports tables with second factors that are not taken over, by the ids of their users. */
async function otherTables(db: Queries, tables: FoundTables): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const [table, columns] of tables) {
    if (!isFactorTable(table) || KNOWN_TABLES.includes(table)) continue
    const [name, where] = columns.has('user_id')
      ? [
          sql`CAST(user_id AS text)`,
          sql`CAST(user_id AS text) IN (SELECT CAST(id AS text) FROM users WHERE ${isUsableUser(tables)})`,
        ]
      : [sql`''`, sql`true`]
    const { rows } = await sql<{ name: string }>`
      SELECT ${name} AS name FROM ${sql.table(table)} WHERE ${where} ORDER BY 1`.execute(db)
    const names = rows.map((row) => row.name).filter((text) => text !== '')
    findings.push({ ...aboutLoss(TEXTS.otherTable(table), names), count: rows.length })
  }
  return findings
}

/**
 * Returns the host name that passkeys are bound to and the one that they need here; null if they
 * are the same, or one is unknown.
 */
async function passkeyHosts(db: Queries): Promise<{ host: string; here: string } | null> {
  const { rows } = await sql<{ key: string; value: string }>`
    SELECT CAST("key" AS text) AS "key", coalesce(CAST(value AS text), '') AS value FROM options
    WHERE "key" IN ('passkey.rp_id', 'ServerAddress')`.execute(db)
  const options = new Map(rows.map(({ key, value }) => [key, value.trim()]))
  const host = (options.get('passkey.rp_id') ?? '').replace(/:\d+$/, '').toLowerCase()
  const here = URL.parse(options.get('ServerAddress') ?? '')?.hostname ?? ''
  return host === '' || here === '' || host === here ? null : { host, here }
}

async function readCodes(db: Queries, tables: FoundTables): Promise<Factors['codes']> {
  const { rows } = await sql<{ user_id: number; code_hash: string }>`
    SELECT DISTINCT user_id, ${textOf(tables, 'two_fa_backup_codes', 'code_hash')} AS code_hash
    FROM two_fa_backup_codes
    WHERE NOT ${isTrue('is_used')} AND ${isLive(tables, 'two_fa_backup_codes')}
    ORDER BY user_id`.execute(db)
  return rows.map((row) => ({ userId: Number(row.user_id), hash: row.code_hash }))
}

/** A passkey as New API stores it: bytes in base64 with padding. */
interface FoundPasskey {
  user_id: number
  credential_id: string
  public_key: string
  sign_count: number
  transports: string
  created_at: string
  last_used_at: string
}

async function readPasskeys(db: Queries, tables: FoundTables): Promise<FoundPasskey[]> {
  const text = (name: string) =>
    sql`${textOf(tables, 'passkey_credentials', name)} AS ${sql.ref(name)}`
  const signCount = hasColumns(tables, 'passkey_credentials', 'sign_count')
    ? sql`coalesce(sign_count, 0)`
    : sql`0`
  const { rows } = await sql<FoundPasskey>`
    SELECT user_id, ${text('credential_id')}, ${text('public_key')}, ${signCount} AS sign_count,
      ${text('transports')}, ${text('created_at')}, ${text('last_used_at')}
    FROM passkey_credentials WHERE ${isLive(tables, 'passkey_credentials')}
    ORDER BY user_id`.execute(db)
  return rows
}

/** Converts a passkey of New API; null if it cannot be read. */
export function adoptedPasskey(row: FoundPasskey): StoredPasskey | null {
  const [credentialId = '', publicKey = ''] = [row.credential_id, row.public_key].map((text) =>
    Buffer.from(text, 'base64').toString('base64url'),
  )
  if (credentialId === '' || publicKey === '') return null
  return {
    credentialId,
    userId: Number(row.user_id),
    name: 'Passkey',
    publicKey,
    counter: Number(row.sign_count),
    transports: readJson(z.array(z.string()), row.transports) ?? [],
    createdAt: secondsOf(row.created_at),
    usedAt: secondsOf(row.last_used_at),
  }
}

/** Seconds of a time as databases print it; 0 if missing or in another form. */
function secondsOf(text: string): number {
  const parts = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(?:\.\d+)? ?([+-]\d\d)?:?(\d\d)?/.exec(text)
  if (parts === null) return 0
  const [, day, time, hours = '+00', minutes = '00'] = parts
  return Math.floor(Date.parse(`${day}T${time}${hours}:${minutes}`) / 1000)
}
