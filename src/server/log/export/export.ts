import {
  BYTE_ORDER_MARK,
  csvCell,
  LOG_FILE_COLUMNS,
  LOG_FILE_PRICE_COLUMNS,
} from '../../../contract/log-file.ts'
import { SECONDS_PER_DAY } from '../../clock.ts'
import { zoneClock } from '../../time-zone.ts'

/** How exported rows are written. Pure. */

export type ExportFormat = 'json' | 'csv' | 'ndjson'

/** What stands before, between and behind rows. */
export interface Frame {
  contentType: string
  head: string
  /** Between two rows. */
  between: string
  /** After the last row, if there was one. */
  last: string
  tail: string
}

const BODY_COLUMNS = ['request', 'response'] as const

const LINE_END = '\r\n'

export function frameOf(format: ExportFormat, hasBodies: boolean): Frame {
  switch (format) {
    case 'json':
      return {
        contentType: 'application/json; charset=utf-8',
        head: '[',
        between: ',\n',
        last: '',
        tail: ']\n',
      }
    case 'ndjson':
      return {
        contentType: 'application/x-ndjson; charset=utf-8',
        head: '',
        between: '\n',
        last: '\n',
        tail: '',
      }
    case 'csv': {
      const columns = [
        ...LOG_FILE_COLUMNS,
        ...LOG_FILE_PRICE_COLUMNS,
        ...(hasBodies ? BODY_COLUMNS : []),
      ]
      return {
        contentType: 'text/csv; charset=utf-8',
        head: BYTE_ORDER_MARK + columns.map(csvCell).join(',') + LINE_END,
        between: LINE_END,
        last: LINE_END,
        tail: '',
      }
    }
    default:
      return format satisfies never
  }
}

/** A row's text with what was captured at its end. */
export function withBody(
  row: string,
  format: ExportFormat,
  { request, response }: { request: string; response: string },
): string {
  if (format === 'csv') return `${row},${csvCell(request)},${csvCell(response)}`
  const members = `"request":${JSON.stringify(request)},"response":${JSON.stringify(response)}`
  return `${row.slice(0, row.lastIndexOf('}'))},${members}}`
}

/** From this second on the zone is so many seconds ahead of UTC. */
export interface ZoneOffset {
  from: number
  seconds: number
}

const MS = 1000
const STEP_SECONDS = 30 * SECONDS_PER_DAY
const MINUTE_SECONDS = 60

/**
 * The offsets of a time zone over a range, latest first; the last one holds for all time before.
 * Null: there is no such zone.
 */
export function zoneOffsets(
  zone: string,
  range: { from: number; until: number },
): ZoneOffset[] | null {
  const clock = zoneClock(zone)
  if (clock === null) return null
  const offsetAt = (at: number): number => clock(at * MS) / MS - at
  const offsets: ZoneOffset[] = [{ from: range.from, seconds: offsetAt(range.from) }]
  for (let at = range.from; at < range.until; at += STEP_SECONDS) {
    const end = Math.min(at + STEP_SECONDS, range.until)
    const [before, after] = [offsetAt(at), offsetAt(end)]
    if (before !== after) {
      offsets.unshift({ from: changeBetween(at, end, offsetAt), seconds: after })
    }
  }
  return offsets
}

/** The minute within a range in which the offset is the one of its end for the first time. */
function changeBetween(from: number, until: number, offsetAt: (at: number) => number): number {
  const after = offsetAt(until)
  let [low, high] = [Math.floor(from / MINUTE_SECONDS), Math.ceil(until / MINUTE_SECONDS)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle * MINUTE_SECONDS) === after) high = middle
    else low = middle
  }
  return high * MINUTE_SECONDS
}
