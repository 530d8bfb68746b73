import dayjs from 'dayjs'
import customParseFormat from 'dayjs/plugin/customParseFormat.js'

dayjs.extend(customParseFormat)

const STAMP = 'YYYY-MM-DD HH:mm:ss'
/** What people may type for a stamp. */
const TYPED = [STAMP, 'YYYY-MM-DD HH:mm', 'YYYY-MM-DD', 'YYYY/MM/DD HH:mm:ss', 'YYYY/MM/DD']

/** Seconds since 1970 in the reader's time zone, as every page shows them. */
export const stampText = (seconds: number): string => dayjs.unix(seconds).format(STAMP)

/** Seconds of a typed stamp in the reader's time zone; null when it is none. */
export function parseStamp(text: string): number | null {
  const typed = dayjs(text.trim().replace('T', ' '), TYPED, true)
  return typed.isValid() ? typed.unix() : null
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1000)

/** Milliseconds as seconds; thousandths count only where there is little else. */
export const secondsText = (ms: number): string => (ms / 1000).toFixed(ms < 100 ? 3 : 2)

/** The beginning of the reader's day, so many days before the one of `seconds`. */
export const dayStart = (seconds: number, daysBefore: number): number =>
  dayjs.unix(seconds).startOf('day').subtract(daysBefore, 'day').unix()
