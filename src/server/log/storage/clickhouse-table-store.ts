import type { ClickHouseClient } from '@clickhouse/client'
import { ConfigError } from '../../config.ts'

/** The tables of the log in ClickHouse: their form, and the deletion of what has expired. */

export const COLUMNS = [
  'id',
  'user_id',
  'created_at',
  'type',
  'content',
  'username',
  'token_name',
  'model_name',
  'quota',
  'prompt_tokens',
  'completion_tokens',
  'channel_id',
  'request_id',
  'elapsed_time',
  'is_stream',
  'system_prompt_reset',
] as const

const utc = (unit: string): string => `${unit}(toDateTime(created_at, 'UTC'))`
/** Lets a filter skip the granules that do not contain its value. */
const skipping = (column: string): string =>
  `INDEX gh_${column} ${column} TYPE bloom_filter(0.01) GRANULARITY 1`

/** Each of them does nothing if the table exists. */
const TABLES = [
  `CREATE TABLE IF NOT EXISTS logs (
    id UInt64 CODEC(Delta, ZSTD), user_id Int64, created_at Int64 CODEC(Delta, ZSTD), type Int32,
    content String CODEC(ZSTD), username String, token_name String,
    model_name LowCardinality(String), quota Int64, prompt_tokens Int64, completion_tokens Int64,
    channel_id Int64, request_id String CODEC(ZSTD), elapsed_time Int64, is_stream Bool,
    system_prompt_reset Bool, INDEX gh_id id TYPE minmax GRANULARITY 1,
    ${['user_id', 'username', 'token_name', 'model_name', 'channel_id', 'request_id'].map(skipping).join(', ')},
    INDEX gh_type type TYPE set(8) GRANULARITY 1
  ) ENGINE = ReplacingMergeTree PARTITION BY ${utc('toYYYYMM')} ORDER BY (created_at, id)`,
  `CREATE TABLE IF NOT EXISTS log_bodies (
    request_id String CODEC(ZSTD), created_at Int64 CODEC(Delta, ZSTD), user_id Int64, mode String,
    request String CODEC(ZSTD(3)), response String CODEC(ZSTD(3)), ${skipping('request_id')}
  ) ENGINE = ReplacingMergeTree PARTITION BY ${utc('toYYYYMMDD')} ORDER BY (created_at, request_id)`,
  `CREATE TABLE IF NOT EXISTS route_traces (
    request_id String CODEC(ZSTD), created_at Int64 CODEC(Delta, ZSTD),
    trace String CODEC(ZSTD(3)), ${skipping('request_id')}
  ) ENGINE = ReplacingMergeTree PARTITION BY ${utc('toYYYYMMDD')} ORDER BY (created_at, request_id)`,
]

export type Table = 'logs' | 'log_bodies' | 'route_traces'

/** Creates missing tables. Throws `ConfigError` if the log's table belongs to another program. */
export async function prepareTables(client: ClickHouseClient): Promise<void> {
  await refuseOtherTable(client)
  for (const query of TABLES) await client.command({ query })
}

/** Throws if the log's table belongs to another program. */
async function refuseOtherTable(client: ClickHouseClient): Promise<void> {
  const answer = await client.query({
    query: `SELECT name FROM system.columns
      WHERE database = currentDatabase() AND table = 'logs'`,
    format: 'JSONEachRow',
  })
  const names = (await answer.json<{ name: string }>()).map(({ name }) => name)
  if (names.length > 0 && !COLUMNS.every((name) => names.includes(name))) {
    throw new ConfigError(
      'LOG_DSN: its table `logs` is not a log of Gatehouse; name an empty database',
    )
  }
}

/**
 * Drops the partitions that end before a second, which frees their space immediately, and deletes
 * the rows of the one that contains it. Returns the number of rows.
 */
export async function deleteBefore(
  client: ClickHouseClient,
  table: Table,
  seconds: number,
): Promise<number> {
  const query_params = { seconds }
  const isOlder = 'created_at < {seconds:Int64}'
  const answer = await client.query({
    query: `SELECT _partition_id AS partition, count() AS rows FROM ${table} FINAL
      WHERE ${isOlder} GROUP BY partition`,
    query_params,
    format: 'JSONEachRow',
  })
  const found = await answer.json<{ partition: string; rows: number }>()
  const isWhole = ({ partition }: { partition: string }): boolean => endOf(partition) <= seconds
  for (const { partition } of found.filter(isWhole)) {
    await client.command({ query: `ALTER TABLE ${table} DROP PARTITION ID '${partition}'` })
  }
  if (!found.every(isWhole)) {
    await client.command({ query: `DELETE FROM ${table} WHERE ${isOlder}`, query_params })
  }
  return found.reduce((sum, { rows }) => sum + rows, 0)
}

/** First second after a partition, `202701` of a month or `20270115` of a day, in UTC. */
function endOf(partition: string): number {
  const match = /^(\d{4})(\d\d)(\d\d)?$/.exec(partition)
  if (match === null) return Infinity
  const [year, month, day] = [match[1], match[2], match[3]].map(Number)
  const isMonth = match[3] === undefined
  const end = isMonth
    ? Date.UTC(year ?? 0, month ?? 0, 1)
    : Date.UTC(year ?? 0, (month ?? 1) - 1, (day ?? 0) + 1)
  return end / 1000
}
