import { sql } from 'kysely'
import { z } from 'zod'
import { ChannelStatus } from '../../../contract/channel.ts'
import { RedemptionStatus } from '../../../contract/redemption.ts'
import { TokenStatus } from '../../../contract/token.ts'
import { UserStatus } from '../../../contract/user.ts'
import type { Queries } from '../../db/database.ts'
import type { FoundTables, OneApiTable } from '../one-api-tables.ts'
import { subnetsOf } from './subnets.ts'
import { MARK_COLUMNS } from './channel-type.ts'
import { readJson } from './json-column.ts'

/**
 * Programs that descend from One API have columns of their own. Most of them add to what a row
 * says; a few take from it: the row is deleted, the token works for some models or addresses only,
 * the code is no longer good. Those few are carried over, or what somebody shut would stand open;
 * and so are the groups of single tokens, or their calls would go elsewhere, at other prices.
 */

/** Columns that are carried over, by table. A dump brings them as texts. */
export const RELATIVE_COLUMNS: Partial<Record<OneApiTable, readonly string[]>> = {
  users: ['deleted_at'],
  tokens: ['deleted_at', 'model_limits_enabled', 'model_limits', 'allow_ips', 'group', 'setting'],
  channels: ['deleted_at', ...MARK_COLUMNS],
  redemptions: ['deleted_at', 'expired_time'],
}

/** What a row that is marked as deleted becomes here. */
const RETIRED = {
  users: UserStatus.deleted,
  tokens: TokenStatus.disabled,
  channels: ChannelStatus.disabled,
} as const

const deletedAt = sql`coalesce(CAST(deleted_at AS text), '')`

/** A time, in whatever form. NULL, 0 and the first days that databases know mean: the row lives. */
export const isMarkedDeleted = sql<boolean>`(${deletedAt} NOT IN ('', '0')
  AND ${deletedAt} NOT LIKE '0000-%' AND ${deletedAt} NOT LIKE '0001-%')`

/** Seconds; what is written as a date is not read. */
const expiry = sql<number>`CASE
  WHEN coalesce(CAST(expired_time AS text), '') IN ('', '0') THEN 0
  WHEN CAST(expired_time AS text) LIKE '%-%' THEN 0
  ELSE CAST(CAST(expired_time AS text) AS bigint) END`

/** Answers how many rows were taken out of use, by table. */
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
    // Codes that were good until a time that has come.
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

/** Lists of models and addresses become those of our tokens. Answers how many lists. */
export async function restrictTokens(trx: Queries, tables: FoundTables): Promise<number> {
  const has = (column: string): boolean => tables.get('tokens')?.has(column) === true
  let count = 0n
  if (has('model_limits_enabled') && has('model_limits')) {
    const isOn = sql`CAST(model_limits_enabled AS text) IN ('1', 't', 'true')`
    // Limited to no model at all; here an empty list means every model.
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
 * One Hub's lists (https://github.com/MartialBE/one-hub/blob/main/model/token.go, `TokenSetting`).
 * Answers how many there are.
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
      // Limited to nothing at all; here an empty list means everything.
      ...(lists.includes('') ? { status: TokenStatus.disabled } : {}),
    }
    await trx.updateTable('tokens').set(changes).where('id', '=', id).execute()
  }
  return count
}

const tokenGroup = sql`trim(coalesce(CAST("group" AS text), ''))`

/** One of several, chosen by the relative at each call. */
export const isGroupChosen = sql<boolean>`(${tokenGroup} = 'auto')`
export const isGroupGiven = sql<boolean>`(${tokenGroup} NOT IN ('', 'auto'))`

const USABLE_GROUPS = 'UserUsableGroups'
/**
 * What New API lets anybody use where it was never told
 * (https://github.com/QuantumNous/new-api/blob/main/setting/user_usable_group.go).
 */
const NEW_API_USABLE_GROUPS = JSON.stringify({ default: '默认分组', vip: 'vip分组' })

/**
 * Groups of single tokens become those of ours, and who may use them stays as it was. After the
 * migrations. Answers how many tokens have one.
 */
export async function carryTokenGroups(trx: Queries, tables: FoundTables): Promise<number> {
  const has = (column: string): boolean => tables.get('tokens')?.has(column) === true
  if (!has('group')) return 0
  const { numAffectedRows = 0n } = await sql`
    INSERT INTO token_groups (token_id, "group")
    SELECT id, ${tokenGroup} FROM tokens WHERE ${isGroupGiven}`.execute(trx)
  // Other relatives lack these columns, and have other rules.
  if (numAffectedRows > 0n && has('model_limits_enabled')) {
    await sql`
      INSERT INTO options ("key", value)
      SELECT ${sql.lit(USABLE_GROUPS)}, ${sql.lit(NEW_API_USABLE_GROUPS)}
      WHERE NOT EXISTS (SELECT 1 FROM options WHERE "key" = ${sql.lit(USABLE_GROUPS)})`.execute(trx)
  }
  return Number(numAffectedRows)
}
