import { sql, type RawBuilder } from 'kysely'
import type { Queries } from '../../db/database.ts'
import {
  oneApiTableNames,
  oneApiTables,
  type ColumnKind,
  type OneApiColumn,
  type OneApiTable,
} from '../one-api-tables.ts'

/**
 * Corrects column types of One API's tables on PostgreSQL. Related programs and its own first
 * versions have 32-bit figures there, limited to 2,147,483,647 points. Programs that move data from
 * MySQL turn flags into numbers and long texts into short ones. Later values must fit.
 */

interface OddColumn {
  table: OneApiTable
  column: OneApiColumn
  /** Current type. */
  found: string
  /** Type to set; null if the current values cannot be converted. */
  wanted: string | null
}

const WHOLE = ['smallint', 'integer', 'bigint']
const FRACTIONS = ['numeric', 'real', 'double precision']
const NUMBERS = [...WHOLE, ...FRACTIONS]
const TEXTS = ['text', 'character varying', 'character']
/** `USER-DEFINED` types are usually case-insensitive texts and enumerations. */
const SPELLED = [...TEXTS, 'json', 'jsonb', 'USER-DEFINED']

/** Valid types, the type to set, and the types it can be converted from. */
const TYPES: Record<ColumnKind, { right: string[]; wanted: string; from: string[] }> = {
  whole: { right: ['bigint'], wanted: 'bigint', from: NUMBERS },
  real: { right: FRACTIONS, wanted: 'numeric', from: WHOLE },
  flag: { right: ['boolean'], wanted: 'boolean', from: NUMBERS },
  text: { right: ['text'], wanted: 'text', from: SPELLED },
  // Fixed-length keys are long enough.
  char32: { right: TEXTS, wanted: 'text', from: [] },
  char48: { right: TEXTS, wanted: 'text', from: [] },
}

/** Returns the columns of One API's tables with another type, in the order of the tables. */
export async function oddColumns(db: Queries): Promise<OddColumn[]> {
  const { rows } = await sql<{ place: string; type: string }>`
    SELECT table_name || '.' || column_name AS place, data_type AS type
    FROM information_schema.columns WHERE table_schema = current_schema()`.execute(db)
  const types = new Map(rows.map(({ place, type }) => [place, type]))
  return oneApiTableNames.flatMap((table) =>
    oneApiTables[table].flatMap((column) => {
      const found = types.get(`${table}.${column.name}`)
      const { right, wanted, from } = TYPES[column.kind]
      if (found === undefined || right.includes(found)) return []
      return [{ table, column, found, wanted: from.includes(found) ? wanted : null }]
    }),
  )
}

/** Returns why the database cannot be adopted because a column is unreadable, or null. */
export function unreadable(columns: readonly OddColumn[]): string | null {
  const named = columns.filter(({ wanted }) => wanted === null)
  if (named.length === 0) return null
  const list = named.map((one) => `${placeOf(one)} is ${one.found}`).join(', ')
  return `columns have unsupported types: ${list}; change them to the types that One API uses and start again`
}

const placeOf = ({ table, column }: OddColumn): string => `${table}.${column.name}`

/** Returns the columns that `correctTypes` changes, each with both types. */
export const typeChanges = (columns: readonly OddColumn[]): string[] =>
  columns.flatMap((one) =>
    one.wanted === null ? [] : [`${placeOf(one)} (${one.found} → ${one.wanted})`],
  )

/** Corrects the types of columns. Figures must be in the 64-bit range. */
export async function correctTypes(trx: Queries, columns: readonly OddColumn[]): Promise<void> {
  const changed = columns.filter(({ wanted }) => wanted !== null)
  // One statement per table, so that it is rewritten only once.
  for (const [table, odd] of Map.groupBy(changed, (one) => one.table)) {
    await sql`ALTER TABLE ${sql.table(table)} ${sql.join(odd.flatMap(changesOf))}`.execute(trx)
    if (odd.some(({ column }) => column.name === 'id')) await widenSequence(trx, table)
  }
}

function changesOf({ column, found, wanted }: OddColumn): RawBuilder<unknown>[] {
  const name = sql.ref(column.name)
  const change = (value: RawBuilder<unknown>) =>
    sql`ALTER COLUMN ${name} TYPE ${sql.raw(wanted ?? found)} USING ${value}`
  if (FRACTIONS.includes(found) && column.kind === 'whole') return [change(sql`trunc(${name})`)]
  if (column.kind !== 'flag' && (WHOLE.includes(found) || TEXTS.includes(found))) {
    return [change(name)]
  }
  // The default cannot be converted automatically.
  const { otherwise } = column
  return [
    sql`ALTER COLUMN ${name} DROP DEFAULT`,
    change(column.kind === 'flag' ? sql`${name} <> 0` : sql`CAST(${name} AS text)`),
    ...(otherwise === undefined
      ? []
      : [sql`ALTER COLUMN ${name} SET DEFAULT ${sql.raw(otherwise)}`]),
  ]
}

/** The sequence of a `serial` column has the same width. */
async function widenSequence(trx: Queries, table: OneApiTable): Promise<void> {
  const { rows } = await sql<{ name: string | null }>`
    SELECT pg_get_serial_sequence(${table}, 'id') AS name`.execute(trx)
  const name = rows[0]?.name ?? null
  // The database has quoted it.
  if (name !== null) await sql`ALTER SEQUENCE ${sql.raw(name)} AS bigint`.execute(trx)
}
