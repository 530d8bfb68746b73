import {
  ClickHouseLogLevel,
  createClient,
  type ClickHouseClient,
  type ClickHouseSettings,
} from '@clickhouse/client'
import { LogType } from '../../../contract/log.ts'
import { PAGE_SIZE } from '../../../contract/paging.ts'
import { SECONDS_PER_HOUR, type Clock } from '../../clock.ts'
import type { Queries } from '../../db/database.ts'
import type { LogBodyRow } from '../../db/schema.ts'
import { unpackedBody } from '../body/capture.ts'
import { withPrices, type ExportRow, type RowSource } from '../export/export-store.ts'
import type { LogSums } from '../log-statistics.ts'
import type { LogFilterValues, LogPosition, LogRows, StoredLog } from '../log-store.ts'
import { COLUMNS, deleteBefore, prepareTables, type Table } from './clickhouse-table-store.ts'
import type { BodyTexts, CallSums, LogStorage, RemoteLogStorage } from './log-storage.ts'

/**
 * The log in ClickHouse, over its HTTP interface. A row may arrive twice, so the tables are
 * ReplacingMergeTree by the key of a row: lists drop repeated keys, sums read `FINAL`. Captured
 * texts are stored as texts, so that ClickHouse compresses and searches them.
 */

/** A statement's conditions, and the values that they refer to as `{name:Type}`. */
interface Conditions {
  where: string[]
  params: Record<string, unknown>
}

const TIMEOUT_MS = 60_000
/** Time limit of a search in contents and captured texts. */
const LIMIT_MS = 2000

const SETTINGS: ClickHouseSettings = {
  // Ids and points are below 2^53.
  output_format_json_quote_64bit_integers: 0,
  // The keys contain the time, so equal keys are in one partition.
  do_not_merge_across_partitions_select_final: 1,
}
const SELECTED = COLUMNS.join(', ')
const INSERT_SETTINGS: ClickHouseSettings = {
  // A row leaves the outbox after this insert.
  async_insert: 0,
  // A first batch may hold rows of many months.
  max_partitions_per_insert_block: '0',
}

/** Reads and writes that the parts of the storage share. */
interface Access {
  client: ClickHouseClient
  read<Row>(
    query: string,
    params?: Record<string, unknown>,
    settings?: ClickHouseSettings,
  ): Promise<Row[]>
  /** Returns the newest rows that meet conditions, one of each key. */
  newestRows(
    conditions: Conditions,
    limits: { countMax: number; skip?: number },
    settings?: ClickHouseSettings,
  ): Promise<StoredLog[]>
}

/** `ledger` is the main database, which has the prices of calls. */
export function clickhouseLogStorage(
  url: string,
  { ledger, clock }: { ledger: Queries; clock: Clock },
): RemoteLogStorage {
  const access = accessTo(url)
  const { client, read } = access

  async function insert(table: Table, values: readonly unknown[]): Promise<void> {
    await client.insert({
      table,
      values,
      format: 'JSONEachRow',
      clickhouse_settings: INSERT_SETTINGS,
    })
  }

  return {
    ...rowReads(access, ledger),
    ...bodyReads(access, clock),
    deleteRowsBefore: (seconds) => deleteBefore(client, 'logs', seconds),
    deleteBodiesBefore: (seconds) => deleteBefore(client, 'log_bodies', seconds),
    deleteTracesBefore: (seconds) => deleteBefore(client, 'route_traces', seconds),
    async prepare() {
      await prepareTables(client)
      const [row] = await read<{ id: number }>('SELECT max(id) AS id FROM logs')
      return row?.id ?? 0
    },
    insertLogs: (rows) => insert('logs', rows.map(storedRow)),
    insertBodies: async (bodies) => insert('log_bodies', await Promise.all(bodies.map(textRow))),
    insertTraces: (rows) => insert('route_traces', rows),
    callSums: (from, until) =>
      read<CallSums>(
        `SELECT user_id, username, token_name, model_name, channel_id, count() AS requests,
          sum(quota) AS quota, sum(prompt_tokens) AS prompt_tokens,
          sum(completion_tokens) AS completion_tokens
        FROM logs FINAL WHERE type = {type:Int32} AND created_at >= {from:Int64}
          AND created_at < {until:Int64}
        GROUP BY user_id, username, token_name, model_name, channel_id`,
        { type: LogType.consume, from, until },
      ),
    close: () => client.close(),
  }
}

function accessTo(url: string): Access {
  const client = createClient({
    url,
    application: 'gatehouse',
    request_timeout: TIMEOUT_MS,
    clickhouse_settings: SETTINGS,
    // Callers report failures.
    log: { level: ClickHouseLogLevel.OFF },
  })
  const read: Access['read'] = async <Row>(
    query: string,
    params: Record<string, unknown> = {},
    settings: ClickHouseSettings = {},
  ) => {
    const answer = await client.query({
      query,
      query_params: params,
      format: 'JSONEachRow',
      clickhouse_settings: settings,
    })
    return answer.json<Row>()
  }
  /** `LIMIT BY` reads everything before it sorts, so it is only for the few jumps. */
  const skipped = (
    { where, params }: Conditions,
    { countMax, skip }: { countMax: number; skip: number },
  ) =>
    read<StoredLog>(
      `SELECT ${SELECTED} FROM logs ${whereOf(where)} ORDER BY created_at DESC, id DESC
        LIMIT 1 BY created_at, id LIMIT {countMax:UInt64} OFFSET {skip:UInt64}`,
      { ...params, countMax, skip },
    )
  return {
    client,
    read,
    async newestRows({ where, params }, { countMax, skip = 0 }, settings) {
      if (skip > 0) return skipped({ where, params }, { countMax, skip })
      // A row that arrived twice is read twice, one after the other.
      const rows = new Map<string, StoredLog>()
      let place: Conditions = { where: [], params: {} }
      for (;;) {
        const wanted = countMax - rows.size
        const found = await read<StoredLog>(
          `SELECT ${SELECTED} FROM logs ${whereOf([...where, ...place.where])}
            ORDER BY created_at DESC, id DESC LIMIT {wanted:UInt64}`,
          { ...params, ...place.params, wanted },
          settings,
        )
        for (const row of found) rows.set(`${row.created_at} ${row.id}`, row)
        const last = found.at(-1)
        if (last === undefined || found.length < wanted || rows.size >= countMax) {
          return [...rows.values()]
        }
        place = behind(last)
      }
    },
  }
}

/** Conditions of the rows behind a row. The first one lets the key skip newer granules. */
const behind = ({ created_at, id }: Pick<StoredLog, 'created_at' | 'id'>): Conditions => ({
  where: [
    'created_at <= {placeTime:Int64}',
    '(created_at, id) < ({placeTime:Int64}, {placeId:UInt64})',
  ],
  params: { placeTime: created_at, placeId: id },
})

function rowReads(
  { read, newestRows }: Access,
  ledger: Queries,
): Pick<
  LogStorage,
  'page' | 'newest' | 'beginningWith' | 'find' | 'sums' | 'exportRows' | 'findTrace'
> {
  function exported(source: RowSource): Promise<StoredLog[]> {
    if ('ids' in source) {
      const params = { ids: source.ids }
      const byId = { where: ['id IN {ids:Array(UInt64)}'], params }
      return newestRows(byId, { countMax: source.ids.length })
    }
    return newestRows(conditionsOf(source.filter, source.after), source)
  }

  return {
    page: (filter, { after, skip = 0 }) =>
      newestRows(conditionsOf(filter, after), { countMax: PAGE_SIZE, skip }),
    newest: (filter, countMax) => newestRows(conditionsOf(filter, null), { countMax }),
    beginningWith: (text, countMax) =>
      newestRows(
        {
          where: ['startsWith(lowerUTF8(content), lowerUTF8({text:String}))'],
          params: { text },
        },
        { countMax },
        { max_execution_time: LIMIT_MS / 1000, timeout_overflow_mode: 'break' },
      ),
    async find(id, userId) {
      const where = ['id = {id:UInt64}', ...(userId === null ? [] : ['user_id = {userId:Int64}'])]
      const params = { id, userId: userId ?? 0 }
      return (await newestRows({ where, params }, { countMax: 1 }))[0]
    },
    async sums(filter) {
      const calls = conditionsOf({ ...filter, type: LogType.consume }, null)
      const [sums] = await read<LogSums>(
        `SELECT sum(quota) AS quota, sum(prompt_tokens) AS promptTokens,
          sum(completion_tokens) AS completionTokens FROM logs FINAL ${whereOf(calls.where)}`,
        calls.params,
      )
      return sums ?? { quota: 0, promptTokens: 0, completionTokens: 0 }
    },
    async exportRows(source) {
      const rows = await exported(source)
      const last = rows.at(-1)
      const isEnd = last === undefined || (!('ids' in source) && rows.length < source.countMax)
      return {
        rows: await withPrices(ledger, rows.map(fileRow)),
        last: isEnd ? null : { createdAt: last.created_at, id: last.id },
      }
    },
    async findTrace(requestId) {
      if (requestId === '') return null
      const [row] = await read<{ trace: string }>(
        'SELECT trace FROM route_traces WHERE request_id = {requestId:String} LIMIT 1',
        { requestId },
      )
      return row?.trace ?? null
    },
  }
}

/** Conditions of captured texts in seconds `start` to `end`, and of their user. */
const bodiesIn = ({ userId }: LogFilterValues): string[] => [
  'created_at >= {start:Int64} AND created_at <= {end:Int64}',
  ...(userId === undefined ? [] : ['user_id = {userId:Int64}']),
]

function bodyReads(
  { read, newestRows }: Access,
  clock: Clock,
): Pick<LogStorage, 'requestsWithBody' | 'bodyTexts' | 'searchBodies'> {
  /** Rows whose captured texts contain those of the filter, in seconds `from` to `to`. */
  function rowsWithTexts(
    filter: LogFilterValues,
    after: LogPosition | null,
    { from, to }: { from: number; to: number },
  ): Promise<StoredLog[]> {
    const range = { ...filter, start_timestamp: from, end_timestamp: to }
    const { where, params } = conditionsOf(range, after)
    const bodies = whereOf([
      ...bodiesIn(filter),
      'position(request, {request:String}) > 0 AND position(response, {response:String}) > 0',
    ])
    const contains = `request_id IN (SELECT request_id FROM log_bodies ${bodies})`
    const { request = '', response = '' } = filter
    return newestRows(
      {
        where: [...where, contains],
        params: { ...params, start: from, end: to, request, response },
      },
      { countMax: PAGE_SIZE },
    )
  }

  /** Time of the newest captured text up to a second, or null. */
  async function newestBody(filter: LogFilterValues, end: number): Promise<number | null> {
    const [row] = await read<{ created_at: number }>(
      `SELECT created_at FROM log_bodies ${whereOf(bodiesIn(filter))}
        ORDER BY created_at DESC LIMIT 1`,
      { start: filter.start_timestamp, end, userId: filter.userId ?? 0 },
    )
    return row?.created_at ?? null
  }

  return {
    async requestsWithBody(requestIds) {
      const ids = requestIds.filter((id) => id !== null && id !== '')
      if (ids.length === 0) return new Set()
      const rows = await read<{ request_id: string }>(
        'SELECT DISTINCT request_id FROM log_bodies WHERE request_id IN {ids:Array(String)}',
        { ids },
      )
      return new Set(rows.map(({ request_id }) => request_id))
    },
    async bodyTexts(requestIds) {
      if (requestIds.length === 0) return new Map()
      const rows = await read<BodyTexts & { request_id: string }>(
        `SELECT request_id, request, response FROM log_bodies
          WHERE request_id IN {ids:Array(String)} LIMIT 1 BY request_id`,
        { ids: requestIds },
      )
      return new Map(rows.map(({ request_id, ...texts }) => [request_id, texts]))
    },
    /**
     * From the newest text backwards, in ranges that double, until a page is full, the time is up,
     * or there are no older texts.
     */
    async searchBodies(filter, after): Promise<LogRows> {
      const endMs = clock.monotonicMs() + LIMIT_MS
      const rows: StoredLog[] = []
      let to = Math.min(
        filter.end_timestamp || Number.MAX_SAFE_INTEGER,
        after?.createdAt ?? Number.MAX_SAFE_INTEGER,
      )
      for (let seconds = SECONDS_PER_HOUR; ; seconds *= 2) {
        const newest = await newestBody(filter, to)
        if (newest === null) return { rows }
        const from = Math.max(filter.start_timestamp, newest - seconds)
        rows.push(...(await rowsWithTexts(filter, after, { from, to: newest })))
        if (rows.length >= PAGE_SIZE) return { rows: rows.slice(0, PAGE_SIZE) }
        to = from - 1
        if (clock.monotonicMs() > endMs && (await newestBody(filter, to)) !== null) {
          return { rows, searchedFrom: from }
        }
      }
    },
  }
}

const whereOf = (where: readonly string[]): string =>
  where.length === 0 ? '' : `WHERE ${where.join(' AND ')}`

function conditionsOf(filter: LogFilterValues, after: LogPosition | null): Conditions {
  const { userId, type, username, token_name, model_name, channel, request_id } = filter
  const wanted: [string, string, unknown][] = [
    ['type <> {other:Int32}', 'other', filter.isOther === true ? LogType.consume : undefined],
    ['user_id = {userId:Int64}', 'userId', userId],
    ['type = {type:Int32}', 'type', type === LogType.all ? undefined : type],
    ['username = {username:String}', 'username', username || undefined],
    ['token_name = {token:String}', 'token', token_name || undefined],
    ['model_name = {model:String}', 'model', model_name || undefined],
    ['channel_id = {channel:Int64}', 'channel', channel || undefined],
    ['request_id = {requestId:String}', 'requestId', request_id || undefined],
    ['created_at >= {start:Int64}', 'start', filter.start_timestamp || undefined],
    ['created_at <= {end:Int64}', 'end', filter.end_timestamp || undefined],
    ['created_at <= {afterTime:Int64}', 'afterTime', after?.createdAt],
    ['(created_at, id) < ({afterTime:Int64}, {afterId:UInt64})', 'afterId', after?.id],
  ]
  const given = wanted.filter(([, , value]) => value !== undefined)
  return {
    where: given.map(([condition]) => condition),
    params: Object.fromEntries(given.map(([, name, value]) => [name, value])),
  }
}

/** Adopted rows may lack values; these columns cannot. */
const storedRow = (row: StoredLog): Record<(typeof COLUMNS)[number], unknown> => ({
  ...row,
  content: row.content ?? '',
  username: row.username ?? '',
  token_name: row.token_name ?? '',
  model_name: row.model_name ?? '',
  quota: row.quota ?? 0,
  prompt_tokens: row.prompt_tokens ?? 0,
  completion_tokens: row.completion_tokens ?? 0,
  channel_id: row.channel_id ?? 0,
  request_id: row.request_id ?? '',
  elapsed_time: row.elapsed_time ?? 0,
  is_stream: row.is_stream ?? false,
  system_prompt_reset: row.system_prompt_reset ?? false,
})

const textRow = async ({ request, response, ...body }: LogBodyRow) => ({
  ...body,
  ...(await unpackedBody({ request, response })),
})

/** A row of a file; its columns are never null here, see `storedRow`. */
const fileRow = ({ channel_id, ...row }: StoredLog): ExportRow =>
  ({ ...row, channel: channel_id, price: null }) as ExportRow
