/**
 * Generates years of calls in minutes: log rows and their sums, written in SQL. Every value is
 * derived from the row number, so that the result is reproducible.
 */
import Sqlite from 'better-sqlite3'
import pg from 'pg'
import { systemClock } from '../../src/server/clock.ts'
import { openDatabase } from '../../src/server/commands/open-database.ts'
import type { StoredLog } from '../../src/server/log/log-store.ts'
import { openLogStorage } from '../../src/server/log/storage/open-log-storage.ts'

export type Filling = { rows: number; days: number; nowSeconds: number }

const USERS = 2000
const MODELS = 100
const CHANNELS = 60
const TOKEN_NAMES = 3000
/** Every fourth token has the same, most common name. */
const COMMON_TOKEN = "CASE WHEN h3 % 4 = 0 THEN '默认' ELSE 'token-' || (u * 3 + h3 % 3) END"
const CHUNK_ROWS = 500_000
const SECONDS_PER_DAY = 86_400

/** The secondary indexes of `logs` are created afterwards, which takes a third of the time. */
const LOG_INDEXES: Record<string, string> = {
  gh_logs_time: '(created_at, id)',
  gh_logs_user: '(user_id, created_at, id)',
  gh_logs_model: '(model_name, created_at, id)',
  gh_logs_channel: '(channel_id, created_at, id)',
}

/** A pseudo-random number from 0 to 9,999, derived from `n`. */
const hash = (salt: number): string =>
  `(((n + ${salt}) * 48271 + ${salt * 7919}) % 1000003 % 10000)`
/** A skewed distribution from 0 to `count` - 1: mostly low numbers. */
const skewed = (source: string, count: number): string =>
  `(${count} * ${source} / 10000 * ${source} / 10000 * ${source} / 10000)`

function rowsFrom(numbers: string, { rows, days, nowSeconds }: Filling): string {
  const start = nowSeconds - days * SECONDS_PER_DAY
  return `
    INSERT INTO logs (id, user_id, created_at, type, content, username, token_name, model_name,
      quota, prompt_tokens, completion_tokens, channel_id, request_id, elapsed_time)
    SELECT n, u + 1, ${start} + n * ${days * SECONDS_PER_DAY} / ${rows},
      CASE WHEN n % 199 = 0 THEN 5 WHEN n % 997 = 0 THEN 1 ELSE 2 END,
      '倍率：1.50 × 1.00 × 4.00', 'user-' || u, ${COMMON_TOKEN}, 'model-' || m,
      100 + h1, 50 + h2 / 10, 20 + h3 / 20, (m * 7 + h3 % 4) % ${CHANNELS} + 1,
      'request-' || n, 500 + h2
    FROM (SELECT n, h1, h2, h3, ${skewed('h1', USERS)} AS u, ${skewed('h2', MODELS)} AS m
      FROM (SELECT n, ${hash(1)} AS h1, ${hash(2)} AS h2, ${hash(3)} AS h3 FROM ${numbers}) AS a
    ) AS b`
}

const SUMS = 'count(*), sum(quota), sum(prompt_tokens), sum(completion_tokens)'
const FIGURES = 'requests, quota, prompt_tokens, completion_tokens'
const rollups = [
  `INSERT INTO usage_hourly (hour, user_id, username, token_name, model_name, ${FIGURES})
    SELECT created_at - created_at % 3600, user_id, username, token_name, model_name, ${SUMS}
    FROM logs WHERE type = 2 GROUP BY 1, 2, 3, 4, 5`,
  `INSERT INTO channel_usage_hourly (hour, channel_id, model_name, ${FIGURES})
    SELECT created_at - created_at % 3600, channel_id, model_name, ${SUMS}
    FROM logs WHERE type = 2 GROUP BY 1, 2, 3`,
  `INSERT INTO usage_daily (day, user_id, model_name, ${FIGURES})
    SELECT created_at - created_at % ${SECONDS_PER_DAY}, user_id, model_name, ${SUMS}
    FROM logs WHERE type = 2 GROUP BY 1, 2, 3`,
]

const TOTALS = 'sum(requests), sum(quota), sum(prompt_tokens), sum(completion_tokens)'
/** The server's hourly sums, computed in one statement. */
const sums = (filling: Filling): string[] => {
  const until = filling.nowSeconds - (filling.nowSeconds % 3600) - 7200
  const part = (subject: string, from: string, names: { name: string; model: string }): string => {
    const unit = subject.endsWith('_hours') ? 3600 : SECONDS_PER_DAY
    return `INSERT INTO usage_sums (subject, model_name, name, start, ${FIGURES})
      SELECT '${subject}', ${names.model}, ${names.name}, hour - hour % ${unit}, ${TOTALS}
      FROM ${from} WHERE hour < ${until} GROUP BY 2, 3, 4`
  }
  const channel = 'CAST(channel_id AS text)'
  const ownToken = "CAST(user_id AS text) || ' ' || token_name"
  return [
    ...["''", 'model_name'].flatMap((model) => [
      part('all', 'channel_usage_hourly', { name: "''", model }),
      part('all_hours', 'channel_usage_hourly', { name: "''", model }),
      part('channel', 'channel_usage_hourly', { name: channel, model }),
      part('username', 'usage_hourly', { name: 'username', model }),
    ]),
    part('channel_hours', 'channel_usage_hourly', { name: channel, model: "''" }),
    part('token', 'usage_hourly', { name: 'token_name', model: "''" }),
    part('own_token', 'usage_hourly', { name: ownToken, model: "''" }),
    part('user', 'usage_hourly', { name: 'CAST(user_id AS text)', model: "''" }),
    `INSERT INTO settings (name, value) VALUES ('usage_sums_until', '${until}:0')`,
  ]
}

type Run = (statement: string) => unknown

async function fill(run: Run, filling: Filling, numbers: (from: number, to: number) => string) {
  for (const name of Object.keys(LOG_INDEXES)) await run(`DROP INDEX ${name}`)
  for (let from = 1; from <= filling.rows; from += CHUNK_ROWS) {
    const to = Math.min(filling.rows, from + CHUNK_ROWS - 1)
    await run(rowsFrom(numbers(from, to), filling))
  }
  for (const [name, columns] of Object.entries(LOG_INDEXES)) {
    await run(`CREATE INDEX ${name} ON logs ${columns}`)
  }
  for (const statement of [...rollups, ...sums(filling)]) await run(statement)
}

/** Fills a database with empty tables. */
export async function fillSqlite(file: string, filling: Filling): Promise<void> {
  const database = new Sqlite(file)
  try {
    database.pragma('synchronous = OFF')
    database.pragma('cache_size = -400000')
    const numbers = (from: number, to: number) =>
      `(WITH RECURSIVE counted (n) AS (SELECT ${from} UNION ALL SELECT n + 1 FROM counted
        WHERE n < ${to}) SELECT n FROM counted) AS numbers`
    await fill((statement) => database.exec(statement), filling, numbers)
    database.exec(`UPDATE id_counters SET next = ${filling.rows + 1} WHERE name = 'logs'`)
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
}

/** Fills a database with empty tables. */
export async function fillPostgres(url: string, filling: Filling): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    await client.query('SET synchronous_commit = off')
    await client.query("SET maintenance_work_mem = '512MB'; SET work_mem = '256MB'")
    const numbers = (from: number, to: number) =>
      `generate_series(${from}::bigint, ${to}::bigint) AS numbers (n)`
    await fill((statement) => client.query(statement), filling, numbers)
    await client.query(`SELECT setval(pg_get_serial_sequence('logs', 'id'), ${filling.rows})`)
    await client.query('VACUUM ANALYZE')
  } finally {
    await client.end()
  }
}

const MOVED_ROWS = 50_000

/** Moves the log rows of a filled SQLite file to the store of `dsn`; the sums stay in the file. */
export async function moveToClickhouse(file: string, dsn: string): Promise<void> {
  const database = await openDatabase({ engine: 'sqlite', path: file })
  const { remote } = openLogStorage({ LOG_DSN: dsn }, { database, clock: systemClock })
  if (remote === null) throw new Error('there is no store')
  const logs = new Sqlite(file)
  try {
    await remote.prepare()
    const next = logs.prepare<[number, number], StoredLog>(
      'SELECT * FROM logs WHERE id > ? ORDER BY id LIMIT ?',
    )
    let rows = next.all(0, MOVED_ROWS)
    while (rows.length > 0) {
      await remote.insertLogs(rows)
      rows = next.all(rows.at(-1)?.id ?? 0, MOVED_ROWS)
    }
    logs.exec('DELETE FROM logs')
  } finally {
    logs.close()
    await remote.close()
    await database.close()
  }
}

/** Names and numbers in the generated rows, some frequent and some absent. */
export const LOG_NAMES = {
  users: USERS,
  commonModel: 'model-0',
  rareModel: `model-${MODELS - 1}`,
  heavyUser: 'user-0',
  lightUser: `user-${USERS - 1}`,
  commonToken: '默认',
  rareToken: `token-${TOKEN_NAMES}`,
  channel: 8,
  unknown: 'nobody-has-this-name',
} as const
