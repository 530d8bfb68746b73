import {
  logFile,
  type LogFile,
  type LogFileFormat,
  type RowFile,
} from '../../../contract/log-file.ts'
import type { App } from '../../app.ts'
import { AppError } from '../../app-error.ts'
import { narrowedToRequest } from '../log-request-store.ts'
import type { LogFilterValues, LogPosition } from '../log-store.ts'
import type { ExportRow, RowSource } from './export-store.ts'
import { localTimeWriter } from './local-time.ts'
import { Pace } from './pace.ts'

/**
 * Streams a file of log rows, piece by piece, as fast as the client reads it. Nothing is buffered,
 * and other queries run between two pieces.
 */

export interface WantedExport {
  filter: LogFilterValues
  format: LogFileFormat
  /** Name of a time zone; empty for UTC. */
  zone: string
  hasBodies: boolean
}

/** Rows scanned per piece, which takes a few milliseconds of the database thread. */
const ROWS_PER_PIECE = 200
/** Rows scanned per piece while calls are relayed, which takes less than a millisecond. */
const ROWS_WHILE_BUSY = 32
/** Rows scanned per piece with captured bodies, which can make a row a thousand times larger. */
const ROWS_WITH_BODIES = 50
/**
 * Reads the first piece before the response starts, so that errors of the request or the database
 * can still be returned with a status.
 */
export async function beginExport(
  app: Pick<App, 'database' | 'logs' | 'clock' | 'options'>,
  wanted: WantedExport,
): Promise<{ contentType: string; pieces: Pieces }> {
  const timeText = localTimeWriter(wanted.zone === '' ? 'UTC' : wanted.zone)
  if (timeText === null) throw new AppError('log_time_zone_unknown', { zone: wanted.zone })
  const file = logFile({
    format: wanted.format,
    timeText,
    quotaPerUnit: app.options.number('QuotaPerUnit'),
    hasBodies: wanted.hasBodies,
  })
  const filter = await narrowedToRequest(app.database.read, wanted.filter)
  const rows = filter === null ? nothing() : rowPieces(app, { ...wanted, filter }, file)
  const first = await rows.next()
  return { contentType: file.contentType, pieces: framed(file, first, rows) }
}

export type Pieces = AsyncGenerator<string, void, undefined>

async function* nothing(): Pieces {}

/** Frames pieces of rows, the first of which has been read, as a file. */
export async function* framed(
  file: Pick<RowFile<unknown>, 'head' | 'between' | 'last' | 'tail'>,
  first: IteratorResult<string, void>,
  rest: Pieces,
): Pieces {
  try {
    yield file.head
    let hasRows = false
    for (let next = first; next.done !== true; next = await rest.next()) {
      if (hasRows) yield file.between
      yield next.value
      hasRows = true
    }
    yield (hasRows ? file.last : '') + file.tail
  } finally {
    await rest.return()
  }
}

function rowPieces(app: Pick<App, 'logs' | 'clock'>, wanted: WantedExport, file: LogFile): Pieces {
  const { filter } = wanted
  const pace = new Pace()
  const sources =
    filter.request || filter.response
      ? foundByBody(app.logs, filter)
      : stretches(filter, wanted, pace)
  return writtenPieces(app, { wanted, file, sources, pace })
}

/** Yields the rows to read next; receives the position at which the last read ended. */
type Sources = AsyncGenerator<RowSource, void, LogPosition | null>

async function* stretches(
  filter: LogFilterValues,
  { hasBodies }: WantedExport,
  pace: Pace,
): Sources {
  const countMax = () =>
    hasBodies ? ROWS_WITH_BODIES : pace.isBusy ? ROWS_WHILE_BUSY : ROWS_PER_PIECE
  let after: LogPosition | null = yield { filter, after: null, countMax: countMax() }
  while (after !== null) after = yield { filter, after, countMax: countMax() }
}

async function* foundByBody(logs: App['logs'], filter: LogFilterValues): Sources {
  let after: LogPosition | null = null
  for (;;) {
    const { rows, searchedFrom } = await logs.searchBodies(filter, after)
    const last = rows.at(-1)
    if (last !== undefined) yield { ids: rows.map(({ id }) => id) }
    if (searchedFrom !== undefined) after = { createdAt: searchedFrom, id: 0 }
    else if (last !== undefined) after = { createdAt: last.created_at, id: last.id }
    else return
  }
}

async function* writtenPieces(
  { logs, clock }: Pick<App, 'logs' | 'clock'>,
  {
    wanted,
    file,
    sources,
    pace,
  }: { wanted: WantedExport; file: LogFile; sources: Sources; pace: Pace },
): Pieces {
  let next = await sources.next(null)
  while (next.done !== true) {
    const beganMs = clock.monotonicMs()
    const { rows, last } = await logs.exportRows(next.value)
    const whole = wanted.hasBodies ? await withBodies(logs, rows) : rows
    if (whole.length > 0) yield whole.map(file.row).join(file.between)
    next = await sources.next(last)
    await pace.rest(clock.monotonicMs() - beganMs)
  }
}

async function withBodies(logs: App['logs'], rows: readonly ExportRow[]): Promise<ExportRow[]> {
  const requests = rows.map(({ request_id }) => request_id).filter((id) => id !== '')
  const bodies = await logs.bodyTexts(requests)
  return rows.map((row) => ({ ...row, ...(bodies.get(row.request_id) ?? NO_BODY) }))
}

const NO_BODY = { request: '', response: '' }
