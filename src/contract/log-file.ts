/** Log exports: what the server's and the console's files have in common. */

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
 * Columns that Gatehouse appends to a call's row, so that its cost can be added up and recomputed.
 * In JSON, all but the first are members of `price`, as in `GET /api/log/:id`.
 */
export const LOG_FILE_PRICE_COLUMNS = [
  'cost_usd',
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

/** Spreadsheets read a CSV file as UTF-8 only if it begins with this mark. */
export const BYTE_ORDER_MARK = '\uFEFF'

/**
 * Characters that begin a formula in spreadsheets; East Asian ones also accept the full-width
 * forms.
 */
export const FORMULA_SIGNS: readonly string[] = [...'=+-@＝＋－＠']
/** White space that spreadsheets skip before a formula. */
export const FORMULA_BLANKS: readonly string[] = ['\t', '\r', '\n']

/**
 * Quotes a cell. A text that a spreadsheet would evaluate as a formula is prefixed with an
 * apostrophe.
 */
export function csvCell(text: string): string {
  const isFormula =
    FORMULA_SIGNS.includes(text.trimStart().slice(0, 1)) ||
    FORMULA_BLANKS.includes(text.slice(0, 1))
  return `"${isFormula ? "'" : ''}${text.replaceAll('"', '""')}"`
}
