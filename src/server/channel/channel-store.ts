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
import {
  channelsWithKey,
  decryptionIn,
  encryptionIn,
  type ConvertSecret,
} from '../secrets/secret-store.ts'
import type { ChannelChanges, ChannelFields } from './channel.ts'
import { tryAtOnce } from './channel-pause-store.ts'
import { followChannel, forgetKeys } from './key/channel-key-store.ts'

export type StoredChannel = Selectable<ChannelRow>

/**
 * Stores channels and their abilities, the models they serve to each group. Both change in one
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
  return { rows: rows.map(decryptedIn(db)), total: total.count }
}

/** 0, `''` and an absent filter match any channel. */
function filteredChannels(db: Queries, { status = 0, type = 0, group = '' }: ChannelFilters) {
  // An empty group means the default one, as in `groupNames`.
  const groups = sql<string>`coalesce(nullif(trim("group"), ''), ${DEFAULT_GROUP})`
  return db
    .selectFrom('channels')
    .$if(Boolean(status), (query) => query.where('status', '=', status))
    .$if(Boolean(type), (query) => query.where('type', '=', type))
    .$if(group !== '', (query) => query.where(hasMember(groups, group)))
}

/** Finds channels by id, by a part of the name, or by a whole key. */
export async function searchChannels(
  db: Queries,
  { keyword, ...filters }: ChannelFilters & { keyword: string },
): Promise<StoredChannel[]> {
  const encrypted = keyword === '' ? [] : await channelsWithKey(db, keyword)
  const rows = await filteredChannels(db, filters)
    .selectAll()
    .where(({ or, eb }) =>
      or([
        ...(/^\d{1,15}$/.test(keyword) ? [eb('id', '=', Number(keyword))] : []),
        ...(keyword === '' ? [] : [hasLine('key', keyword)]),
        ...(encrypted.length === 0 ? [] : [eb('id', 'in', encrypted.slice(-SEARCH_ROWS_MAX))]),
        contains('name', keyword),
      ]),
    )
    .orderBy('id', 'desc')
    .limit(SEARCH_ROWS_MAX)
    .execute()
  return rows.map(decryptedIn(db))
}

/** Returns the function that decrypts the secrets of rows read through this handle. */
function decryptedIn(db: Queries): (row: StoredChannel) => StoredChannel {
  const decrypt = decryptionIn(db)
  return (row) => {
    const config = row.config === null ? null : decrypt('channels.config', row.id, row.config)
    return { ...row, key: decrypt('channels.key', row.id, row.key), config }
  }
}

/** Returns columns of a channel as they are stored. */
function encryptedColumns<C extends Partial<Pick<StoredChannel, 'key' | 'config'>>>(
  encrypt: ConvertSecret,
  id: number,
  columns: C,
): C {
  const { key, config } = columns
  return {
    ...columns,
    ...(typeof key === 'string' && { key: encrypt('channels.key', id, key) }),
    ...(typeof config === 'string' && { config: encrypt('channels.config', id, config) }),
  }
}

export async function findChannel(db: Queries, id: number): Promise<StoredChannel | null> {
  const row = await db.selectFrom('channels').selectAll().where('id', '=', id).executeTakeFirst()
  return row === undefined ? null : decryptedIn(db)(row)
}

/** Returns those of the given channels that exist. */
export async function findChannels(db: Queries, ids: readonly number[]): Promise<StoredChannel[]> {
  const found: StoredChannel[] = []
  for (const chunk of chunksOf(ids)) {
    found.push(...(await db.selectFrom('channels').selectAll().where('id', 'in', chunk).execute()))
  }
  return found.map(decryptedIn(db)).toSorted((a, b) => a.id - b.id)
}

/** Returns every channel, enabled or not. */
export async function allChannels(db: Queries): Promise<StoredChannel[]> {
  const rows = await db.selectFrom('channels').selectAll().orderBy('id').execute()
  return rows.map(decryptedIn(db))
}

/** Models of a channel for a group, enabled or not. */
export interface GroupAbilities {
  channel_id: number
  group: string
  enabled: boolean
  /** Comma-separated; model names contain no commas. */
  models: string
}

/**
 * Returns the abilities of these channels for the relay's map. Grouped, because one row per model
 * would be too many.
 */
export const abilitiesOf = (db: Queries, ids: readonly number[]): Promise<GroupAbilities[]> =>
  db
    .selectFrom('abilities')
    .select(['channel_id', 'group', 'enabled', sql<string>`string_agg(model, ',')`.as('models')])
    .where('channel_id', 'in', ids)
    .groupBy(['channel_id', 'group', 'enabled'])
    .orderBy('channel_id')
    .execute()

/** Returns the number of channels by status. */
export async function countByStatus(db: Queries): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom('channels')
    .select((eb) => ['status', eb.fn.countAll<number>().as('count')])
    .groupBy('status')
    .execute()
  return new Map(rows.map(({ status, count }) => [status, Number(count)]))
}

/** Returns the types and groups of all channels, sorted. */
export async function channelKinds(db: Queries): Promise<{ types: number[]; groups: string[] }> {
  const [types, lists] = await Promise.all([
    db.selectFrom('channels').select('type').distinct().orderBy('type').execute(),
    db.selectFrom('channels').select('group').distinct().execute(),
  ])
  const groups = new Set(lists.flatMap(({ group }) => groupNames(group ?? '')))
  return { types: types.map(({ type }) => type), groups: [...groups].toSorted() }
}

/** Returns the ids of all or of the disabled channels, oldest first. */
export async function channelIdsIn(db: Queries, scope: 'all' | 'disabled'): Promise<number[]> {
  const rows = await db
    .selectFrom('channels')
    .select('id')
    .$if(scope === 'disabled', (query) => query.where('status', 'in', DISABLED))
    .orderBy('id')
    .execute()
  return rows.map(({ id }) => id)
}

/** Returns the ids of the channels of these types, oldest first. */
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

/** Rows per statement; a statement takes at most some ten thousand values. */
const ROWS_PER_STATEMENT = 500

/** Inserts channels and their abilities. Returns the ids in the given order. */
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
  const encrypt = await encryptionIn(trx)
  for (const chunk of chunksOf(rows)) {
    const values = chunk.map((row) => encryptedColumns(encrypt, row.id, row))
    await trx.insertInto('channels').values(values).execute()
  }
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

/** Returns the row and locks it until the transaction ends, so that it cannot change meanwhile. */
export async function lockChannel(trx: Queries, id: number): Promise<StoredChannel | null> {
  const [row] = await lockChannels(trx, [id])
  return row ?? null
}

/** Locks several rows in the order of their ids; unknown ids are omitted. */
export async function lockChannels(trx: Queries, ids: readonly number[]): Promise<StoredChannel[]> {
  const found: StoredChannel[] = []
  for (const chunk of chunksOf([...new Set(ids)].toSorted((a, b) => a - b))) {
    const rows = trx.selectFrom('channels').selectAll().where('id', 'in', chunk).orderBy('id')
    // On SQLite the transaction already holds the file's write lock.
    const isShared = trx.getExecutor().adapter instanceof PostgresAdapter
    found.push(...(await (isShared ? rows.forUpdate() : rows).execute()))
  }
  return found.map(decryptedIn(trx))
}

/** Columns that determine the upstream and the account. */
export const ACCOUNT = ['type', 'key', 'base_url', 'other', 'config'] as const

/** Writes only the given columns, and the abilities that follow from the row. Returns the row. */
export async function updateChannel(
  trx: Queries,
  stored: StoredChannel,
  changes: ChannelChanges,
): Promise<StoredChannel> {
  const row = { ...stored, ...changes }
  if (Object.keys(changes).length > 0) {
    const columns = encryptedColumns(await encryptionIn(trx), row.id, changes)
    await trx.updateTable('channels').set(columns).where('id', '=', row.id).execute()
  }
  await trx.deleteFrom('abilities').where('channel_id', '=', row.id).execute()
  await insertAbilities(trx, [row])
  await followChannel(trx, stored, row)
  const isMended = ACCOUNT.some((member) => stored[member] !== row[member])
  if (isMended && row.status === ChannelStatus.autoDisabled) await tryAtOnce(trx, row.id)
  return row
}

/**
 * Changes the status of a channel with its abilities. Returns false if it no longer has the status
 * `from`, so that an automatic change never overwrites a manual one.
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
 * Sets the status of several channels manually; their abilities stay and are only switched.
 * `channels` are those with another status.
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
    // Enabling a channel resumes all of its keys.
    if (enabled) await forgetKeys(trx, ids)
  }
}

export async function deleteChannels(trx: Queries, ids: readonly number[]): Promise<void> {
  for (const chunk of chunksOf(ids)) {
    await trx.deleteFrom('channels').where('id', 'in', chunk).execute()
    await forgetChannels(trx, chunk)
  }
}

/** Deletes the data of channels outside their rows. */
async function forgetChannels(trx: Queries, ids: readonly number[]): Promise<void> {
  await trx.deleteFrom('abilities').where('channel_id', 'in', ids).execute()
  await trx.deleteFrom('channel_pauses').where('channel_id', 'in', ids).execute()
  await forgetKeys(trx, ids)
}

/** Deletes channels that were disabled manually or automatically. Returns their rows. */
export async function deleteDisabledChannels(
  trx: Queries,
  ids: readonly number[],
): Promise<StoredChannel[]> {
  const locked = await lockChannels(trx, ids)
  // A channel may have been enabled meanwhile.
  const disabled = locked.filter(({ status }) => DISABLED.includes(status))
  await deleteChannels(
    trx,
    disabled.map(({ id }) => id),
  )
  return disabled
}

/** `responseTimeMs` is 0 if the test failed. */
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
