import type { Transaction } from 'kysely'
import { countRows, readTables } from '../adopt/adopt-store.ts'
import { widenTexts } from '../adopt/import-store.ts'
import { originOf } from '../adopt/one-api-tables.ts'
import { openBare, type BareDatabase, type Progress } from '../db/database.ts'
import { alone, migrateWithin } from '../db/migrate.ts'
import type { Schema } from '../db/schema.ts'
import { readOrCreateSetting } from '../db/setting-store.ts'
import { reconcile, reconcileWithin } from '../ledger/reconcile.ts'
import { moveRows, type OddTexts } from './move-rows.ts'
import { MoveError } from './move-value.ts'
import type { MoveSource } from './source-store.ts'
import { analyze, continueIds, targetTables, type TargetTable } from './target-store.ts'

/**
 * Tables that are not moved: PostgreSQL has its own list of migrations and counts ids with
 * sequences; processes are new ones.
 */
export const LEFT_OUT: ReadonlySet<string> = new Set([
  'schema_migrations',
  'id_counters',
  'nodes',
  'last_writes',
  'channel_settled',
])

interface Move {
  source: MoveSource
  target: Omit<BareDatabase, 'close'>
  /** Secret that signs cookies, if it is stored beside the file. */
  secret: string | null
  progress: Progress
}

/**
 * Copies all data of the source into an empty PostgreSQL database, in one transaction: after a
 * failure that database is still empty. Throws `MoveError` for problems that the operator must
 * solve.
 */
export async function moveDatabase(move: Move): Promise<void> {
  const { db, runScript } = move.target
  await alone(db, 'postgres', async (trx) => {
    const others = await readTables(trx, 'postgres')
    const origin = originOf(others, 'postgres')
    if (origin.kind === 'foreign') throw new MoveError(origin.reason)
    if (origin.kind !== 'empty') {
      throw new MoveError(
        'the database is not empty; data can only be moved into an empty database',
      )
    }
    await migrateWithin(trx, 'postgres', runScript)
    // SQLite does not check the length of a key.
    await widenTexts(trx, 'postgres')
    const isOurs = (name: string) => !others.has(name) && !LEFT_OUT.has(name)
    await moveTables(trx, move, await targetTables(trx, isOurs))
    if (move.secret !== null) await readOrCreateSetting(trx, 'session_secret', move.secret)
    await checkBooks(trx, move)
  })
}

async function moveTables(
  trx: Transaction<Schema>,
  { source, progress }: Move,
  tables: readonly TargetTable[],
): Promise<void> {
  sayWhatStays(source, { tables, progress })
  const odd: OddTexts = { count: 0, lines: [] }
  for (const table of tables) {
    await moveRows(trx, { source, table, odd, progress })
    await analyze(trx, table.name)
    const moved = await countRows(trx, table.name)
    const rows = source.count(table.name)
    if (moved !== rows) throw new MoveError(`${moved} of ${rows} rows of ${table.name} arrived`)
    if (table.columns.some(({ isCounted }) => isCounted)) {
      await continueIds(trx, table.name, source.nextIds.get(table.name) ?? 1)
    }
    if (rows > 0) progress(`${table.name}: ${rows} rows`)
  }
  for (const line of odd.lines) progress(line)
  if (odd.count > odd.lines.length) progress(`${odd.count} such texts in total`)
}

/**
 * Reports what is not moved: One API's tables may have columns of a related program, and the file
 * tables of another program.
 */
function sayWhatStays(
  source: MoveSource,
  { tables, progress }: { tables: readonly TargetTable[]; progress: Progress },
): void {
  const known = new Map(tables.map(({ name, columns }) => [name, columns]))
  for (const [name, { columns }] of source.tables) {
    if (LEFT_OUT.has(name)) continue
    const moved = known.get(name)
    if (moved === undefined) {
      progress(`table ${name} does not belong to Gatehouse and is skipped`)
      continue
    }
    for (const column of columns) {
      if (moved.some((one) => one.name === column)) continue
      progress(`column ${name}.${column} does not belong to Gatehouse and is skipped`)
    }
  }
}

/** Fails if the ledger has other differences than the file had; existing ones are allowed. */
async function checkBooks(trx: Transaction<Schema>, { source, progress }: Move): Promise<void> {
  progress('checking the ledger')
  const { count, differences } = await reconcileWithin(trx, 'postgres')
  if (count === 0) return
  const file = await openBare({ engine: 'sqlite', path: source.file }, { readonly: true })
  const before = await reconcile({ engine: 'sqlite', heavy: file.db }).finally(file.close)
  for (const difference of differences) progress(difference)
  if (count !== before.count) {
    throw new MoveError(`${count} differences in the ledger; the file has ${before.count}`)
  }
  progress(`${count} differences, which the file has too`)
}
