import { PostgresAdapter, sql, type Selectable } from 'kysely'
import { ChannelStatus } from '../../contract/channel.ts'
import { commaList } from '../../contract/text.ts'
import { PAGE_SIZE, SEARCH_ROWS_MAX } from '../../contract/paging.ts'
import type { ChannelFilters } from '../../contract/channel-api.ts'
import { DEFAULT_GROUP, groupNames } from '../../contract/user.ts'
import type { Queries } from '../db/database.ts'
import { takeIds } from '../db/ids.ts'
import type { ChannelRow } from '../db/schema.ts'
import { contains, hasLine, hasMember } from '../db/sql-text.ts'
import type { ChannelChanges, ChannelFields } from './channel.ts'
import { tryAtOnce } from './channel-pause-store.ts'
import { followChannel, forgetKeys } from './key/channel-key-store.ts'

export type StoredChannel = Selectable<ChannelRow>

/**
 * A channel and its abilities: which models it serves to which groups. Both change in one
 * transaction.
 */

export async function channelPage(
  db: Queries,
  { page, ...filters }: ChannelFilters & { page: number },
): Promise<{ rows: StoredChannel[]; total: number }> {
  const filtered = filteredChannels(db, filters)
  const [rows, total] = await Promise.all([
    filtered
      .selectAll()
      .orderBy('id', 'desc')
      .limit(PAGE_SIZE)
      .offset(page * PAGE_SIZE)
      .execute(),
    filtered.select((eb) => eb.fn.countAll<number>().as('count')).executeTakeFirstOrThrow(),
  ])
  return { rows, total: total.count }
}

/** 0 and `''`, like an absent filter, mean any. */
function filteredChannels(db: Queries, { status = 0, type = 0, group = '' }: ChannelFilters) {
  // No group means the default one, as in `groupNames`.
  const groups = sql<string>`coalesce(nullif(trim("group"), ''), ${DEFAULT_GROUP})`
  return db
    .selectFrom('channels')
    .$if(Boolean(status), (query) => query.where('status', '=', status))
    .$if(Boolean(type), (query) => query.where('type', '=', type))
    .$if(group !== '', (query) => query.where(hasMember(groups, group)))
}

/** By id, by a part of the name, or by a whole key. */
export async function searchChannels(
  db: Queries,
  { keyword, ...filters }: ChannelFilters & { keyword: string },
): Promise<StoredChannel[]> {
  return filteredChannels(db, filters)
    .selectAll()
    .where(({ or, eb }) =>
      or([
        ...(/^\d{1,15}$/.test(keyword) ? [eb('id', '=', Number(keyword))] : []),
        ...(keyword === '' ? [] : [hasLine('key', keyword)]),
        contains('name', keyword),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(SEARCH_ROWS_MAX)
    .execute()
}

export async function findChannel(db: Queries, id: number): Promise<StoredChannel | null> {
  const row = await db.selectFrom('channels').selectAll().where('id', '=', id).executeTakeFirst()
  return row ?? null
}

/** Those of the named channels that are there. */
export async function findChannels(db: Queries, ids: readonly number[]): Promise<StoredChannel[]> {
  const found: StoredChannel[] = []
  for (const chunk of chunksOf(ids)) {
    found.push(...(await db.selectFrom('channels').selectAll().where('id', 'in', chunk).execute()))
  }
  return found.toSorted((a, b) => a.id - b.id)
}

/** Every channel, enabled or not. */
export const allChannels = (db: Queries): Promise<StoredChannel[]> =>
  db.selectFrom('channels').selectAll().orderBy('id').execute()

/** What a channel serves to a group, or would. */
export interface GroupAbilities {
  channel_id: number
  group: string
  enabled: boolean
  /** With commas between, of which a model has none. */
  models: string
}

/** What these channels serve, or would; for the relay's map. A row for each model is too many. */
export const abilitiesOf = (db: Queries, ids: readonly number[]): Promise<GroupAbilities[]> =>
  db
    .selectFrom('abilities')
    .select(['channel_id', 'group', 'enabled', sql<string>`string_agg(model, ',')`.as('models')])
    .where('channel_id', 'in', ids)
    .groupBy(['channel_id', 'group', 'enabled'])
    .orderBy('channel_id')
    .execute()

/** How many channels there are of each status. */
export async function countByStatus(db: Queries): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom('channels')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute()
  return new Map(rows.map(({ status, count }) => [status, Number(count)]))
}

/** The types that channels have, and the groups that they serve, sorted. */
export async function channelKinds(db: Queries): Promise<{ types: number[]; groups: string[] }> {
  const [types, lists] = await Promise.all([
    db.selectFrom('channels').select('type').distinct().orderBy('type').execute(),
    db.selectFrom('channels').select('group').distinct().execute(),
  ])
  const groups = new Set(lists.flatMap(({ group }) => groupNames(group ?? '')))
  return { types: types.map(({ type }) => type), groups: [...groups].toSorted() }
}

/** Ids of all channels, or of those that are disabled, oldest first. */
export async function channelIdsIn(db: Queries, scope: 'all' | 'disabled'): Promise<number[]> {
  const rows = await db
    .selectFrom('channels')
    .select('id')
    .$if(scope === 'disabled', (query) => query.where('status', 'in', DISABLED))
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Ids of the channels of these types, oldest first. */
export async function channelIdsOfTypes(db: Queries, types: readonly number[]): Promise<number[]> {
  const rows = await db
    .selectFrom('channels')
    .select('id')
    .where('type', 'in', types)
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

const DISABLED: readonly number[] = [ChannelStatus.disabled, ChannelStatus.autoDisabled]

/** Rows of one statement: a statement takes some ten thousand values at most. */
const ROWS_PER_STATEMENT = 500

/** Inserts channels and their abilities. Answers the ids in the given order. */
export async function insertChannels(
  trx: Queries,
  channels: readonly ChannelFields[],
  nowSeconds: number,
): Promise<number[]> {
  const ids = await takeIds(trx, 'channels', channels.length)
  const rows = channels.flatMap((fields, index): StoredChannel[] => {
    const id = ids[index]
    return id === undefined ? [] : [newRow(id, fields, nowSeconds)]
  })
  for (const chunk of chunksOf(rows)) await trx.insertInto('channels').values(chunk).execute()
  await insertAbilities(trx, rows)
  return ids
}

const newRow = (id: number, fields: ChannelFields, nowSeconds: number): StoredChannel => ({
  ...fields,
  id,
  created_time: nowSeconds,
  test_time: 0,
  response_time: 0,
  balance: 0,
  balance_updated_time: 0,
  used_quota: 0,
})

async function insertAbilities(trx: Queries, channels: readonly StoredChannel[]): Promise<void> {
  const abilities = channels.flatMap((channel) =>
    groupNames(channel.group ?? '').flatMap((group) =>
      commaList(channel.models).map((model) => ({
        group,
        model,
        channel_id: channel.id,
        enabled: channel.status === ChannelStatus.enabled,
        priority: channel.priority ?? 0,
      })),
    ),
  )
  for (const chunk of chunksOf(abilities)) await trx.insertInto('abilities').values(chunk).execute()
}

function chunksOf<T>(rows: readonly T[]): T[][] {
  const chunks: T[][] = []
  for (let start = 0; start < rows.length; start += ROWS_PER_STATEMENT) {
    chunks.push(rows.slice(start, start + ROWS_PER_STATEMENT))
  }
  return chunks
}

/** The row, held until the transaction ends: nobody changes it between the look and the write. */
export async function lockChannel(trx: Queries, id: number): Promise<StoredChannel | null> {
  const [row] = await lockChannels(trx, [id])
  return row ?? null
}

/** The same for many, in the order of their ids; those that are not there are left out. */
export async function lockChannels(trx: Queries, ids: readonly number[]): Promise<StoredChannel[]> {
  const found: StoredChannel[] = []
  for (const chunk of chunksOf([...new Set(ids)].toSorted((a, b) => a - b))) {
    const rows = trx.selectFrom('channels').selectAll().where('id', 'in', chunk).orderBy('id')
    // On SQLite the transaction has the file.
    const isShared = trx.getExecutor().adapter instanceof PostgresAdapter
    found.push(...(await (isShared ? rows.forUpdate() : rows).execute()))
  }
  return found
}

/** Where a channel calls, and as whom. */
export const ACCOUNT = ['type', 'key', 'base_url', 'other', 'config'] as const

/**
 * Writes the given columns and no other, and the abilities that follow from the row. Answers the
 * row.
 */
export async function updateChannel(
  trx: Queries,
  stored: StoredChannel,
  changes: ChannelChanges,
): Promise<StoredChannel> {
  const row = { ...stored, ...changes }
  if (Object.keys(changes).length > 0) {
    await trx.updateTable('channels').set(changes).where('id', '=', row.id).execute()
  }
  await trx.deleteFrom('abilities').where('channel_id', '=', row.id).execute()
  await insertAbilities(trx, [row])
  await followChannel(trx, stored, row)
  const isMended = ACCOUNT.some((member) => stored[member] !== row[member])
  if (isMended && row.status === ChannelStatus.autoDisabled) await tryAtOnce(trx, row.id)
  return row
}

/**
 * Moves a channel from one status to another, its abilities with it. False when it had another
 * status by then: a person's word is not overwritten by the program's.
 */
export async function moveChannelStatus(
  trx: Queries,
  { id, from, to }: { id: number; from: number; to: number },
): Promise<boolean> {
  const result = await trx
    .updateTable('channels')
    .set({ status: to })
    .where('id', '=', id)
    .where('status', '=', from)
    .executeTakeFirst()
  if (result.numUpdatedRows === 0n) return false
  await trx
    .updateTable('abilities')
    .set({ enabled: to === ChannelStatus.enabled })
    .where('channel_id', '=', id)
    .execute()
  return true
}

/**
 * Gives many channels one status, as a person's word: what they serve stays and is only switched.
 * `channels`: those that have another one.
 */
export async function switchChannels(
  trx: Queries,
  channels: readonly StoredChannel[],
  status: number,
): Promise<void> {
  const enabled = status === ChannelStatus.enabled
  for (const chunk of chunksOf(channels)) {
    const ids = chunk.map(({ id }) => id)
    await trx.updateTable('channels').set({ status }).where('id', 'in', ids).execute()
    await trx.updateTable('abilities').set({ enabled }).where('channel_id', 'in', ids).execute()
    // Whoever enables a channel wants all of its keys in use.
    if (enabled) await forgetKeys(trx, ids)
  }
}

export async function deleteChannels(trx: Queries, ids: readonly number[]): Promise<void> {
  for (const chunk of chunksOf(ids)) {
    await trx.deleteFrom('channels').where('id', 'in', chunk).execute()
    await forgetChannels(trx, chunk)
  }
}

/** What is kept of channels beside their rows. */
async function forgetChannels(trx: Queries, ids: readonly number[]): Promise<void> {
  await trx.deleteFrom('abilities').where('channel_id', 'in', ids).execute()
  await trx.deleteFrom('channel_pauses').where('channel_id', 'in', ids).execute()
  await forgetKeys(trx, ids)
}

/** Deletes those that a person or the program has disabled. Answers the rows that were. */
export async function deleteDisabledChannels(
  trx: Queries,
  ids: readonly number[],
): Promise<StoredChannel[]> {
  const locked = await lockChannels(trx, ids)
  // One may have been enabled meanwhile.
  const disabled = locked.filter(({ status }) => DISABLED.includes(status))
  await deleteChannels(
    trx,
    disabled.map(({ id }) => id),
  )
  return disabled
}

/** `responseTimeMs` 0: the test failed. */
export async function saveTestResult(
  db: Queries,
  { id, responseTimeMs, nowSeconds }: { id: number; responseTimeMs: number; nowSeconds: number },
): Promise<void> {
  await db
    .updateTable('channels')
    .set({ response_time: responseTimeMs, test_time: nowSeconds })
    .where('id', '=', id)
    .execute()
}

export async function saveBalance(
  db: Queries,
  { id, balance, nowSeconds }: { id: number; balance: number; nowSeconds: number },
): Promise<void> {
  await db
    .updateTable('channels')
    .set({ balance, balance_updated_time: nowSeconds })
    .where('id', '=', id)
    .execute()
}
