import type { Database } from '../../db/database.ts'
import { monthOf, nextMonth } from './month.ts'
import {
  createMonth,
  dropPartition,
  isPartitioned,
  partitions,
  removeLeftOver,
} from './partition-store.ts'

/** Keeps the partitions of `logs`, if it has any (`gatehouse partition-logs`). */

/** Months for which there are partitions ahead, with the current one. */
const MONTHS_AHEAD = 3

type PartitionedDatabase = Pick<Database, 'engine' | 'read' | 'write'>

/**
 * Creates the partitions of the next months, or removes what a killed conversion left. Several
 * processes may do so in parallel. Rejects if a month cannot have one, because the partition for
 * the rest has rows of it; the other months get theirs.
 */
export async function createPartitionsAhead(
  database: PartitionedDatabase,
  nowSeconds: number,
): Promise<void> {
  if (database.engine === 'sqlite') return
  if (!(await isPartitioned(database.read))) {
    await database.write.transaction().execute(removeLeftOver)
    return
  }
  const known = await partitions(database.read)
  // Not only later months are missing: a clock that was ahead may have left a gap.
  const isCovered = (month: number): boolean =>
    known.some(({ start, end }) => (start ?? 0) <= month && month < end)
  let month = monthOf(nowSeconds)
  let failure: unknown = null
  for (let ahead = 0; ahead < MONTHS_AHEAD; ahead += 1) {
    if (!isCovered(month)) {
      await createMonth(database.write, month).catch((error: unknown) => (failure ??= error))
    }
    month = nextMonth(month)
  }
  if (failure !== null) throw failure
}

/** Drops the partitions that end before a second. Returns the number of their rows. */
export async function dropPartitionsBefore(
  database: PartitionedDatabase,
  seconds: number,
): Promise<number> {
  if (database.engine === 'sqlite' || !(await isPartitioned(database.read))) return 0
  let rows = 0
  for (const partition of await partitions(database.read)) {
    if (partition.end > seconds) continue
    rows += await database.write.transaction().execute((trx) => dropPartition(trx, partition))
  }
  return rows
}
