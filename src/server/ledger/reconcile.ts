import { sql, type Kysely } from 'kysely'
import type { Database, Queries } from '../db/database.ts'
import { ADOPTED_AT, ADOPTED_LOG_ID, LOGS_DELETED_BEFORE } from '../db/setting-names.ts'
import type { Schema } from '../db/schema.ts'
import { limitChecks } from './limit/reconcile-limits.ts'
import { balanceChecks, type Check, type Differences, type Scope } from './reconcile-balances.ts'
import { compareCosts } from './reconcile-costs.ts'
import { countUnlogged, recordChecks } from './reconcile-records.ts'
import { rollupChecks } from './reconcile-rollups.ts'

/**
 * Recomputes every balance, counter and rollup from the ledger and reports each difference. It
 * reads one snapshot, so it can run beside a live server. The database does the summing, so memory
 * use does not grow with the ledger. On SQLite the write-ahead log cannot be truncated while it
 * runs.
 */
export interface ReconcileReport extends Differences {
  /** Billed calls without a log row: deleted since, or never kept. That is no difference. */
  callsWithoutLog: number
  /** Number of users with a negative balance and their total debt in points; not a difference. */
  owed: { users: number; points: number }
}

export const reconcile = (database: Pick<Database, 'engine' | 'heavy'>): Promise<ReconcileReport> =>
  inSnapshot(database, (db) => reconcileWithin(db, database.engine))

/** Reconciles within the caller's transaction, which sees its own writes. */
export async function reconcileWithin(
  db: Queries,
  engine: Database['engine'],
): Promise<ReconcileReport> {
  const scope: Scope = {
    engine,
    adoptedAt: await settingNumber(db, ADOPTED_AT),
    adoptedLogId: await settingNumber(db, ADOPTED_LOG_ID),
    logsDeletedBefore: await settingNumber(db, LOGS_DELETED_BEFORE),
  }
  const callsWithoutLog = await countUnlogged(db)
  const owed = await countOwed(db)
  const report: ReconcileReport = { differences: [], count: 0, callsWithoutLog, owed }
  const checks = [
    ...balanceChecks(scope),
    ...recordChecks(scope),
    ...limitChecks(),
    ...rollupChecks(scope, { isEveryCallLogged: callsWithoutLog === 0 }),
  ]
  for (const check of checks) await compare(db, check, report)
  await compareCosts(db, report, DIFFERENCES_PER_CHECK)
  return report
}

async function countOwed(db: Queries): Promise<ReconcileReport['owed']> {
  const { rows } = await sql<{ users: number; points: number }>`
    SELECT count(*) AS users, CAST(coalesce(sum(-quota), 0) AS bigint) AS points
    FROM users WHERE quota < 0`.execute(db)
  return { users: Number(rows[0]?.users ?? 0), points: Number(rows[0]?.points ?? 0) }
}

/** Returns -1 if not set. */
async function settingNumber(db: Queries, name: string): Promise<number> {
  const row = await db
    .selectFrom('settings')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return row === undefined ? -1 : Number(row.value)
}

/** Runs reads on one snapshot of the database. */
export async function inSnapshot<T>(
  { engine, heavy }: Pick<Database, 'engine' | 'heavy'>,
  work: (db: Kysely<Schema>) => Promise<T>,
): Promise<T> {
  if (engine === 'postgres') {
    return heavy
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute(work)
  }
  return heavy.connection().execute(async (db) => {
    // Sorting a large ledger must use temporary files on disk, not memory.
    await sql`PRAGMA temp_store = FILE`.execute(db)
    await sql`BEGIN`.execute(db)
    try {
      return await work(db)
    } finally {
      await sql`ROLLBACK`.execute(db)
      await sql`PRAGMA temp_store = MEMORY`.execute(db)
    }
  })
}

const DIFFERENCES_PER_CHECK = 100

/**
 * Runs a check, whose rows have a `subject` and pairs of columns `<figure>_should` and
 * `<figure>_is`. Rows with an unequal pair are differences.
 */
async function compare(db: Queries, check: Check, report: ReconcileReport): Promise<void> {
  const figures = Object.keys(check.figures)
  const text = (column: string) => sql`CAST(${sql.ref(column)} AS text) AS ${sql.ref(column)}`
  const columns = figures.flatMap((figure) => [text(`${figure}_should`), text(`${figure}_is`)])
  const unequal = figures.map(
    (figure) => sql`coalesce(${sql.ref(`${figure}_should`)} <> ${sql.ref(`${figure}_is`)}, true)`,
  )
  // Read as text, because an invalid figure may be outside JavaScript's integer range.
  const { rows } = await sql<Record<string, string | number>>`
    SELECT CAST(subject AS text) AS subject, ${sql.join(columns)}, count(*) OVER () AS total
    FROM (${check.rows}) AS compared
    WHERE ${sql.join(unequal, sql` OR `)}
    ORDER BY 1 LIMIT ${DIFFERENCES_PER_CHECK}
  `.execute(db)
  report.count += Number(rows[0]?.['total'] ?? 0)
  for (const row of rows) {
    const unlike = figures.filter((name) => row[`${name}_should`] !== row[`${name}_is`])
    const sentences = unlike.map((name) => {
      const invariant = check.figures[name] ?? ''
      const [is, should] = [row[`${name}_is`], row[`${name}_should`]]
      return `${invariant} ${name} is ${is ?? 'missing'}, the ledger says ${should ?? 'none'}`
    })
    report.differences.push(`${check.subject} ${row['subject']}: ${sentences.join('; ')}`)
  }
}
