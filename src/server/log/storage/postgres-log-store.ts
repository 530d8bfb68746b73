import { sql, type Kysely } from 'kysely'
import { LogType } from '../../../contract/log.ts'
import type { Clock } from '../../clock.ts'
import { ConfigError } from '../../config.ts'
import { postgresHandle, type Queries } from '../../db/database.ts'
import { alone } from '../../db/migrate.ts'
import { patientPoolOf, poolOf } from '../../db/postgres-pool.ts'
import type { Schema } from '../../db/schema.ts'
import { deleteBodiesBefore } from '../body/body-store.ts'
import { deleteOldestRows } from '../cleanup/cleanup-store.ts'
import { readRows, withPrices } from '../export/export-store.ts'
import { logPage, type StoredLog } from '../log-store.ts'
import { deleteOldest, insertTraces } from '../trace/trace-store.ts'
import type { CallSums, RemoteLogStorage } from './log-storage.ts'
import { sqlReads } from './sql-log-store.ts'

/**
 * The log in a PostgreSQL of its own, with the table names and columns of the main database, so
 * that the same statements read it. No settlement pays for its indexes, so each filter has one.
 */

const POOL_SIZE = 4
const SILENCE_MS = 60_000
/** As of the main database's lists and sums. */
const HEAVY_POOL_SIZE = 2
const HEAVY_SILENCE_MS = 600_000

/** `ledger` is the main database, which has the prices of calls. */
export function postgresLogStorage(
  url: string,
  { ledger, clock }: { ledger: Queries; clock: Clock },
): RemoteLogStorage {
  const pool = poolOf(url, { max: POOL_SIZE, silenceMs: SILENCE_MS })
  const heavyPool = poolOf(url, { max: HEAVY_POOL_SIZE, silenceMs: HEAVY_SILENCE_MS })
  const db = postgresHandle(pool)
  const heavy = postgresHandle(heavyPool)
  return {
    ...sqlReads({ read: db, heavy }, clock),
    page: (filter, place) => logPage(heavy, filter, place),
    async exportRows(source) {
      const { rows, last } = await readRows({ heavy, engine: 'postgres' }, source, {
        hasLedger: false,
      })
      return { rows: await withPrices(ledger, rows), last }
    },
    deleteRowsBefore: (seconds, countMax) => deleteOldestRows(db, seconds, countMax),
    deleteBodiesBefore: (seconds, countMax) => deleteBodiesBefore(db, seconds, countMax),
    deleteTracesBefore: (seconds, countMax) =>
      deleteOldest(db, 'route_traces', { seconds, countMax }),
    prepare: () => prepareStore(url),
    async insertLogs(rows) {
      await db
        .insertInto('logs')
        .values(rows.map(storable))
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },
    async insertBodies(rows) {
      await db
        .insertInto('log_bodies')
        .values(rows)
        .onConflict((conflict) => conflict.column('request_id').doNothing())
        .execute()
    },
    insertTraces: (rows) => insertTraces(db, rows),
    callSums: (from, until) => callSums(heavy, from, until),
    async close() {
      await Promise.all([pool.end(), heavyPool.end()])
    },
  }
}

/** SQLite keeps U+0000 in a text, and PostgreSQL would reject the whole batch again and again. */
const storable = (row: StoredLog): StoredLog => ({
  ...row,
  content: withoutNul(row.content),
  username: withoutNul(row.username),
  token_name: withoutNul(row.token_name),
  model_name: withoutNul(row.model_name),
  request_id: withoutNul(row.request_id),
})

const withoutNul = <T extends string | null>(text: T): T | string =>
  text === null ? text : text.replaceAll('\0', '\u{FFFD}')

/** Builds indexes, which may take long on an adopted log, so there is no time limit. */
async function prepareStore(url: string): Promise<number> {
  const pool = patientPoolOf(url, { max: 1 })
  const db = postgresHandle(pool)
  try {
    return await alone(db, 'postgres', async (trx) => {
      await refuseOtherTables(trx)
      for (const statement of TABLES) await sql.raw(statement).execute(trx)
      return highestId(trx)
    })
  } finally {
    await pool.end()
  }
}

async function highestId(db: Kysely<Schema>): Promise<number> {
  const row = await db
    .selectFrom('logs')
    .select((of) => of.fn.max('id').as('id'))
    .executeTakeFirst()
  return row?.id ?? 0
}

/** Columns of the oldest log table of One API that is supported. */
const REQUIRED = ['id', 'user_id', 'created_at', 'type', 'content', 'username', 'quota']

/**
 * Throws if the database is a main database, whose rows the outbox would delete, or has a table
 * `logs` of another program.
 */
async function refuseOtherTables(db: Queries): Promise<void> {
  const { rows } = await sql<{ table_name: string; column_name: string }>`
    SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND table_name IN ('users', 'ledger', 'logs')
  `.execute(db)
  const tables = new Set(rows.map(({ table_name }) => table_name))
  if (tables.has('users') || tables.has('ledger')) {
    throw new ConfigError(
      'LOG_DSN: this is a main database, it has users or a ledger; name an empty database, or one with only a log',
    )
  }
  const columns = new Set(rows.map(({ column_name }) => column_name))
  if (tables.has('logs') && !REQUIRED.every((name) => columns.has(name))) {
    throw new ConfigError(
      'LOG_DSN: its table `logs` is not a log of Gatehouse or One API; name an empty database',
    )
  }
}

const LATER_COLUMNS = [
  'token_name text',
  'model_name text',
  'prompt_tokens bigint',
  'completion_tokens bigint',
  'channel_id bigint',
  'request_id text',
  'elapsed_time bigint',
  'is_stream boolean',
  'system_prompt_reset boolean',
]

const INDEXED = ['user_id', 'username', 'token_name', 'model_name', 'channel_id']

/** Each of them does nothing if it has been done. A log of One API gets what its version lacks. */
const TABLES = [
  // With the time, because a restored main database may give an id again.
  `CREATE TABLE IF NOT EXISTS logs (id bigint NOT NULL, created_at bigint NOT NULL, user_id bigint,
    type bigint, content text, username text, quota bigint, PRIMARY KEY (id, created_at))`,
  ...LATER_COLUMNS.map((column) => `ALTER TABLE logs ADD COLUMN IF NOT EXISTS ${column}`),
  'CREATE INDEX IF NOT EXISTS gh_logs_time ON logs (created_at, id)',
  ...INDEXED.map(
    (column) => `CREATE INDEX IF NOT EXISTS gh_logs_${column} ON logs (${column}, created_at, id)`,
  ),
  'CREATE INDEX IF NOT EXISTS gh_logs_request ON logs (request_id)',
  `CREATE INDEX IF NOT EXISTS gh_logs_other_types ON logs (type, created_at, id) WHERE type <> 2`,
  `CREATE INDEX IF NOT EXISTS gh_logs_other_names ON logs (username, created_at, id)
    WHERE type <> 2`,
  `CREATE TABLE IF NOT EXISTS log_bodies (request_id text PRIMARY KEY, created_at bigint NOT NULL,
    user_id bigint NOT NULL, mode text NOT NULL, request bytea NOT NULL, response bytea NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS gh_log_bodies_time ON log_bodies (created_at, request_id)',
  `CREATE TABLE IF NOT EXISTS route_traces (request_id text PRIMARY KEY,
    created_at bigint NOT NULL, trace text NOT NULL)`,
  'CREATE INDEX IF NOT EXISTS gh_route_traces_age ON route_traces (created_at)',
]

async function callSums(db: Queries, from: number, until: number): Promise<CallSums[]> {
  const keys = ['user_id', 'username', 'token_name', 'model_name', 'channel_id'] as const
  const { rows } = await sql<CallSums>`
    SELECT ${sql.join(keys.map((key) => sql.ref(key)))}, count(*) AS requests,
      CAST(sum(quota) AS bigint) AS quota, CAST(sum(prompt_tokens) AS bigint) AS prompt_tokens,
      CAST(sum(completion_tokens) AS bigint) AS completion_tokens
    FROM logs
    WHERE type = ${LogType.consume} AND created_at >= ${from} AND created_at < ${until}
    GROUP BY ${sql.join(keys.map((key) => sql.ref(key)))}
  `.execute(db)
  return rows
}
