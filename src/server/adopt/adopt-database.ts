import type { Transaction } from 'kysely'
import type { BareDatabase, Progress, UnpreparedDatabase } from '../db/database.ts'
import { alone, migrateWithin } from '../db/migrate.ts'
import type { Schema } from '../db/schema.ts'
import { ADOPTED_AT, ADOPTED_LOG_ID } from '../db/setting-names.ts'
import {
  addColumn,
  beginLargeWork,
  countRows,
  endLargeWork,
  lockTables,
  makeAbilities,
  raiseIdCounters,
  readMoment,
  readOrigin,
  readTables,
  saveFacts,
} from './adopt-store.ts'
import { cutWrongFigures } from './figure-store.ts'
import { findShared, SAMPLES, sentenceOf } from './finding-store.ts'
import { replaceWrongIds } from './id-store.ts'
import type { FoundTables } from './found-tables.ts'
import {
  missingColumns,
  oneApiTableNames,
  unknownColumns,
  versionHint,
  type Origin,
} from './one-api-tables.ts'
import { addToRollups, lastLogIdOfChunk, writeOpenings } from './opening-store.ts'
import { correctTypes, oddColumns, typeChanges } from './postgres/column-type-store.ts'
import { findObstacles } from './postgres/obstacle-store.ts'
import { carryPrices, readPrices } from './relative/price-store.ts'
import { carryChannels } from './relative/relative-channel-store.ts'
import { carryFactors, factorFindings } from './relative/factor-store.ts'
import { carryAccounts } from './relative/linked-account-store.ts'
import { carryTokenGroups, restrictTokens, retireDeleted } from './relative/carry-over-store.ts'
import { readBytesAsTexts } from './text-store.ts'

/**
 * Adopts a database that One API has written, in one transaction: if the process is killed, the
 * database is unchanged. One API's columns keep their values, so that One API can open the database
 * again.
 */

/** A reason not to use a database, for the operator. */
export class AdoptionError extends Error {}

/** Decisions of the operator before the adoption. */
export interface AdoptionChoice {
  /** Whether users may lose what cannot be taken over, such as a second factor. */
  acceptsLosses: boolean
}

/** Log rows summed up per statement. */
const LOGS_PER_CHUNK = 100_000

/**
 * Adopts the database if One API has written it and it is not adopted yet. Throws `AdoptionError`
 * if another program has tables with names of One API's or our tables, or if users would lose
 * something and the operator has not accepted it.
 */
export async function adoptIfOneApi(
  database: UnpreparedDatabase,
  progress: Progress,
  choice: AdoptionChoice,
): Promise<void> {
  const { db, engine } = database
  if (!isToBeAdopted((await readOrigin(db, engine)).origin)) return
  await beginLargeWork(db, engine)
  await alone(db, engine, async (trx) => {
    const { tables, origin } = await readOrigin(trx, engine)
    // Another process has just adopted it.
    if (!isToBeAdopted(origin)) return
    const [obstacle] = engine === 'postgres' ? await findObstacles(trx) : []
    if (obstacle !== undefined) throw new AdoptionError(sentenceOf(obstacle))
    await lockAll(trx, engine, tables)
    const [shared] = await findShared(trx, tables)
    if (shared !== undefined) throw new AdoptionError(sentenceOf(shared))
    // Before the file is copied, because a refused start may be repeated many times.
    if (!choice.acceptsLosses) await refuseLosses(trx, tables)
    progress(`adopting a database of ${versionHint(tables)}`)
    const { stamp } = await readMoment(trx, engine)
    const copy = await database.backUp?.(stamp)
    if (copy !== undefined) progress(`copied the original file to ${copy}`)
    await adoptWithin(trx, database, { tables, progress })
  })
  await endLargeWork(db, engine)
  progress('the database was adopted')
}

/** Throws `AdoptionError` if users would lose something. */
export async function refuseLosses(trx: Transaction<Schema>, tables: FoundTables): Promise<void> {
  const losses = (await factorFindings(trx, tables)).filter(({ isLoss }) => isLoss === true)
  if (losses.length === 0) return
  const sentences = losses.map(({ samples, ...loss }) =>
    sentenceOf({ ...loss, samples: samples.slice(0, SAMPLES) }),
  )
  throw new AdoptionError(
    `users would lose a second factor or passkey: ${sentences.join('. ')}. ` +
      'To continue, run gatehouse adopt, or import, with --accept-losses',
  )
}

async function lockAll(
  trx: Transaction<Schema>,
  engine: BareDatabase['engine'],
  tables: FoundTables,
): Promise<void> {
  const present = oneApiTableNames.filter((name) => tables.has(name))
  if (await lockTables(trx, engine, present)) return
  throw new AdoptionError('another program is using the database; stop One API first')
}

function isToBeAdopted(origin: Origin): boolean {
  if (origin.kind === 'foreign') throw new AdoptionError(origin.reason)
  return origin.kind === 'one-api'
}

/** Converts One API's tables to ours, in the given transaction. */
export async function adoptWithin(
  trx: Transaction<Schema>,
  { engine, runScript }: Pick<BareDatabase, 'engine' | 'runScript'>,
  { tables, progress }: { tables: FoundTables; progress: Progress },
): Promise<void> {
  for (const missing of missingColumns(tables)) await addColumn(trx, engine, missing)
  await mendRows(trx, engine, progress)
  // Figures out of range have been corrected before.
  if (engine === 'postgres') await correctColumns(trx, progress)
  const logRows = tables.has('logs') ? await countRows(trx, 'logs') : 0
  progress(`creating tables and indexes (${logRows} log rows)`)
  await migrateWithin(trx, engine, runScript)
  const { seconds } = await readMoment(trx, engine)
  const carried = [
    ...(await carryChannels(trx, { tables, nowSeconds: seconds })),
    ...(await carryPrices(trx, await readPrices(trx, tables))),
    ...(await carryFactors(trx, { tables, nowSeconds: seconds })).map(sentenceOf),
    ...(await carryAccounts(trx, tables)).map(sentenceOf),
  ]
  for (const line of carried) progress(line)
  const grouped = await carryTokenGroups(trx, await readTables(trx, engine))
  if (grouped > 0) progress(`${grouped} token groups were taken over`)
  const served = await makeAbilities(trx)
  if (served > 0) progress(`${served} channels had no abilities; created them from their models`)
  progress('creating the ledger')
  await writeOpenings(trx, seconds)
  const lastLogId = await sumLogs(trx, { logRows, progress })
  await raiseIdCounters(trx, engine)
  await saveFacts(trx, { [ADOPTED_AT]: seconds, [ADOPTED_LOG_ID]: lastLogId })
}

async function correctColumns(trx: Transaction<Schema>, progress: Progress): Promise<void> {
  const odd = await oddColumns(trx)
  const changes = typeChanges(odd)
  if (changes.length === 0) return
  progress(`changing column types: ${changes.join(', ')}`)
  await correctTypes(trx, odd)
}

/** PostgreSQL cannot change columns that a view or a trigger depends on. */
const DEPENDED_ON = '0A000'

/**
 * Corrects column types of an existing Gatehouse database on PostgreSQL: an earlier version kept
 * the types, or a related program that used the database meanwhile has narrowed them. If an
 * operator's view reads such a column, the type stays and startup continues.
 */
export async function keepColumnsWide(
  { db, engine }: Pick<BareDatabase, 'db' | 'engine'>,
  progress: Progress,
): Promise<void> {
  if (typeChanges(await oddColumns(db)).length === 0) return
  try {
    await alone(db, engine, (trx) => correctColumns(trx, progress))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === DEPENDED_ON)) throw error
    progress(`the column types were not changed, so their range stays limited: ${error.message}`)
  }
}

/**
 * Corrects the few values that cannot stay: ids and figures out of range, bytes in text columns,
 * and rows that a program related to One API has disabled in columns that are not read here.
 */
async function mendRows(
  trx: Transaction<Schema>,
  engine: BareDatabase['engine'],
  progress: Progress,
): Promise<void> {
  const tables = await readTables(trx, engine)
  const { seconds: nowSeconds } = await readMoment(trx, engine)
  for (const table of oneApiTableNames) {
    // Before figures are corrected, because some of them are ids.
    const renumbered = await replaceWrongIds(trx, table, tables)
    if (renumbered > 0) progress(`${renumbered} ${table} had ids out of range; they got new ones`)
  }
  for (const table of oneApiTableNames) {
    const spelled = engine === 'sqlite' ? await readBytesAsTexts(trx, table, tables) : 0
    if (spelled > 0)
      progress(`${spelled} ${table} had bytes in text columns; they were converted to text`)
    const cut = await cutWrongFigures(trx, table, { engine, tables })
    if (cut > 0)
      progress(
        `${cut} ${table} had fractional figures or figures out of range; they were corrected`,
      )
  }
  const unknown = unknownColumns(tables)
  if (unknown.length > 0) progress(`unknown columns, not changed: ${unknown.join(', ')}`)
  for (const [table, count] of await retireDeleted(trx, { tables, nowSeconds })) {
    if (count > 0)
      progress(`${count} ${table} were deleted or expired; they cannot be used here either`)
  }
  const restricted = await restrictTokens(trx, tables)
  if (restricted > 0) progress(`${restricted} model and address lists of tokens were taken over`)
}

/** Returns the highest id of the log rows. */
async function sumLogs(
  trx: Transaction<Schema>,
  { logRows, progress }: { logRows: number; progress: Progress },
): Promise<number> {
  let after = 0
  let done = 0
  for (;;) {
    const last = await lastLogIdOfChunk(trx, { after, count: LOGS_PER_CHUNK })
    if (last === null) return after
    await addToRollups(trx, { after, last })
    after = last
    done = Math.min(done + LOGS_PER_CHUNK, logRows)
    progress(`summed up ${done} of ${logRows} log rows`)
  }
}
