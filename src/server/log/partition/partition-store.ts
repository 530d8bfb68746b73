import { sql, type Kysely } from 'kysely'
import { AdvisoryLock } from '../../db/advisory-locks.ts'
import type { Queries } from '../../db/database.ts'
import type { Schema } from '../../db/schema.ts'
import { monthName, nextMonth } from './month.ts'

/**
 * `logs` on PostgreSQL as a table of monthly partitions, after `gatehouse partition-logs`. Expired
 * months are detached and dropped, which takes milliseconds and frees their space.
 */

/** Rows of a time without a partition; an insert must never fail. */
const REST = 'logs_rest'
/** Constraint that spares scans of the old table. */
const OLD_TIMES = 'gh_logs_old_times'
const NEW_KEY = 'gh_logs_id_time'
/** Time that a change of the table waits for its lock; calls queue behind it meanwhile. */
const LOCK_WAIT = '2s'

export async function isPartitioned(db: Queries): Promise<boolean> {
  const { rows } = await sql<{ kind: string }>`
    SELECT CAST(relkind AS text) AS kind FROM pg_class WHERE oid = to_regclass('logs')
  `.execute(db)
  return rows[0]?.kind === 'p'
}

/**
 * Marks this connection's session as converting, until it ends. Returns false if another session is
 * converting.
 */
export async function beginConversion(db: Queries): Promise<boolean> {
  const { rows } = await sql<{ is_held: boolean }>`
    SELECT pg_try_advisory_lock(${sql.lit(AdvisoryLock.logConversion)}) AS is_held`.execute(db)
  return rows[0]?.is_held === true
}

/**
 * Removes the constraint of a conversion that was killed: from its month on it would reject every
 * row, and with it every settlement. Call in a transaction.
 */
export async function removeLeftOver(trx: Queries): Promise<void> {
  const { rows } = await sql<{ is_left: boolean }>`
    SELECT EXISTS (SELECT 1 FROM pg_constraint
      WHERE conrelid = to_regclass('logs') AND conname = ${OLD_TIMES}) AS is_left`.execute(trx)
  if (rows[0]?.is_left !== true) return
  const free = await sql<{ is_free: boolean }>`
    SELECT pg_try_advisory_xact_lock(${sql.lit(AdvisoryLock.logConversion)}) AS is_free`.execute(
    trx,
  )
  if (free.rows[0]?.is_free !== true) return
  await sql`SET LOCAL lock_timeout = ${sql.lit(LOCK_WAIT)}`.execute(trx)
  await sql`ALTER TABLE logs DROP CONSTRAINT IF EXISTS ${sql.ref(OLD_TIMES)}`.execute(trx)
}

/** Size of the table, and obstacles to its conversion. */
export interface LogsTable {
  rows: number
  bytes: number
  /** Rows with a time at or after the first partition; null times count as 0. */
  lateRows: number
  nullTimes: number
  /** Views and foreign keys, which would stay with the old table. */
  dependents: string[]
  /** Roles other than the owner that may read or write the table. */
  grantees: string[]
}

export async function inspectLogs(db: Queries, boundary: number): Promise<LogsTable> {
  const { rows } = await sql<Omit<LogsTable, 'dependents' | 'grantees'>>`
    SELECT count(*) AS rows, pg_total_relation_size(to_regclass('logs')) AS bytes,
      count(*) FILTER (WHERE created_at >= ${boundary}) AS "lateRows",
      count(*) FILTER (WHERE created_at IS NULL) AS "nullTimes"
    FROM logs
  `.execute(db)
  const [figures] = rows
  if (figures === undefined) throw new Error('the count of log rows returned nothing')
  const dependents = await sql<{ name: string }>`
    SELECT DISTINCT CAST(r.ev_class::regclass AS text) AS name
    FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid AND d.classid = 'pg_rewrite'::regclass
    WHERE d.refobjid = to_regclass('logs')
    UNION ALL
    SELECT CAST(conname AS text) FROM pg_constraint
    WHERE contype = 'f' AND (confrelid = to_regclass('logs') OR conrelid = to_regclass('logs'))
  `.execute(db)
  const grantees = await sql<{ name: string }>`
    SELECT DISTINCT CAST(grantee AS text) AS name FROM information_schema.role_table_grants
    WHERE table_schema = current_schema() AND table_name = 'logs' AND grantee <> grantor
  `.execute(db)
  return {
    ...figures,
    dependents: dependents.rows.map(({ name }) => name),
    grantees: grantees.rows.map(({ name }) => name),
  }
}

/**
 * Prepares the conversion beside running servers: the key that partitions need, built without
 * blocking writes, and a checked constraint. Can be repeated after a failure. Uses one connection,
 * whose changes from then on wait for locks for a limited time.
 */
export async function prepareLogs(db: Kysely<Schema>, boundary: number): Promise<void> {
  await sql`UPDATE logs SET created_at = 0 WHERE created_at IS NULL`.execute(db)
  // An index whose building failed is left behind invalid.
  await sql`DROP INDEX IF EXISTS ${sql.ref(NEW_KEY)}`.execute(db)
  await sql`CREATE UNIQUE INDEX CONCURRENTLY ${sql.ref(NEW_KEY)} ON logs (id, created_at)`.execute(
    db,
  )
  await sql`SET lock_timeout = ${sql.lit(LOCK_WAIT)}`.execute(db)
  await sql`ALTER TABLE logs DROP CONSTRAINT IF EXISTS ${sql.ref(OLD_TIMES)}`.execute(db)
  await sql`ALTER TABLE logs ADD CONSTRAINT ${sql.ref(OLD_TIMES)}
    CHECK (created_at IS NOT NULL AND created_at < ${sql.lit(boundary)}) NOT VALID`.execute(db)
  await sql`ALTER TABLE logs VALIDATE CONSTRAINT ${sql.ref(OLD_TIMES)}`.execute(db)
}

/**
 * Makes the table the first partition of a new one with its name, indexes and sequence. Scans
 * nothing, so it takes milliseconds. Call in a transaction, after `prepareLogs`.
 */
export async function swapLogs(trx: Queries, boundary: number): Promise<void> {
  await sql`LOCK TABLE logs IN ACCESS EXCLUSIVE MODE`.execute(trx)
  const indexes = await sql<{ name: string; definition: string; is_key: boolean }>`
    SELECT CAST(c.relname AS text) AS name, pg_get_indexdef(i.indexrelid) AS definition,
      i.indisprimary AS is_key
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = to_regclass('logs') AND c.relname <> ${NEW_KEY}
  `.execute(trx)
  const sequence = await sql<{ name: string | null }>`
    SELECT pg_get_serial_sequence('logs', 'id') AS name`.execute(trx)
  const old = `logs_until_${monthName(boundary)}`
  for (const { name, is_key } of indexes.rows) {
    await (
      is_key
        ? sql`ALTER TABLE logs DROP CONSTRAINT ${sql.ref(name)}`
        : sql`ALTER INDEX ${sql.ref(name)} RENAME TO ${sql.ref(`${name}_until_${monthName(boundary)}`)}`
    ).execute(trx)
  }
  await sql`ALTER TABLE logs ALTER COLUMN created_at SET NOT NULL`.execute(trx)
  await sql`ALTER TABLE logs ADD CONSTRAINT ${sql.ref(`${old}_pkey`)}
    PRIMARY KEY USING INDEX ${sql.ref(NEW_KEY)}`.execute(trx)
  await sql`ALTER TABLE logs RENAME TO ${sql.ref(old)}`.execute(trx)
  await sql`CREATE TABLE logs (LIKE ${sql.table(old)} INCLUDING DEFAULTS)
    PARTITION BY RANGE (created_at)`.execute(trx)
  await sql`ALTER TABLE logs ADD CONSTRAINT logs_pkey PRIMARY KEY (id, created_at)`.execute(trx)
  // They name the table, which is the new one now.
  for (const { definition, is_key } of indexes.rows) {
    if (!is_key) await sql.raw(definition).execute(trx)
  }
  await sql`ALTER TABLE logs ATTACH PARTITION ${sql.table(old)}
    FOR VALUES FROM (MINVALUE) TO (${sql.lit(boundary)})`.execute(trx)
  await sql`ALTER TABLE ${sql.table(old)} DROP CONSTRAINT ${sql.ref(OLD_TIMES)}`.execute(trx)
  await sql`CREATE TABLE ${sql.table(REST)} PARTITION OF logs DEFAULT`.execute(trx)
  const name = sequence.rows[0]?.name ?? null
  if (name !== null) await sql`ALTER SEQUENCE ${sql.raw(name)} OWNED BY logs.id`.execute(trx)
}

/** Creates a month's partition if it is missing. */
export async function createMonth(db: Queries, month: number): Promise<void> {
  const end = nextMonth(month)
  await sql`CREATE TABLE IF NOT EXISTS ${sql.table(`logs_${monthName(month)}`)}
    PARTITION OF logs FOR VALUES FROM (${sql.lit(month)}) TO (${sql.lit(end)})`.execute(db)
}

/** A partition with an upper bound, which is exclusive. */
export interface Partition {
  name: string
  /** Null for the first one, which has no lower bound. */
  start: number | null
  end: number
}

export async function partitions(db: Queries): Promise<Partition[]> {
  const { rows } = await sql<{ name: string; bounds: string }>`
    SELECT CAST(c.relname AS text) AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass('logs')
  `.execute(db)
  return rows.flatMap(({ name, bounds }) => {
    const [, start, end] =
      /^FOR VALUES FROM \('?(\d+|MINVALUE)'?\) TO \('(\d+)'\)$/.exec(bounds) ?? []
    if (end === undefined) return []
    return [{ name, start: start === 'MINVALUE' ? null : Number(start), end: Number(end) }]
  })
}

/** Detaches and drops a partition. Returns the number of its rows. Call in a transaction. */
export async function dropPartition(trx: Queries, { name }: Partition): Promise<number> {
  await sql`SET LOCAL lock_timeout = ${sql.lit(LOCK_WAIT)}`.execute(trx)
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) AS count FROM ${sql.table(name)}`.execute(trx)
  await sql`ALTER TABLE logs DETACH PARTITION ${sql.table(name)}`.execute(trx)
  await sql`DROP TABLE ${sql.table(name)}`.execute(trx)
  return rows[0]?.count ?? 0
}
