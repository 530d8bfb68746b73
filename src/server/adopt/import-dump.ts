import type { Transaction } from 'kysely'
import type { BareDatabase, Progress } from '../db/database.ts'
import { alone, migrations } from '../db/migrate.ts'
import type { Schema } from '../db/schema.ts'
import { adoptWithin, AdoptionError, refuseLosses, type AdoptionChoice } from './adopt-database.ts'
import { beginLargeWork, endLargeWork, readOrigin, readTables } from './adopt-store.ts'
import { DumpError, type Repairs } from './dump/dump-value.ts'
import { readDump } from './dump/read-dump.ts'
import { addRelativeColumns, groupsByCapitals, insertDumped, widenTexts } from './import-store.ts'
import { isOneApiTable } from './one-api-tables.ts'
import { highestLogId, rowsBesideEarlier } from './dump/second-log-store.ts'
import { addFactors, dropFactors } from './dump/dumped-factor-store.ts'
import { addPrices } from './dump/dumped-prices.ts'
import { relativeOf } from './relative/channel-type.ts'
import { isFactorTable } from './relative/factor-store.ts'
import { carryPrices, isPriceTable, type PriceRows } from './relative/price-store.ts'

const ROWS_PER_LINE = 100_000

/**
 * Loads MySQL or MariaDB dumps of One API into an empty database and adopts it, all in one
 * transaction. Most installations have one dump, those with a separate log database two. Throws
 * `DumpError` for an invalid dump, `AdoptionError` if the database is not empty or if users would
 * lose something that `choice` does not accept.
 */
export async function loadDumps(
  database: Omit<BareDatabase, 'close'>,
  dumps: readonly AsyncIterable<Buffer>[],
  progress: Progress,
  choice: AdoptionChoice = { acceptsLosses: false },
): Promise<void> {
  const { db, engine, runScript } = database
  await beginLargeWork(db, engine)
  await alone(db, engine, async (trx) => {
    const { origin } = await readOrigin(trx, engine)
    if (origin.kind === 'foreign') throw new AdoptionError(origin.reason)
    if (origin.kind !== 'empty') {
      throw new AdoptionError(
        'the database is not empty; a dump can only be loaded into an empty database',
      )
    }
    const [oneApiScript] = migrations(engine)
    if (oneApiScript === undefined) throw new Error('the first migration is missing')
    // Without our indexes, which are created at the end.
    await runScript(oneApiScript.script, trx)
    await widenTexts(trx, engine)
    const prices: PriceRows = new Map()
    const factorTables = new Set<string>()
    const users = await loadRows(trx, { database, dumps, prices, factorTables, progress })
    if (users === 0) throw new DumpError('the dump contains no users of One API')
    const tables = await readTables(trx, engine)
    if (!choice.acceptsLosses) await refuseLosses(trx, tables)
    await adoptWithin(trx, database, { tables, progress })
    await dropFactors(trx, { tables, factorTables })
    if (relativeOf(tables) === 'One Hub') {
      for (const line of await carryPrices(trx, prices)) progress(line)
    } else for (const table of prices.keys()) progress(leftOut(table))
    for (const { given, served } of await groupsByCapitals(trx)) {
      progress(
        `users of the group ${given} have no channel: channels have the group ${served}, and only MySQL ignores upper and lower case`,
      )
    }
  })
  await endLargeWork(db, engine)
  progress(dumps.length > 1 ? 'the dumps were loaded' : 'the dump was loaded')
}

const leftOut = (table: string): string =>
  `table ${table} does not belong to One API and is skipped`

interface Loading {
  database: Omit<BareDatabase, 'close'>
  dumps: readonly AsyncIterable<Buffer>[]
  /** Receives prices of One Hub. */
  prices: PriceRows
  /** Receives the names of the tables that `addFactors` creates. */
  factorTables: Set<string>
  progress: Progress
}

/** Returns the number of users. */
async function loadRows(
  trx: Transaction<Schema>,
  { database, dumps, prices, factorTables, progress }: Loading,
): Promise<number> {
  const repairs: Repairs = { undecodable: 0, nuls: 0, misfits: 0 }
  const counts = new Map<string, number>()
  const dropped = new Set<string>()
  const made = new Set<string>()
  const options = {
    isWanted: (table: string) =>
      isOneApiTable(table) || isPriceTable(table) || isFactorTable(table),
    onOtherTable: (table: string) => progress(leftOut(table)),
  }
  let twice = 0
  for (const chunks of dumps) {
    const earlierLog = counts.has('logs') ? await highestLogId(trx) : 0
    for await (const read of readDump(chunks, options)) {
      const { table, columns } = read
      if (isPriceTable(table)) addPrices(prices, table, read)
      if (isFactorTable(table))
        await addFactors(trx, database.engine, { dumped: read, factorTables })
      if (!isOneApiTable(table)) continue
      const isSecondLog = table === 'logs' && earlierLog > 0
      const dumped = isSecondLog ? await rowsBesideEarlier(trx, read, earlierLog) : read
      const { rows } = dumped
      twice += read.rows.length - rows.length
      if (rows.length === 0) continue
      await addRelativeColumns(trx, database.engine, { table, columns, made })
      const unknown = await insertDumped(trx, database.engine, { dumped, table, repairs })
      for (const name of unknown) dropped.add(`${table}.${name}`)
      const before = counts.get(table) ?? 0
      const now = before + rows.length
      counts.set(table, now)
      if (Math.floor(before / ROWS_PER_LINE) < Math.floor(now / ROWS_PER_LINE)) {
        progress(`loaded ${now} rows of ${table}`)
      }
    }
  }
  for (const [table, count] of counts) progress(`${table}: ${count} rows`)
  if (twice > 0) progress(`${twice} log rows were in two dumps; they were loaded once`)
  if (dropped.size > 0) progress(`skipped columns: ${[...dropped].toSorted().join(', ')}`)
  for (const line of linesOf(repairs)) progress(line)
  return counts.get('users') ?? 0
}

function linesOf({ undecodable, nuls, misfits }: Repairs): string[] {
  return [
    ...(undecodable === 0
      ? []
      : [
          `${undecodable} texts contained invalid bytes; they were replaced by replacement characters`,
        ]),
    ...(nuls === 0 ? [] : [`${nuls} texts contained NUL characters, which were removed`]),
    ...(misfits === 0
      ? []
      : [`${misfits} numbers were invalid or had fractions; they were corrected`]),
  ]
}
