import type { KyselyPlugin } from 'kysely'

/**
 * Columns of One API's tables that our own writes always fill and others may have left NULL. One
 * API reads what is missing as zero; so do we, at the one place where rows come in, while the
 * database keeps what it has. A row does not tell its table: in tables of ours, columns of these
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

/** Puts zeros where a row has NULL in such a column. */
export function fillNulls(row: unknown): void {
  if (typeof row !== 'object' || row === null) return
  for (const [column, value] of Object.entries(row)) {
    const zero = value === null ? ZEROS.get(column) : undefined
    if (zero !== undefined) Reflect.set(row, column, zero)
  }
}

/** The same for every answer of a kysely handle. */
export const nullsAreZeros: KyselyPlugin = {
  transformQuery: ({ node }) => node,
  transformResult({ result }) {
    for (const row of result.rows) fillNulls(row)
    return Promise.resolve(result)
  },
}
