import { ConfigError, type Config } from '../config.ts'
import { SECONDS_PER_DAY, systemClock } from '../clock.ts'
import { openBare, type BareDatabase } from '../db/database.ts'
import { monthOf, nextMonth } from '../log/partition/month.ts'
import {
  beginConversion,
  createMonth,
  inspectLogs,
  isPartitioned,
  prepareLogs,
  removeLeftOver,
  swapLogs,
  type LogsTable,
} from '../log/partition/partition-store.ts'
import { configuredAddress } from './open.ts'
import { openOurs } from './open-ours.ts'

/** SQLSTATE: lock_not_available. */
const LOCK_NOT_AVAILABLE = '55P03'
/** Partitions that are created with the conversion; servers create the later ones. */
const MONTHS = 3

/**
 * Converts `logs` on PostgreSQL into a table of monthly partitions, beside running servers. The
 * existing rows become the first partition, up to the next month, and are not copied.
 */
export async function partitionLogs(
  config: Config,
  { isDryRun, say }: { isDryRun: boolean; say: (line: string) => void },
): Promise<void> {
  const address = configuredAddress(config)
  if (address.engine !== 'postgres') {
    throw new ConfigError(
      'SQL_DSN: only PostgreSQL has partitions; on SQLite nothing is to be done',
    )
  }
  await (await openOurs(config)).close()
  const database = await openBare(address)
  try {
    await convert(database, { isDryRun, say })
  } catch (error) {
    const isBusy = error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE
    if (isBusy) throw new ConfigError('logs is in use and was not changed; run the command again')
    throw error
  } finally {
    await database.close().catch(() => {})
  }
}

async function convert(
  { db }: BareDatabase,
  { isDryRun, say }: { isDryRun: boolean; say: (line: string) => void },
): Promise<void> {
  if (await isPartitioned(db)) {
    say('logs has partitions already')
    return
  }
  // Rows that are written until the swap must still belong to the old table.
  const boundary = nextMonth(systemClock.nowSeconds() + SECONDS_PER_DAY)
  const found = await inspectLogs(db, boundary)
  const first = new Date(boundary * 1000).toISOString().slice(0, 10)
  say(`logs: ${found.rows} rows, ${Math.ceil(found.bytes / 1e6)} MB with indexes`)
  say(`they become the partition until ${first}; each month from then on gets its own`)
  for (const line of remarks(found)) say(line)
  if (found.lateRows > 0 || found.dependents.length > 0) {
    throw new ConfigError('logs was not changed: repair the findings above and try again')
  }
  if (isDryRun) return
  if (!(await beginConversion(db))) {
    throw new ConfigError('logs is being converted by another process')
  }
  try {
    await prepareLogs(db, boundary)
    await swap(db, boundary)
  } catch (error) {
    await db.transaction().execute(removeLeftOver)
    throw error
  }
  say('logs has partitions now')
}

function swap(db: BareDatabase['db'], boundary: number): Promise<void> {
  return db.transaction().execute(async (trx) => {
    await swapLogs(trx, boundary)
    let month = monthOf(boundary)
    for (let count = 0; count < MONTHS; count += 1) {
      await createMonth(trx, month)
      month = nextMonth(month)
    }
  })
}

const remarks = ({ lateRows, nullTimes, dependents, grantees }: LogsTable): string[] => [
  ...(lateRows > 0 ? [`${lateRows} rows have a time in the future: correct or delete them`] : []),
  ...(nullTimes > 0 ? [`${nullTimes} rows have no time; they get 0`] : []),
  ...(dependents.length > 0
    ? [`these would stay with the old table, drop them: ${dependents.join(', ')}`]
    : []),
  ...(grantees.length > 0 ? [`grant again what these roles may do: ${grantees.join(', ')}`] : []),
]
