import type { Log } from '../../contract/log-api.ts'
import { PAGE_SIZE } from '../../contract/paging.ts'
import { stampText } from '../app/time.ts'

/** Files of log rows that are made in the browser, for servers that make none. */

export const fileFormats = ['json', 'csv', 'ndjson'] as const
export type FileFormat = (typeof fileFormats)[number]

const columns = [
  'id',
  'user_id',
  'created_at',
  'type',
  'content',
  'username',
  'token_name',
  'model_name',
  'quota',
  'prompt_tokens',
  'completion_tokens',
  'channel',
  'request_id',
  'elapsed_time',
  'is_stream',
  'system_prompt_reset',
] as const satisfies readonly (keyof Log)[]

/** Spreadsheets take a file for UTF-8 only when it begins so. */
const BYTE_ORDER_MARK = '\uFEFF'

/** A quoted cell; a text that a spreadsheet would compute gets an apostrophe in front. */
export function cellText(value: string | number | boolean | undefined): string {
  const text = String(value ?? '')
  const isFormula = typeof value === 'string' && /^(\s*[=+\-@]|[\t\r\n])/.test(text)
  return `"${isFormula ? "'" : ''}${text.replaceAll('"', '""')}"`
}

export function fileText(rows: readonly Log[], format: FileFormat): string {
  if (format === 'json') return `${JSON.stringify(rows)}\n`
  if (format === 'ndjson') return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
  const lines = rows.map((row) =>
    columns
      .map((name) => cellText(name === 'created_at' ? stampText(row.created_at) : row[name]))
      .join(','),
  )
  return BYTE_ORDER_MARK + [columns.map(cellText).join(','), ...lines, ''].join('\r\n')
}

/** All rows of a list that is handed out in pages. */
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
