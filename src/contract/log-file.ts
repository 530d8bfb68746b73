/** Files of log rows: what the server's and the browser's have in common. */

/** Columns of a row, as the wire names them. */
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
 * What our server appends to a call's row, so that its cost can be added up and recomputed. In JSON
 * all but the first are members of `price`, as `GET /api/log/:id` answers it.
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

/** Spreadsheets take a file for UTF-8 only when it begins so. */
export const BYTE_ORDER_MARK = '\uFEFF'

/** Characters that make a spreadsheet take what follows for a formula; the wide ones in East Asia. */
export const FORMULA_SIGNS: readonly string[] = [...'=+-@＝＋－＠']
/** Whitespace that a spreadsheet drops before it looks. */
export const FORMULA_BLANKS: readonly string[] = ['\t', '\r', '\n']

/** A quoted cell. A text that a spreadsheet would compute gets an apostrophe in front. */
export function csvCell(text: string): string {
  const isFormula =
    FORMULA_SIGNS.includes(text.trimStart().slice(0, 1)) ||
    FORMULA_BLANKS.includes(text.slice(0, 1))
  return `"${isFormula ? "'" : ''}${text.replaceAll('"', '""')}"`
}
