import { AppError } from '../../app-error.ts'
import type { Clock } from '../../clock.ts'
import type { Config } from '../../config.ts'
import type { Database } from '../../db/database.ts'
import { clickhouseLogStorage } from './clickhouse-log-store.ts'
import type { LogStorage, RemoteLogStorage } from './log-storage.ts'
import { mainLogStorage } from './main-log-store.ts'
import { postgresLogStorage } from './postgres-log-store.ts'

/** `remote` is the store itself, for the outbox; null if the log is in the main database. */
export interface OpenLogStorage {
  logs: LogStorage
  remote: RemoteLogStorage | null
}

/** Opens the store of the log. Connects to it only when it is used. */
export function openLogStorage(
  { LOG_DSN: dsn }: Pick<Config, 'LOG_DSN'>,
  { database, clock }: { database: Database; clock: Clock },
): OpenLogStorage {
  if (dsn === undefined) return { logs: mainLogStorage(database, clock), remote: null }
  const openRemote = dsn.startsWith('http') ? clickhouseLogStorage : postgresLogStorage
  const remote = openRemote(dsn, { ledger: database.read, clock })
  return { logs: sayingUnavailable(remote), remote }
}

/**
 * The same storage for requests: what fails in another store is an error of its own, because the
 * main database, and with it everything but the log, is well.
 */
function sayingUnavailable(storage: LogStorage): LogStorage {
  const said =
    <A extends unknown[], R>(read: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      try {
        return await read(...args)
      } catch (error) {
        throw error instanceof AppError ? error : new AppError('log_store_unavailable', {}, error)
      }
    }
  return {
    page: said(storage.page),
    newest: said(storage.newest),
    beginningWith: said(storage.beginningWith),
    find: said(storage.find),
    sums: said(storage.sums),
    exportRows: said(storage.exportRows),
    requestsWithBody: said(storage.requestsWithBody),
    bodyTexts: said(storage.bodyTexts),
    searchBodies: said(storage.searchBodies),
    findTrace: said(storage.findTrace),
    deleteRowsBefore: said(storage.deleteRowsBefore),
    deleteBodiesBefore: said(storage.deleteBodiesBefore),
    deleteTracesBefore: said(storage.deleteTracesBefore),
  }
}
