import type { RowSource, ExportRow } from '../export/export-store.ts'
import type { LogSums } from '../log-statistics.ts'
import type { LogFilterValues, LogPosition, LogRows, StoredLog } from '../log-store.ts'
import type { StoredTrace } from '../trace/trace-store.ts'
import type { LogBodyRow } from '../../db/schema.ts'

/**
 * Where log rows, captured texts and traces are read and deleted: the main database, or the store
 * that `LOG_DSN` names. Ledger, reservations and all sums are always in the main database.
 */
export interface LogStorage {
  /** Returns the rows after a position, newest first, at most a page. */
  page(filter: LogFilterValues, place: PagePlace): Promise<StoredLog[]>
  /** Returns the newest rows of a filter. */
  newest(filter: LogFilterValues, countMax: number): Promise<StoredLog[]>
  /** Returns the newest rows whose content begins with a text, within a time limit. */
  beginningWith(text: string, countMax: number): Promise<StoredLog[]>
  /** Returns a row; with `userId`, only if it belongs to that user. */
  find(id: number, userId: number | null): Promise<StoredLog | undefined>
  /** Sums the relayed calls of a filter row by row. */
  sums(filter: LogFilterValues): Promise<LogSums>
  /**
   * Reads `countMax` rows after a position and returns those that match. `last` is the last row
   * that was read, null at the end.
   */
  exportRows(source: RowSource): Promise<{ rows: ExportRow[]; last: LogPosition | null }>
  /** Returns which of these calls have captured texts, without reading the texts. */
  requestsWithBody(requestIds: readonly (string | null)[]): Promise<ReadonlySet<string>>
  /** Returns captured texts by request id. */
  bodyTexts(requestIds: readonly string[]): Promise<ReadonlyMap<string, BodyTexts>>
  /** Returns the rows after a position whose captured texts contain those of the filter. */
  searchBodies(filter: LogFilterValues, after: LogPosition | null): Promise<LogRows>
  /** Returns a call's trace as JSON, or null. */
  findTrace(requestId: string): Promise<string | null>
  /** Deletes some of the oldest rows before a second. Returns their number. */
  deleteRowsBefore(seconds: number, countMax: number): Promise<number>
  deleteBodiesBefore(seconds: number, countMax: number): Promise<number>
  deleteTracesBefore(seconds: number, countMax: number): Promise<number>
}

export interface PagePlace {
  after: LogPosition | null
  /** Number of rows to skip. */
  skip?: number
}

export interface BodyTexts {
  request: string
  response: string
}

/** A store beside the main database, which the outbox fills. */
export interface RemoteLogStorage extends LogStorage {
  /**
   * Creates missing tables. Returns the highest id of a log row, 0 without rows. Throws
   * `ConfigError` if the store holds tables of another program.
   */
  prepare(): Promise<number>
  /** Inserts rows; those that the store already has are skipped. */
  insertLogs(rows: readonly StoredLog[]): Promise<void>
  insertBodies(rows: readonly LogBodyRow[]): Promise<void>
  insertTraces(rows: readonly StoredTrace[]): Promise<void>
  /** Sums the calls of a range by the keys of the hourly sums; `until` is exclusive. */
  callSums(from: number, until: number): Promise<CallSums[]>
  close(): Promise<void>
}

/** Sums of calls with the same keys. */
export interface CallSums {
  user_id: number
  username: string
  token_name: string
  model_name: string
  channel_id: number
  requests: number
  quota: number
  prompt_tokens: number
  completion_tokens: number
}
