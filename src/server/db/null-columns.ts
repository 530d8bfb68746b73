import type { KyselyPlugin } from 'kysely'

/**
 * Columns of One API's tables that this program always fills and that may be NULL in adopted rows.
 * One API reads NULL as the zero value, and so does this program, when rows are loaded; the
 * database is not changed. Rows do not name their table, so in our own tables columns of these
 * names are never NULL.
 */
export const ZEROS: ReadonlyMap<string, string | number | boolean> = new Map<
  string,
  string | number | boolean
>([
  ...['username', 'password', 'group', 'key'].map((name) => [name, ''] as const),
  ...[
    'role',
    'status',
    'type',
    'quota',
    'used_quota',
    'request_count',
    'remain_quota',
    'user_id',
    'created_time',
    'accessed_time',
    'expired_time',
    'created_at',
  ].map((name) => [name, 0] as const),
  ['unlimited_quota', false],
])

/** Replaces NULL in these columns of a row with their zero value. */
export function fillNulls(row: unknown): void {
  if (typeof row !== 'object' || row === null) return
  for (const [column, value] of Object.entries(row)) {
    const zero = value === null ? ZEROS.get(column) : undefined
    if (zero !== undefined) Reflect.set(row, column, zero)
  }
}

/** Applies `fillNulls` to every row of a kysely handle. */
export const nullsAreZeros: KyselyPlugin = {
  transformQuery: ({ node }) => node,
  transformResult({ result }) {
    for (const row of result.rows) fillNulls(row)
    return Promise.resolve(result)
  },
}
