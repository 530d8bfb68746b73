import { sql } from 'kysely'
import type { Queries } from '../../db/database.ts'
import { bindIdentity, type Identity } from '../../sign-in/identity-store.ts'
import { about, type Finding } from '../finding-store.ts'
import type { FoundTables } from '../found-tables.ts'
import { isUsableUser } from './carry-over-store.ts'

/**
 * Takes over external accounts of New API that One API has no column for. Its `linux_do_id` and
 * `discord_id` are the ids that identify the same accounts here (`oauth/linuxdo.go` and
 * `oauth/discord.go`, commit 462f71e, of https://github.com/QuantumNous/new-api).
 */

const PROVIDERS = [
  { provider: 'linuxdo', title: 'LinuxDO', column: 'linux_do_id' },
  { provider: 'discord', title: 'Discord', column: 'discord_id' },
] as const

/** Columns of users that are read here. A dump contains them as texts. */
export const ACCOUNT_COLUMNS = [...PROVIDERS.map(({ column }) => column), 'telegram_id']

const TEXTS = {
  taken: (title: string) =>
    `users have an account at ${title}, which is taken over; it signs them in once the provider is in the settings`,
  unclear: (title: string) =>
    `users have an account at ${title} that is invalid or belongs to several of them; it is not taken over`,
  other:
    'users have an account at Telegram or a custom provider, which is not taken over; they need a password to sign in',
}

/** As providers write them. */
const ID = /^[1-9]\d{0,19}$/

interface Accounts {
  identities: (Identity & { userId: number })[]
  findings: Finding[]
}

async function readAccounts(db: Queries, tables: FoundTables): Promise<Accounts> {
  const identities: Accounts['identities'] = []
  const findings: Finding[] = []
  for (const { provider, title, column } of PROVIDERS) {
    const rows = await usersWith(db, tables, column)
    const seen = Map.groupBy(rows, ({ account }) => account)
    const isClear = (account: string) => ID.test(account) && seen.get(account)?.length === 1
    const clear = rows.filter(({ account }) => isClear(account))
    const unclear = rows.filter(({ account }) => !isClear(account))
    for (const { userId, account } of clear) {
      // The name at the provider is unknown until the next sign-in.
      identities.push({ userId, provider, subject: account, label: account })
    }
    findings.push(
      about(TEXTS.taken(title), namesOf(clear)),
      about(TEXTS.unclear(title), namesOf(unclear)),
    )
  }
  const others = [
    ...(await usersWith(db, tables, 'telegram_id')).map(({ userId }) => userId),
    ...(await boundUsers(db, tables)),
  ]
  findings.push(
    about(
      TEXTS.other,
      [...new Set(others)].toSorted((first, second) => first - second).map(String),
    ),
  )
  return { identities, findings: findings.filter(({ count }) => count > 0) }
}

const namesOf = (users: readonly { userId: number }[]): string[] =>
  users.map(({ userId }) => String(userId))

async function usersWith(
  db: Queries,
  tables: FoundTables,
  column: string,
): Promise<{ userId: number; account: string }[]> {
  if (tables.get('users')?.has(column) !== true) return []
  const { rows } = await sql<{ id: number; account: string }>`
    SELECT id, CAST(${sql.ref(column)} AS text) AS account FROM users
    WHERE coalesce(CAST(${sql.ref(column)} AS text), '') <> '' AND ${isUsableUser(tables)}
    ORDER BY id`.execute(db)
  return rows.map(({ id, account }) => ({ userId: Number(id), account: account.trim() }))
}

/** Returns users with accounts at custom OAuth providers: `model/user_oauth_binding.go`. */
async function boundUsers(db: Queries, tables: FoundTables): Promise<number[]> {
  if (tables.get('user_oauth_bindings')?.has('user_id') !== true) return []
  const { rows } = await sql<{ id: number }>`
    SELECT id FROM users WHERE ${isUsableUser(tables)}
      AND id IN (SELECT user_id FROM user_oauth_bindings)
    ORDER BY id`.execute(db)
  return rows.map(({ id }) => Number(id))
}

/** Reports the external accounts that adoption finds, and what becomes of them. */
export async function accountFindings(db: Queries, tables: FoundTables): Promise<Finding[]> {
  return (await readAccounts(db, tables)).findings
}

/** Stores the external accounts. Runs after the migrations. Returns what was done. */
export async function carryAccounts(trx: Queries, tables: FoundTables): Promise<Finding[]> {
  const { identities, findings } = await readAccounts(trx, tables)
  for (const { userId, ...identity } of identities) {
    // The time of linking is unknown.
    await bindIdentity(trx, identity, { userId, nowSeconds: 0 })
  }
  return findings
}
