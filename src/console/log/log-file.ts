import type { Log } from '../../contract/log-api.ts'
import { BYTE_ORDER_MARK, csvCell, LOG_FILE_COLUMNS } from '../../contract/log-file.ts'
import { PAGE_SIZE } from '../../contract/paging.ts'
import { stampText } from '../app/time.ts'

/** Log files that are built in the browser, for servers without an export. */

export const fileFormats = ['json', 'csv', 'ndjson'] as const
export type FileFormat = (typeof fileFormats)[number]

/** A cell as the server formats it; numbers need no escaping. */
export const cellText = (value: string | number | boolean | undefined): string =>
  typeof value === 'string' ? csvCell(value) : `"${value ?? ''}"`

export function fileText(rows: readonly Log[], format: FileFormat): string {
  if (format === 'json') return `${JSON.stringify(rows)}\n`
  if (format === 'ndjson') return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
  const lines = rows.map((row) =>
    LOG_FILE_COLUMNS.map((name) =>
      cellText(name === 'created_at' ? stampText(row.created_at) : row[name]),
    ).join(','),
  )
  return BYTE_ORDER_MARK + [LOG_FILE_COLUMNS.map(cellText).join(','), ...lines, ''].join('\r\n')
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
