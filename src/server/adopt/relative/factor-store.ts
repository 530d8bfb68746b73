import { sql } from 'kysely'
import { z } from 'zod'
import { UserStatus } from '../../../contract/user.ts'
import type { Queries } from '../../db/database.ts'
import { insertPasskey, type StoredPasskey } from '../../passkey/passkey-store.ts'
import { about, type Finding } from '../finding-store.ts'
import type { FoundTables } from '../found-tables.ts'
import { readJson } from './json-column.ts'

/**
 * Takes over authenticator apps, backup codes and passkeys of New API: `model/twofa.go` (commit
 * 0417e0b), `common/totp.go` (commit bf4dcbc) and `model/passkey.go` (commit 2499e4f) of
 * https://github.com/QuantumNous/new-api.
 */

const TEXTS = {
  app: 'users have an authenticator app, which is taken over',
  badSecret:
    'users have an authenticator app whose secret cannot be read; until they set one up here, the password is enough',
  code: 'unused backup codes are taken over',
  badCode: 'unused backup codes are not bcrypt hashes and are dropped; their users make new ones',
  passkey: 'passkeys are taken over; they work only if the host name of the server stays the same',
  badPasskey: 'passkeys cannot be read and are dropped; their users add new ones',
  totpSecret:
    'users have a second factor, which is not adopted; until they enable it here, the password is enough',
}

/** RFC 4648 without lower case; New API writes it without padding. */
const BASE32 = /^[A-Z2-7]{16,}=*$/
/** New API writes bcrypt, which the recovery codes check. */
const BCRYPT = /^\$2[aby]\$\d\d\$[./A-Za-z0-9]{53}$/

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
  const has = (table: string, ...names: string[]): boolean =>
    names.every((name) => tables.get(table)?.has(name) === true)
  const found = has('two_fas', 'user_id', 'secret', 'is_enabled') ? await readApps(db, has) : []
  const apps = found.filter(({ secret }) => BASE32.test(secret))
  const owners = new Set(apps.map(({ userId }) => userId))
  const allCodes = has('two_fa_backup_codes', 'user_id', 'code_hash', 'is_used')
    ? await readCodes(db, has)
    : []
  const ownedCodes = allCodes.filter(({ userId }) => owners.has(userId))
  const codes = ownedCodes.filter(({ hash }) => BCRYPT.test(hash))
  const rows = has('passkey_credentials', 'user_id', 'credential_id', 'public_key', 'sign_count')
    ? await readPasskeys(db, has)
    : []
  const passkeys = rows.map(adoptedPasskey).filter((passkey) => passkey !== null)
  const namesOf = (users: readonly { userId: number }[]): string[] =>
    users.map(({ userId }) => String(userId))
  const findings = [
    about(TEXTS.app, namesOf(apps)),
    about(TEXTS.badSecret, namesOf(found.filter(({ userId }) => !owners.has(userId)))),
    about(TEXTS.code, namesOf(codes)),
    about(TEXTS.badCode, namesOf(ownedCodes.filter(({ hash }) => !BCRYPT.test(hash)))),
    about(TEXTS.passkey, namesOf(passkeys)),
    about(
      TEXTS.badPasskey,
      rows.filter((row) => adoptedPasskey(row) === null).map((row) => String(row.user_id)),
    ),
    ...(has('users', 'totp_secret') ? [await totpSecrets(db)] : []),
  ]
  return { apps, codes, passkeys, findings: findings.filter(({ count }) => count > 0) }
}

type Has = (table: string, ...names: string[]) => boolean

const isTrue = (column: string) => sql`CAST(${sql.ref(column)} AS text) IN ('1', 't', 'true')`
/** Rows of users that are usable here; GORM only marks deleted rows. */
const isLive = (has: Has, table: string) => sql`
  user_id IN (SELECT id FROM users WHERE coalesce(status, 0) <> ${sql.lit(UserStatus.deleted)})
  AND ${has(table, 'deleted_at') ? sql`deleted_at IS NULL` : sql`true`}`

async function readApps(db: Queries, has: Has): Promise<Factors['apps']> {
  const { rows } = await sql<{ user_id: number; secret: string }>`
    SELECT user_id, max(CAST(secret AS text)) AS secret FROM two_fas
    WHERE ${isTrue('is_enabled')} AND ${isLive(has, 'two_fas')}
    GROUP BY user_id ORDER BY user_id`.execute(db)
  return rows.map((row) => ({ userId: Number(row.user_id), secret: row.secret.trim() }))
}

async function readCodes(db: Queries, has: Has): Promise<Factors['codes']> {
  const { rows } = await sql<{ user_id: number; code_hash: string }>`
    SELECT DISTINCT user_id, CAST(code_hash AS text) AS code_hash FROM two_fa_backup_codes
    WHERE NOT ${isTrue('is_used')} AND ${isLive(has, 'two_fa_backup_codes')}
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

async function readPasskeys(db: Queries, has: Has): Promise<FoundPasskey[]> {
  const table = 'passkey_credentials'
  const textOf = (name: string) =>
    has(table, name) ? sql`coalesce(CAST(${sql.ref(name)} AS text), '')` : sql`''`
  const { rows } = await sql<FoundPasskey>`
    SELECT user_id, CAST(credential_id AS text) AS credential_id,
      CAST(public_key AS text) AS public_key, coalesce(sign_count, 0) AS sign_count,
      ${textOf('transports')} AS transports, ${textOf('created_at')} AS created_at,
      ${textOf('last_used_at')} AS last_used_at
    FROM passkey_credentials WHERE ${isLive(has, table)} ORDER BY user_id`.execute(db)
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

/** https://github.com/Laisky/one-api/blob/main/model/user.go */
async function totpSecrets(db: Queries): Promise<Finding> {
  const { rows } = await sql<{ id: number }>`
    SELECT id FROM users WHERE coalesce(totp_secret, '') <> '' ORDER BY id`.execute(db)
  return about(
    TEXTS.totpSecret,
    rows.map(({ id }) => String(id)),
  )
}
