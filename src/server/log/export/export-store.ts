import { sql, type RawBuilder } from 'kysely'
import { LOG_FILE_COLUMNS, type LogFileRow } from '../../../contract/log-file.ts'
import { LogType } from '../../../contract/log.ts'
import type { Database, Queries } from '../../db/database.ts'
import { filteredLogs, type LogFilterValues, type LogPosition } from '../log-store.ts'

/** Rows to read: a range of the log, or the rows with these ids. */
export type RowSource =
  | { filter: LogFilterValues; after: LogPosition | null; countMax: number }
  | { ids: readonly number[] }

/** A row of the file, with the request id of its call. */
export type ExportRow = LogFileRow & { request_id: string }

/**
 * Scans `countMax` rows after a position and returns those that match the filter. `last` is the
 * last scanned row, or null at the end of the log. The database returns the rows as one JSON text,
 * which costs the event loop less time than separate objects. Where the ledger is in another
 * database (`hasLedger` false), prices are null; `withPrices` adds them.
 */
export async function readRows(
  { heavy: db, engine }: Pick<Database, 'heavy' | 'engine'>,
  source: RowSource,
  { hasLedger }: { hasLedger: boolean },
): Promise<{ rows: ExportRow[]; last: LogPosition | null }> {
  const values = sql.join([
    ...LOG_FILE_COLUMNS.map((name) => sql.ref(`fitting.${name}`)),
    ...(hasLedger ? [sql.ref('ledger.detail'), sql.ref('ledger.debt')] : []),
  ])
  const ledger = hasLedger
    ? sql`LEFT JOIN ledger ON fitting.type = ${sql.lit(LogType.consume)}
          AND ledger.request_id = fitting.request_id AND ledger.kind = 'consume'`
    : sql``
  const order = sql`ORDER BY fitting.created_at DESC, fitting.id DESC`
  const packed =
    engine === 'sqlite'
      ? sql`json_group_array(json_array(${values}) ${order})`
      : sql`CAST(coalesce(json_agg(json_build_array(${values}) ${order}), '[]') AS text)`
  const { rows } = await sql<{ packed: string; created_at: number | null; id: number | null }>`
    WITH looked_at AS MATERIALIZED ${lookedAt(db, source)},
    fitting AS MATERIALIZED (SELECT ${sql.join(COLUMNS)} FROM looked_at WHERE ${fitting(source)})
    SELECT (SELECT ${packed} FROM fitting ${ledger}) AS packed,
      (SELECT created_at FROM looked_at ORDER BY created_at, id LIMIT 1) AS created_at,
      (SELECT id FROM looked_at ORDER BY created_at, id LIMIT 1) AS id
  `.execute(db)
  const [chunk] = rows
  if (chunk === undefined || chunk.created_at === null || chunk.id === null) {
    return { rows: [], last: null }
  }
  // The cast holds because the statement above produces this structure.
  const read = JSON.parse(chunk.packed) as PackedRow[]
  return { rows: read.map(unpacked), last: { createdAt: chunk.created_at, id: chunk.id } }
}

/** Returns rows of another store with the prices that the ledger has booked. */
export async function withPrices(
  ledger: Queries,
  rows: readonly ExportRow[],
): Promise<ExportRow[]> {
  const requests = rows
    .filter(({ type, request_id }) => type === LogType.consume && request_id !== '')
    .map(({ request_id }) => request_id)
  if (requests.length === 0) return [...rows]
  const booked = await ledger
    .selectFrom('ledger')
    .select(['request_id', 'detail', 'debt'])
    .where('request_id', 'in', requests)
    .where('kind', '=', 'consume')
    .execute()
  const prices = new Map(
    booked.map(({ request_id, detail, debt }) => [request_id, bookedPrice(detail, debt)]),
  )
  return rows.map((row) => ({
    ...row,
    price: row.type === LogType.consume ? (prices.get(row.request_id) ?? null) : null,
  }))
}

/** The columns of the file in order, followed by detail and debt of the ledger row. */
type PackedRow = readonly (string | number | boolean | null)[]

function unpacked(values: PackedRow): ExportRow {
  const row: Record<string, unknown> = {}
  for (const [at, name] of LOG_FILE_COLUMNS.entries()) {
    // SQLite has no booleans.
    row[name] = FLAGS.has(name) ? Boolean(values[at]) : values[at]
  }
  const [detail, debt] = values.slice(LOG_FILE_COLUMNS.length)
  row['price'] = typeof detail === 'string' ? bookedPrice(detail, debt) : null
  // The cast holds because every column was set.
  return row as unknown as ExportRow
}

/** Returns the stored price factors; null for rows without them, such as adopted ones. */
function bookedPrice(detail: string, debt: unknown): Record<string, unknown> | null {
  if (!detail.startsWith('{')) return null
  try {
    return { ...Object(JSON.parse(detail)), debt }
  } catch {
    return null
  }
}

/**
 * Returns a subquery in parentheses that scans a range of the index for this filter. The other
 * conditions are checked on its rows. So a filter without matches costs many short scans instead of
 * a long one.
 */
function lookedAt(db: Queries, source: RowSource): RawBuilder<unknown> {
  if ('ids' in source) return sql`(SELECT * FROM logs WHERE id IN (${sql.join(source.ids)}))`
  const { filter, after, countMax } = source
  const { start_timestamp, end_timestamp, isOther } = filter
  const isIndexed = filter.userId === undefined
  const indexed: LogFilterValues = {
    type: 0,
    token_name: '',
    request_id: '',
    start_timestamp,
    end_timestamp,
    model_name: isIndexed && !filter.channel ? filter.model_name : '',
    ...(filter.userId === undefined ? {} : { userId: filter.userId }),
    ...(isIndexed && filter.channel ? { channel: filter.channel } : {}),
    ...(isOther === undefined ? {} : { isOther }),
  }
  let query = filteredLogs(db, indexed).selectAll()
  if (after !== null) {
    query = query.where(sql<boolean>`(created_at, id) < (${after.createdAt}, ${after.id})`)
  }
  return sql`${query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(countMax)}`
}

/** Returns the filter's conditions that the index does not cover. */
function fitting(source: RowSource): RawBuilder<unknown> {
  if ('ids' in source) return sql`1 = 1`
  const { filter } = source
  const texts = {
    username: filter.username ?? '',
    token_name: filter.token_name,
    model_name: filter.model_name,
    request_id: filter.request_id,
  }
  return sql.join(
    [
      sql`1 = 1`,
      ...(filter.type === LogType.all ? [] : [sql`type = ${filter.type}`]),
      ...(filter.channel ? [sql`channel_id = ${filter.channel}`] : []),
      ...Object.entries(texts).flatMap(([column, text]) =>
        text === '' ? [] : [sql`${sql.ref(column)} = ${text}`],
      ),
    ],
    sql` AND `,
  )
}

const TEXTS: ReadonlySet<string> = new Set([
  'content',
  'username',
  'token_name',
  'model_name',
  'request_id',
  'group',
  'priced_as',
  'lines',
])
const FLAGS: ReadonlySet<string> = new Set(['is_stream', 'system_prompt_reset'])

/**
 * The columns with the names and values of the API: no NULL, and `channel` instead of `channel_id`.
 */
const COLUMNS: readonly RawBuilder<unknown>[] = LOG_FILE_COLUMNS.map((name) => {
  const column = sql.ref(name === 'channel' ? 'channel_id' : name)
  const empty = TEXTS.has(name) ? sql`''` : FLAGS.has(name) ? sql`false` : sql`0`
  return sql`coalesce(${column}, ${empty}) AS ${sql.ref(name)}`
})
