import dayjs from 'dayjs'
import customParseFormat from 'dayjs/plugin/customParseFormat.js'

dayjs.extend(customParseFormat)

const STAMP = 'YYYY-MM-DD HH:mm:ss'
/** Timestamps as users enter them, with or without leading zeros, and as programs print them. */
const TYPED =
  /^(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/

/** Formats epoch seconds in the reader's time zone. */
export const stampText = (seconds: number): string => dayjs.unix(seconds).format(STAMP)

/** Formats the date only. */
export const dateText = (seconds: number): string => dayjs.unix(seconds).format('YYYY-MM-DD')

/**
 * Parses a timestamp to epoch seconds, in the reader's time zone unless it contains one; null if
 * invalid.
 */
export function parseStamp(text: string): number | null {
  const parts = TYPED.exec(text.trim())
  if (parts === null) return null
  const [, year, , month = '', day = '', hour = '0', minute = '00', second = '00', zone] = parts
  const [monthText, dayText, hourText] = [month, day, hour].map((part) => part.padStart(2, '0'))
  const stamp = `${year}-${monthText}-${dayText} ${hourText}:${minute}:${second}`
  const typed = dayjs(stamp, STAMP, true)
  if (!typed.isValid()) return null
  return zone === undefined ? typed.unix() : dayjs(stamp.replace(' ', 'T') + zone).unix()
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1000)

/** Formats milliseconds as seconds; with thousandths only below a tenth of a second. */
export const secondsText = (ms: number): string => (ms / 1000).toFixed(ms < 100 ? 3 : 2)

/** Start of the reader's day, `daysBefore` days before the one of `seconds`. */
export const dayStart = (seconds: number, daysBefore: number): number =>
  dayjs.unix(seconds).startOf('day').subtract(daysBefore, 'day').unix()
