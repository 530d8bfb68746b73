import { sql, type RawBuilder } from 'kysely'
import {
  FORMULA_BLANKS,
  FORMULA_SIGNS,
  LOG_FILE_COLUMNS,
  LOG_FILE_PRICE_COLUMNS,
} from '../../../contract/log-file.ts'
import { LogType } from '../../../contract/log.ts'
import type { Database, Queries } from '../../db/database.ts'
import { filteredLogs, type LogFilterValues, type LogPosition } from '../log-store.ts'
import type { ExportFormat, ZoneOffset } from './export.ts'

/**
 * Rows as the texts that they are in a file, written by the database: its thread or process does
 * the work, and the event loop that relays only passes bytes on.
 */
export interface RowWriting {
  engine: Database['engine']
  format: ExportFormat
  between: string
  /** For the times in CSV. */
  offsets: readonly ZoneOffset[]
  /** Points that make one dollar. */
  quotaPerUnit: number
}

/** Which rows: a stretch of the log, or the ones with these ids. */
export type RowSource =
  | { filter: LogFilterValues; after: LogPosition | null; countMax: number }
  | { ids: readonly number[] }

export interface Chunk {
  /** The rows' texts with `between` between them; null: no row fitted. */
  text: string | Uint8Array | null
  /** The last row that was looked at; null: there is none any more. */
  last: LogPosition | null
}

/** Looks at `countMax` rows after a position and writes those that fit. */
export async function readChunk(
  db: Queries,
  writing: RowWriting,
  source: RowSource,
): Promise<Chunk> {
  const joined = sql`string_agg(${rowText(writing)}, ${sql.lit(writing.between)}
    ORDER BY created_at DESC, id DESC)`
  // As bytes a text crosses from the thread to the loop without being decoded and encoded again.
  const text = writing.engine === 'sqlite' ? sql`CAST(${joined} AS blob)` : joined
  const { rows } = await sql<{
    text: string | Uint8Array | null
    created_at: number | null
    id: number | null
  }>`
    ${chosenRows(db, writing, source)}
    SELECT (SELECT ${text} FROM booked) AS text,
      (SELECT created_at FROM looked_at ORDER BY created_at, id LIMIT 1) AS created_at,
      (SELECT id FROM looked_at ORDER BY created_at, id LIMIT 1) AS id
  `.execute(db)
  const [row] = rows
  if (row === undefined || row.created_at === null || row.id === null) {
    return { text: null, last: null }
  }
  return { text: row.text, last: { createdAt: row.created_at, id: row.id } }
}

/** The same, row by row, with the request that each belongs to. */
export async function readRows(
  db: Queries,
  writing: RowWriting,
  source: RowSource,
): Promise<{ rows: { text: string; request_id: string }[]; last: LogPosition | null }> {
  const { rows } = await sql<{
    text: string | null
    request_id: string
    created_at: number
    id: number
  }>`
    ${chosenRows(db, writing, source)}
    SELECT (SELECT ${rowText(writing)} FROM booked WHERE booked.id = looked_at.id) AS text,
      coalesce(request_id, '') AS request_id, created_at, id
    FROM looked_at ORDER BY created_at DESC, id DESC
  `.execute(db)
  const last = rows.at(-1)
  return {
    rows: rows.flatMap(({ text, request_id }) => (text === null ? [] : [{ text, request_id }])),
    last: last === undefined ? null : { createdAt: last.created_at, id: last.id },
  }
}

function chosenRows(db: Queries, writing: RowWriting, source: RowSource): RawBuilder<unknown> {
  return sql`
    WITH looked_at AS MATERIALIZED ${lookedAt(db, source)},
    written AS MATERIALIZED (SELECT ${sql.join(COLUMNS)} FROM looked_at WHERE ${fitting(source)}),
    booked AS MATERIALIZED (SELECT written.*, ${costInDollars(writing)} AS cost_usd,
      ${bookedPrice(writing)} AS price
      FROM written LEFT JOIN ledger ON written.type = ${sql.lit(LogType.consume)}
        AND ledger.request_id = written.request_id AND ledger.kind = 'consume')`
}

/** Decimals of an amount in dollars: a point is 0.000002, unless the operator says otherwise. */
const DOLLAR_PLACES = 10

/** Exactly what the row's points are; null where the row is no call. */
function costInDollars({ engine, quotaPerUnit }: RowWriting): RawBuilder<unknown> {
  const [unit, places] = [sql.lit(quotaPerUnit), sql.lit(DOLLAR_PLACES)]
  const dollars =
    engine === 'sqlite'
      ? sql`rtrim(rtrim(printf('%.*f', ${places}, quota * 1.0 / ${unit}), '0'), '.')`
      : sql`trim_scale(round(CAST(quota AS numeric) / ${unit}, ${places}))`
  return sql`CASE WHEN written.type = ${sql.lit(LogType.consume)} THEN ${dollars} END`
}

/** The factors as they were booked, an object; null where there are none, as of adopted rows. */
function bookedPrice({ engine }: RowWriting): RawBuilder<unknown> {
  if (engine === 'sqlite') {
    return sql`CASE WHEN detail LIKE '{%' AND json_valid(detail)
      THEN jsonb_set(detail, '$.debt', debt) END`
  }
  // Characters that PostgreSQL's texts cannot hold would end the whole export.
  return sql`CASE WHEN detail LIKE '{%' AND detail !~ '\\\\u(0000|[dD][89a-fA-F])'
    THEN CAST(detail AS jsonb) || jsonb_build_object('debt', debt) END`
}

/**
 * In parentheses, as the query builder writes its own. A stretch of the index that serves the
 * filter; what the index does not know is looked at afterwards. So a filter that nothing fits costs
 * many short looks and never a long one.
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

/** The conditions of a filter that the index did not answer. */
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

/** Each column as it is on the wire: nothing is missing, and a channel is called so. */
const COLUMNS: readonly RawBuilder<unknown>[] = LOG_FILE_COLUMNS.map((name) => {
  const column = sql.ref(name === 'channel' ? 'channel_id' : name)
  const empty = TEXTS.has(name) ? sql`''` : FLAGS.has(name) ? sql`false` : sql`0`
  return sql`coalesce(${column}, ${empty}) AS ${sql.ref(name)}`
})

function rowText(writing: RowWriting): RawBuilder<string> {
  if (writing.format === 'csv') {
    const cells = [
      ...LOG_FILE_COLUMNS.map((name) => cell(name, writing)),
      ...LOG_FILE_PRICE_COLUMNS.map(priceCell),
    ]
    return sql`${sql.join(cells, sql` || ',' || `)}`
  }
  if (writing.engine === 'postgres') return sql`CAST(row_to_json(booked) AS text)`
  const members = LOG_FILE_COLUMNS.map((name) => {
    const value = sql.ref(name)
    // SQLite has no booleans; this is how JSON's are written.
    const flag = sql`json(CASE WHEN ${value} THEN 'true' ELSE 'false' END)`
    return sql`${sql.lit(name)}, ${FLAGS.has(name) ? flag : value}`
  })
  const ours = sql`'cost_usd', json(cost_usd), 'price', json(price)`
  return sql`json_object(${sql.join(members)}, ${ours})`
}

function cell(name: (typeof LOG_FILE_COLUMNS)[number], writing: RowWriting): RawBuilder<unknown> {
  const value = sql.ref(name)
  if (FLAGS.has(name)) return sql`CASE WHEN ${value} THEN '"true"' ELSE '"false"' END`
  if (name === 'created_at') return sql`'"' || ${localTime(writing)} || '"'`
  return TEXTS.has(name) ? textCell(value) : sql`'"' || CAST(${value} AS text) || '"'`
}

function priceCell(name: (typeof LOG_FILE_PRICE_COLUMNS)[number]): RawBuilder<unknown> {
  const value = name === 'cost_usd' ? sql`CAST(cost_usd AS text)` : sql`price ->> ${sql.lit(name)}`
  const text = sql`coalesce(${value}, '')`
  return TEXTS.has(name) ? textCell(text) : sql`'"' || ${text} || '"'`
}

function textCell(value: RawBuilder<unknown>): RawBuilder<unknown> {
  const isFormula = sql`substr(ltrim(${value}), 1, 1) IN (${literals(FORMULA_SIGNS)})
    OR substr(${value}, 1, 1) IN (${literals(FORMULA_BLANKS)})`
  return sql`'"' || CASE WHEN ${isFormula} THEN '''' ELSE '' END
    || replace(${value}, '"', '""') || '"'`
}

const literals = (texts: readonly string[]): RawBuilder<unknown> =>
  sql.join(texts.map((text) => sql.lit(text)))

function localTime({ engine, offsets }: RowWriting): RawBuilder<unknown> {
  const local = sql`(created_at + ${offsetOf(offsets)})`
  return engine === 'sqlite'
    ? sql`strftime('%Y-%m-%d %H:%M:%S', ${local}, 'unixepoch')`
    : sql`to_char(to_timestamp(${local}) AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')`
}

function offsetOf(offsets: readonly ZoneOffset[]): RawBuilder<unknown> {
  const [only] = offsets
  if (only === undefined) return sql`0`
  if (offsets.length === 1) return sql.lit(only.seconds)
  const oldest = offsets.at(-1) ?? only
  const whens = offsets
    .slice(0, -1)
    .map(({ from, seconds }) => sql`WHEN created_at >= ${sql.lit(from)} THEN ${sql.lit(seconds)}`)
  return sql`CASE ${sql.join(whens, sql` `)} ELSE ${sql.lit(oldest.seconds)} END`
}

/** Seconds of the oldest and the newest row; null: there are none. */
export async function logRange(db: Queries): Promise<{ from: number; until: number } | null> {
  const { rows } = await sql<{ oldest: number | null; newest: number | null }>`
    SELECT (SELECT min(created_at) FROM logs) AS oldest,
      (SELECT max(created_at) FROM logs) AS newest
  `.execute(db)
  const [row] = rows
  return row === undefined || row.oldest === null || row.newest === null
    ? null
    : { from: row.oldest, until: row.newest }
}
