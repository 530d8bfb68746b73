import type { Clock } from '../../clock.ts'
import type { Database } from '../../db/database.ts'
import { searchBodies } from '../body/body-search.ts'
import { findBodies, requestsWithBody } from '../body/body-store.ts'
import { unpackedBody } from '../body/capture.ts'
import { newestBeginningWith, newestLogs } from '../log-search-store.ts'
import { rowSums } from '../log-statistics-store.ts'
import { findLog } from '../log-store.ts'
import { findTrace } from '../trace/trace-store.ts'
import type { BodyTexts, LogStorage } from './log-storage.ts'

/** Reads that are the same in the main database and in a PostgreSQL of their own. */
export const sqlReads = (
  { read, heavy }: Pick<Database, 'read' | 'heavy'>,
  clock: Clock,
): Pick<
  LogStorage,
  | 'newest'
  | 'beginningWith'
  | 'find'
  | 'sums'
  | 'requestsWithBody'
  | 'bodyTexts'
  | 'searchBodies'
  | 'findTrace'
> => ({
  newest: (filter, countMax) => newestLogs(heavy, filter, countMax),
  beginningWith: (text, countMax) => newestBeginningWith(heavy, clock, { text, countMax }),
  find: (id, userId) => findLog(read, id, userId),
  sums: (filter) => rowSums(heavy, filter),
  requestsWithBody: (requestIds) => requestsWithBody(read, requestIds),
  async bodyTexts(requestIds) {
    // An export reads many.
    const bodies = await findBodies(requestIds.length > 1 ? heavy : read, requestIds)
    const texts = await Promise.all(
      bodies.map(async (body): Promise<[string, BodyTexts]> => {
        return [body.request_id, await unpackedBody(body)]
      }),
    )
    return new Map(texts)
  },
  searchBodies: (filter, after) => searchBodies({ heavy, clock }, filter, after),
  findTrace: (requestId) => findTrace(read, requestId),
})
