import { sql } from 'kysely'
import { z } from 'zod'
import { ChannelStatus } from '../../../contract/channel.ts'
import { RedemptionStatus } from '../../../contract/redemption.ts'
import { TokenStatus } from '../../../contract/token.ts'
import { UserStatus } from '../../../contract/user.ts'
import type { Queries } from '../../db/database.ts'
import type { FoundTables } from '../found-tables.ts'
import type { OneApiTable } from '../one-api-tables.ts'
import { subnetsOf } from './subnets.ts'
import { MARK_COLUMNS } from './channel-type.ts'
import { readJson } from './json-column.ts'

/**
 * Converts columns of programs derived from One API. Most of them only add information. A few
 * restrict a row: it is deleted, the token is limited to some models or addresses, the code has
 * expired. Such restrictions are converted, because ignoring them would lift them. Groups of tokens
 * are converted as well, because calls would otherwise use other channels and prices.
 */

/** Converted columns by table. A dump contains them as texts. */
export const RELATIVE_COLUMNS: Partial<Record<OneApiTable, readonly string[]>> = {
  users: ['deleted_at'],
  tokens: ['deleted_at', 'model_limits_enabled', 'model_limits', 'allow_ips', 'group', 'setting'],
  channels: ['deleted_at', ...MARK_COLUMNS],
  redemptions: ['deleted_at', 'expired_time'],
}

/** New status of a row that is marked as deleted. */
const RETIRED = {
  users: UserStatus.deleted,
  tokens: TokenStatus.disabled,
  channels: ChannelStatus.disabled,
} as const

const deletedAt = sql`coalesce(CAST(deleted_at AS text), '')`

/** A time in any form. NULL, 0 and the earliest dates of databases mean not deleted. */
export const isMarkedDeleted = sql<boolean>`(${deletedAt} NOT IN ('', '0')
  AND ${deletedAt} NOT LIKE '0000-%' AND ${deletedAt} NOT LIKE '0001-%')`

/** Users whom adoption does not turn into deleted ones. */
export const isUsableUser = (tables: FoundTables) => sql<boolean>`(
  coalesce(status, 0) <> ${sql.lit(UserStatus.deleted)}
  AND ${tables.get('users')?.has('deleted_at') === true ? sql`NOT ${isMarkedDeleted}` : sql`true`})`

/** In seconds; dates are not parsed. */
const expiry = sql<number>`CASE
  WHEN coalesce(CAST(expired_time AS text), '') IN ('', '0') THEN 0
  WHEN CAST(expired_time AS text) LIKE '%-%' THEN 0
  ELSE CAST(CAST(expired_time AS text) AS bigint) END`

/** Disables rows that are marked as deleted. Returns their number by table. */
export async function retireDeleted(
  trx: Queries,
  { tables, nowSeconds }: { tables: FoundTables; nowSeconds: number },
): Promise<Map<OneApiTable, number>> {
  const has = (table: OneApiTable, column: string): boolean =>
    tables.get(table)?.has(column) === true
  const counts = new Map<OneApiTable, number>()
  for (const table of ['users', 'tokens', 'channels'] as const) {
    if (!has(table, 'deleted_at')) continue
    const status = sql.lit(RETIRED[table])
    const { numAffectedRows = 0n } = await sql`
      UPDATE ${sql.table(table)} SET status = ${status}
      WHERE ${isMarkedDeleted} AND coalesce(status, 0) <> ${status}`.execute(trx)
    counts.set(table, Number(numAffectedRows))
  }
  if (has('channels', 'deleted_at') && tables.has('abilities')) {
    await sql`DELETE FROM abilities WHERE channel_id IN (
      SELECT id FROM channels WHERE ${isMarkedDeleted})`.execute(trx)
  }
  const over = [
    ...(has('redemptions', 'deleted_at') ? [isMarkedDeleted] : []),
    // Codes that have expired.
    ...(has('redemptions', 'expired_time')
      ? [sql`(${expiry} > 0 AND ${expiry} < ${sql.lit(nowSeconds)})`]
      : []),
  ]
  if (over.length > 0) {
    const { numAffectedRows = 0n } = await sql`
      UPDATE redemptions SET status = ${sql.lit(RedemptionStatus.disabled)}
      WHERE coalesce(status, 0) = ${sql.lit(RedemptionStatus.unused)}
        AND (${sql.join(over, sql` OR `)})`.execute(trx)
    counts.set('redemptions', Number(numAffectedRows))
  }
  return counts
}

/** Converts lists of models and addresses to those of our tokens. Returns the number of lists. */
export async function restrictTokens(trx: Queries, tables: FoundTables): Promise<number> {
  const has = (column: string): boolean => tables.get('tokens')?.has(column) === true
  let count = 0n
  if (has('model_limits_enabled') && has('model_limits')) {
    const isOn = sql`CAST(model_limits_enabled AS text) IN ('1', 't', 'true')`
    // A limit to no model at all; here an empty list means every model.
    await sql`UPDATE tokens SET status = ${sql.lit(TokenStatus.disabled)}
      WHERE ${isOn} AND coalesce(CAST(model_limits AS text), '') = ''`.execute(trx)
    const { numAffectedRows = 0n } = await sql`
      UPDATE tokens SET models = CAST(model_limits AS text)
      WHERE ${isOn} AND coalesce(CAST(model_limits AS text), '') <> '' AND coalesce(models, '') = ''`.execute(
      trx,
    )
    count += numAffectedRows
  }
  if (has('setting')) count += await restrictBySetting(trx)
  if (!has('allow_ips')) return Number(count)
  const { rows } = await sql<{ id: number; addresses: string }>`
    SELECT id, CAST(allow_ips AS text) AS addresses FROM tokens
    WHERE coalesce(CAST(allow_ips AS text), '') <> '' AND coalesce(subnet, '') = ''`.execute(trx)
  for (const { id, addresses } of rows) {
    const subnet = subnetsOf(addresses)
    if (subnet === '') continue
    await trx.updateTable('tokens').set({ subnet }).where('id', '=', id).execute()
    count += 1n
  }
  return Number(count)
}

const Limits = z.object({
  limits: z.object({
    limit_model_setting: z
      .object({ enabled: z.boolean(), models: z.array(z.string()).nullish() })
      .nullish(),
    limits_ip_setting: z
      .object({ enabled: z.boolean(), whitelist: z.array(z.string()).nullish() })
      .nullish(),
  }),
})

/**
 * Converts the lists of One Hub (https://github.com/MartialBE/one-hub/blob/main/model/token.go,
 * `TokenSetting`). Returns their number.
 */
async function restrictBySetting(trx: Queries): Promise<bigint> {
  const { rows } = await sql<{ id: number; setting: string }>`
    SELECT id, CAST(setting AS text) AS setting FROM tokens
    WHERE CAST(setting AS text) LIKE '%"limits"%'`.execute(trx)
  let count = 0n
  for (const { id, setting } of rows) {
    const limits = readJson(Limits, setting)?.limits
    const byModel = limits?.limit_model_setting
    const byAddress = limits?.limits_ip_setting
    const models = byModel?.enabled === true ? (byModel.models ?? []).join(',') : null
    const subnet =
      byAddress?.enabled === true ? subnetsOf((byAddress.whitelist ?? []).join(',')) : null
    const lists = [models, subnet].filter((list) => list !== null)
    if (lists.length === 0) continue
    count += BigInt(lists.length)
    const changes = {
      ...(models === null ? {} : { models }),
      ...(subnet === null ? {} : { subnet }),
      // A limit to nothing at all; here an empty list means everything.
      ...(lists.includes('') ? { status: TokenStatus.disabled } : {}),
    }
    await trx.updateTable('tokens').set(changes).where('id', '=', id).execute()
  }
  return count
}

const tokenGroup = sql`trim(coalesce(CAST("group" AS text), ''))`

/** New API chooses one of several groups for each call. */
export const isGroupChosen = sql<boolean>`(${tokenGroup} = 'auto')`
export const isGroupGiven = sql<boolean>`(${tokenGroup} NOT IN ('', 'auto'))`

const USABLE_GROUPS = 'UserUsableGroups'
/**
 * New API's default of generally usable groups
 * (https://github.com/QuantumNous/new-api/blob/main/setting/user_usable_group.go).
 */
const NEW_API_USABLE_GROUPS = JSON.stringify({ default: '默认分组', vip: 'vip分组' })

/**
 * Converts groups of tokens and who may use them. Runs after the migrations. Returns the number of
 * tokens with a group.
 */
export async function carryTokenGroups(trx: Queries, tables: FoundTables): Promise<number> {
  const has = (column: string): boolean => tables.get('tokens')?.has(column) === true
  if (!has('group')) return 0
  const { numAffectedRows = 0n } = await sql`
    INSERT INTO token_groups (token_id, "group")
    SELECT id, ${tokenGroup} FROM tokens WHERE ${isGroupGiven}`.execute(trx)
  // Other related programs lack these columns and have other rules.
  if (numAffectedRows > 0n && has('model_limits_enabled')) {
    await sql`
      INSERT INTO options ("key", value)
      SELECT ${sql.lit(USABLE_GROUPS)}, ${sql.lit(NEW_API_USABLE_GROUPS)}
      WHERE NOT EXISTS (SELECT 1 FROM options WHERE "key" = ${sql.lit(USABLE_GROUPS)})`.execute(trx)
  }
  return Number(numAffectedRows)
}
