import type { App } from '../../app.ts'
import { AppError } from '../../app-error.ts'
import { SECONDS_PER_DAY } from '../../clock.ts'
import { findBodies } from '../body/body-store.ts'
import { searchBodies } from '../body/body-search.ts'
import { unpackedBody } from '../body/capture.ts'
import { narrowedToRequest } from '../log-request-store.ts'
import type { LogFilterValues, LogPosition } from '../log-store.ts'
import {
  frameOf,
  withBody,
  zoneOffsets,
  type ExportFormat,
  type Frame,
  type ZoneOffset,
} from './export.ts'
import { logRange, readChunk, readRows, type RowSource, type RowWriting } from './export-store.ts'
import { Pace } from './pace.ts'

/**
 * A file of log rows, made while it is sent: piece by piece, as fast as it is taken. Nothing of it
 * is kept, and between two pieces others have their turn at the database.
 */

export interface WantedExport {
  filter: LogFilterValues
  format: ExportFormat
  /** Name of a time zone; empty: UTC. */
  zone: string
  hasBodies: boolean
}

/** Rows that are looked at for one piece: a few milliseconds of the database's thread. */
const ROWS_PER_PIECE = 200
/** The same while others are served: less than a millisecond. */
const ROWS_WHILE_BUSY = 32
/** With what was captured a row can be a thousand times as large. */
const ROWS_WITH_BODIES = 50
/** Times longer ago, or more than a day ahead, are taken for mistakes. */
const YEARS_BACK_SECONDS = 20 * 365 * SECONDS_PER_DAY

/**
 * Throws what is wrong with the request, and what is wrong with the database for the first piece:
 * later there is no status left to say it with.
 */
export async function beginExport(
  app: Pick<App, 'database' | 'clock' | 'options'>,
  wanted: WantedExport,
): Promise<{ frame: Frame; pieces: AsyncGenerator<string | Uint8Array, void, undefined> }> {
  const frame = frameOf(wanted.format, wanted.hasBodies)
  const writing: RowWriting = {
    engine: app.database.engine,
    format: wanted.format,
    between: frame.between,
    offsets: await offsetsOf(app, wanted),
    quotaPerUnit: app.options.number('QuotaPerUnit'),
  }
  const filter = await narrowedToRequest(app.database.read, wanted.filter)
  const rows = filter === null ? nothing() : rowPieces(app, { ...wanted, filter }, writing)
  const first = await rows.next()
  return { frame, pieces: framed(frame, first, rows) }
}

async function offsetsOf(
  { database, clock }: Pick<App, 'database' | 'clock'>,
  { format, zone }: WantedExport,
): Promise<readonly ZoneOffset[]> {
  const now = clock.nowSeconds()
  const range = (format === 'csv' ? await logRange(database.heavy) : null) ?? {
    from: now,
    until: now,
  }
  const offsets = zoneOffsets(zone === '' ? 'UTC' : zone, {
    from: Math.max(range.from, now - YEARS_BACK_SECONDS),
    until: Math.min(range.until, now + SECONDS_PER_DAY),
  })
  if (offsets === null) throw new AppError('log_time_zone_unknown', { zone })
  return offsets
}

type Piece = string | Uint8Array
type Pieces = AsyncGenerator<Piece, void, undefined>

async function* nothing(): Pieces {}

async function* framed(frame: Frame, first: IteratorResult<Piece, void>, rest: Pieces): Pieces {
  try {
    yield frame.head
    let hasRows = false
    for (let next = first; next.done !== true; next = await rest.next()) {
      if (hasRows) yield frame.between
      yield next.value
      hasRows = true
    }
    yield (hasRows ? frame.last : '') + frame.tail
  } finally {
    await rest.return()
  }
}

function rowPieces(
  app: Pick<App, 'database' | 'clock'>,
  wanted: WantedExport,
  writing: RowWriting,
): Pieces {
  const { filter } = wanted
  const pace = new Pace()
  const sources =
    filter.request || filter.response ? foundByBody(app, filter) : stretches(filter, wanted, pace)
  return writtenPieces(app, { wanted, writing, sources, pace })
}

/** What to read next, once the caller has told where the last reading ended. */
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

async function* foundByBody(
  app: Pick<App, 'database' | 'clock'>,
  filter: LogFilterValues,
): Sources {
  let after: LogPosition | null = null
  for (;;) {
    const { rows, searchedFrom } = await searchBodies(app, filter, after)
    const last = rows.at(-1)
    if (last !== undefined) yield { ids: rows.map(({ id }) => id) }
    if (searchedFrom !== undefined) after = { createdAt: searchedFrom, id: 0 }
    else if (last !== undefined) after = { createdAt: last.created_at, id: last.id }
    else return
  }
}

async function* writtenPieces(
  { database, clock }: Pick<App, 'database' | 'clock'>,
  {
    wanted,
    writing,
    sources,
    pace,
  }: { wanted: WantedExport; writing: RowWriting; sources: Sources; pace: Pace },
): Pieces {
  let next = await sources.next(null)
  while (next.done !== true) {
    const beganMs = clock.monotonicMs()
    if (wanted.hasBodies) {
      const { rows, last } = await readRows(database.heavy, writing, next.value)
      if (rows.length > 0) yield await withBodies({ database }, wanted, { rows, writing })
      next = await sources.next(last)
    } else {
      const { text, last } = await readChunk(database.heavy, writing, next.value)
      if (text !== null && text.length > 0) yield text
      next = await sources.next(last)
    }
    await pace.rest(clock.monotonicMs() - beganMs)
  }
}

async function withBodies(
  { database }: Pick<App, 'database'>,
  { format }: WantedExport,
  { rows, writing }: { rows: { text: string; request_id: string }[]; writing: RowWriting },
): Promise<string> {
  const requests = rows.map(({ request_id }) => request_id).filter((id) => id !== '')
  const bodies = new Map(
    (await findBodies(database.heavy, requests)).map((body) => [body.request_id, body]),
  )
  const texts = await Promise.all(
    rows.map(async ({ text, request_id }) => {
      const body = bodies.get(request_id)
      const captured = body === undefined ? NO_BODY : await unpackedBody(body)
      return withBody(text, format, captured)
    }),
  )
  return texts.join(writing.between)
}

const NO_BODY = { request: '', response: '' }
