import type { Clock } from '../../clock.ts'
import type { Database } from '../../db/database.ts'
import { LogType } from '../../../contract/log.ts'
import { deleteBodiesBefore } from '../body/body-store.ts'
import { deleteRowsBefore } from '../cleanup/cleanup-store.ts'
import { readRows } from '../export/export-store.ts'
import { isFoundByName, namedLogPage } from '../log-name-store.ts'
import { placeByHours } from '../log-place-store.ts'
import { logPage, type LogFilterValues, type StoredLog } from '../log-store.ts'
import { deleteOldest } from '../trace/trace-store.ts'
import type { LogStorage } from './log-storage.ts'
import { sqlReads } from './sql-log-store.ts'

/** Maximum number of rows to skip directly; up to this number that is as fast as a lookup. */
const SKIP_MAX = 2000
/** A filter's end this many seconds in the future has no effect. */
const AHEAD_SECONDS = 60

/**
 * The log in the main database, beside the sums, which say where rows are: fewer indexes are
 * needed, and a settlement updates each of them.
 */
export function mainLogStorage(
  database: Pick<Database, 'read' | 'write' | 'heavy' | 'engine'>,
  clock: Clock,
): LogStorage {
  const { write, heavy } = database

  async function skipped(filter: LogFilterValues, skip: number): Promise<StoredLog[]> {
    const nowSeconds = clock.nowSeconds()
    const place =
      skip > SKIP_MAX && isUnfiltered(filter, nowSeconds)
        ? await placeByHours(heavy, skip, nowSeconds)
        : null
    if (place === null) return logPage(heavy, filter, { after: null, skip })
    const older = { ...filter, end_timestamp: place.hour - 1 }
    return logPage(heavy, older, { after: null, skip: skip - place.rows })
  }

  return {
    ...sqlReads(database, clock),
    async page(filter, { after, skip = 0 }) {
      if (skip > 0) return skipped(filter, skip)
      return (await isFoundByName(heavy, filter))
        ? namedLogPage(heavy, filter, after)
        : logPage(heavy, filter, { after })
    },
    exportRows: (source) => readRows(database, source, { hasLedger: true }),
    deleteRowsBefore: (seconds, countMax) =>
      write.transaction().execute((trx) => deleteRowsBefore(trx, seconds, countMax)),
    deleteBodiesBefore: (seconds, countMax) => deleteBodiesBefore(write, seconds, countMax),
    deleteTracesBefore: (seconds, countMax) =>
      deleteOldest(write, 'route_traces', { seconds, countMax }),
  }
}

/** Whether a filter matches every row since its start, so that positions are unchanged. */
const isUnfiltered = (filter: LogFilterValues, nowSeconds: number): boolean =>
  filter.userId === undefined &&
  filter.type === LogType.all &&
  !filter.username &&
  !filter.channel &&
  filter.token_name === '' &&
  filter.model_name === '' &&
  filter.request_id === '' &&
  (filter.end_timestamp === 0 || filter.end_timestamp > nowSeconds + AHEAD_SECONDS)
