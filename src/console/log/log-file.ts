import type { Log } from '../../contract/log-api.ts'
import { logFile, type LogFileFormat } from '../../contract/log-file.ts'
import { PAGE_SIZE } from '../../contract/paging.ts'
import { stampText } from '../app/time.ts'

/** Files of log rows that are made in the browser, for a One API server, which makes none. */

export const fileFormats = ['json', 'csv', 'ndjson'] as const

export function fileText(rows: readonly Log[], format: LogFileFormat): string {
  const file = logFile({ format, timeText: stampText, quotaPerUnit: null, hasBodies: false })
  const last = rows.length === 0 ? '' : file.last
  return file.head + rows.map(file.row).join(file.between) + last + file.tail
}

/** Loads all rows of a paged list. */
export async function allRows(
  loadPage: (page: number) => Promise<Log[]>,
  onRows: (rows: number) => void,
): Promise<Log[]> {
  const rows: Log[] = []
  for (let page = 0; ; page += 1) {
    const more = await loadPage(page)
    rows.push(...more)
    onRows(rows.length)
    if (more.length < PAGE_SIZE) return rows
  }
}
