import { LogType } from './log.ts'
import { withoutTrailing } from './text.ts'

/**
 * Writes files of log rows and of other rows. The server streams them; the console uses the same
 * writer for a One API server, which has no export.
 */

export type LogFileFormat = 'json' | 'csv' | 'ndjson'

/** Columns of a row, by their wire names. */
export const LOG_FILE_COLUMNS = [
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
] as const

/**
 * Columns that Gatehouse appends to a call's row behind `cost_usd`, so that its cost can be
 * recomputed. In JSON they are members of `price`, as in `GET /api/log/:id`.
 */
const LOG_FILE_FACTORS = [
  'group',
  'priced_as',
  'model_ratio',
  'completion_ratio',
  'cache_ratio',
  'group_ratio',
  'model_price',
  'cached_tokens',
  'usage_source',
  'debt',
  'lines',
] as const
export const LOG_FILE_PRICE_COLUMNS = ['cost_usd', ...LOG_FILE_FACTORS] as const

/** Spreadsheets read a CSV file as UTF-8 only if it begins with this mark. */
export const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Matches texts that spreadsheets evaluate: those that begin with a sign, also full-width and after
 * white space, and those that begin with a tab or a line break.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/

/**
 * Quotes a cell. A text that a spreadsheet would evaluate as a formula is prefixed with an
 * apostrophe.
 */
export function csvCell(text: string): string {
  const guarded = FORMULA.test(text) ? `'${text}` : text
  return `"${guarded.includes('"') ? guarded.replaceAll('"', '""') : guarded}"`
}

/**
 * A cell of any value: texts are guarded against formula injection; a negative number is not a
 * formula.
 */
function cell(value: unknown): string {
  if (typeof value === 'string') return csvCell(value)
  if (typeof value === 'object' && value !== null) return csvCell(JSON.stringify(value))
  return `"${String(value ?? '')}"`
}

export const csvLine = (values: readonly unknown[]): string => values.map(cell).join(',')

/** Decimals of an amount in dollars. */
const DOLLAR_PLACES = 10
/** Decimal digits that a JavaScript number always holds exactly. */
const EXACT_DIGITS = 15

/** Points as dollars in a file: a decimal without zeros at the end. */
export function dollarText(quota: number, quotaPerUnit: number): string {
  const dollars = quota / quotaPerUnit
  const wholeDigits = Math.trunc(Math.abs(dollars)).toString().length
  const places = Math.min(DOLLAR_PLACES, Math.max(0, EXACT_DIGITS - wholeDigits))
  const text = dollars.toFixed(places)
  return places === 0 ? text : withoutTrailing(withoutTrailing(text, '0'), '.')
}

/** A row as the wire has it. */
export interface LogFileRow extends Readonly<
  Record<Exclude<(typeof LOG_FILE_COLUMNS)[number], FigureColumn>, string | number | boolean>
> {
  readonly created_at: number
  readonly type: number
  readonly quota: number
  /** The factors as they were booked; null if not recorded. */
  readonly price?: Readonly<Record<string, unknown>> | null
  /** The captured bodies. */
  readonly request?: string
  readonly response?: string
}
type FigureColumn = 'created_at' | 'type' | 'quota'

export interface LogFileOptions {
  format: LogFileFormat
  /** Writes the time of a row, epoch seconds, in a table. */
  timeText: (seconds: number) => string
  /** Points that make one dollar, for what a call cost; null leaves the cost columns out. */
  quotaPerUnit: number | null
  /** Appends what was captured. */
  hasBodies: boolean
}

/** How a file is written: `head`, then rows with `between` between them, then `tail`. */
export interface RowFile<Row> {
  contentType: string
  head: string
  row: (row: Row) => string
  between: string
  /** After the last row, if there was one. */
  last: string
  tail: string
}

const LINE_END = '\r\n'

export type LogFile = RowFile<LogFileRow>

/** How to write rows of any kind in each format. */
interface RowWriter<Row> {
  columns: readonly string[]
  json: (row: Row) => string
  csv: (row: Row) => string
}

/** Returns a file of rows in a format. */
export function rowFile<Row>(
  format: LogFileFormat,
  { columns, json, csv }: RowWriter<Row>,
): RowFile<Row> {
  switch (format) {
    case 'json':
      return {
        contentType: 'application/json; charset=utf-8',
        head: '[',
        row: json,
        between: ',\n',
        last: '',
        tail: ']\n',
      }
    case 'ndjson':
      return {
        contentType: 'application/x-ndjson; charset=utf-8',
        head: '',
        row: json,
        between: '\n',
        last: '\n',
        tail: '',
      }
    case 'csv':
      return {
        contentType: 'text/csv; charset=utf-8',
        head: BYTE_ORDER_MARK + csvLine(columns) + LINE_END,
        row: csv,
        between: LINE_END,
        last: LINE_END,
        tail: '',
      }
    default:
      return format satisfies never
  }
}

export function logFile(options: LogFileOptions): LogFile {
  const { quotaPerUnit } = options
  const json = (row: LogFileRow): string => {
    if (quotaPerUnit === null) return JSON.stringify(row)
    const { price = null, request, response, ...columns } = row
    const cost = costOf(row, quotaPerUnit)
    return JSON.stringify({
      ...columns,
      cost_usd: cost === null ? null : Number(cost),
      price,
      request,
      response,
    })
  }
  const csv = (row: LogFileRow): string => csvRow(row, options)
  return rowFile(options.format, { columns: columnsOf(options), json, csv })
}

const columnsOf = ({ quotaPerUnit, hasBodies }: LogFileOptions): string[] => [
  ...LOG_FILE_COLUMNS,
  ...(quotaPerUnit === null ? [] : LOG_FILE_PRICE_COLUMNS),
  ...(hasBodies ? ['request', 'response'] : []),
]

function csvRow(row: LogFileRow, { timeText, quotaPerUnit, hasBodies }: LogFileOptions): string {
  const values: unknown[] = LOG_FILE_COLUMNS.map((name) =>
    name === 'created_at' ? timeText(row.created_at) : row[name],
  )
  let text = csvLine(values)
  if (quotaPerUnit !== null) {
    const factors = LOG_FILE_FACTORS.map((name) => row.price?.[name])
    // A number that is stored as text and needs no guard.
    text += `,"${costOf(row, quotaPerUnit) ?? ''}",${csvLine(factors)}`
  }
  return hasBodies ? `${text},${csvLine([row.request, row.response])}` : text
}

/** Dollars; null if the row is no call. */
const costOf = ({ type, quota }: LogFileRow, quotaPerUnit: number): string | null =>
  type === LogType.consume ? dollarText(quota, quotaPerUnit) : null
