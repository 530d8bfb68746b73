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
 * Types of One API's columns on PostgreSQL. Relatives of it and its own first versions have figures
 * of 32 bits there, which end at 2,147,483,647 points; programs that move data from MySQL make
 * numbers of flags and short texts of long ones. What is written there later has to fit.
 */

interface OddColumn {
  table: OneApiTable
  column: OneApiColumn
  /** The type it has. */
  found: string
  /** The one it gets; null: what it holds cannot be read as what it should be. */
  wanted: string | null
}

const WHOLE = ['smallint', 'integer', 'bigint']
const FRACTIONS = ['numeric', 'real', 'double precision']
const NUMBERS = [...WHOLE, ...FRACTIONS]
const TEXTS = ['text', 'character varying', 'character']
/** `USER-DEFINED` are texts without capitals and lists of names, as a rule. */
const SPELLED = [...TEXTS, 'json', 'jsonb', 'USER-DEFINED']

/** Types that are right as they are, the one to be given, and those it can be made from. */
const TYPES: Record<ColumnKind, { right: string[]; wanted: string; from: string[] }> = {
  whole: { right: ['bigint'], wanted: 'bigint', from: NUMBERS },
  real: { right: FRACTIONS, wanted: 'numeric', from: WHOLE },
  flag: { right: ['boolean'], wanted: 'boolean', from: NUMBERS },
  text: { right: ['text'], wanted: 'text', from: SPELLED },
  // Keys of a fixed length are as long as they have to be.
  char32: { right: TEXTS, wanted: 'text', from: [] },
  char48: { right: TEXTS, wanted: 'text', from: [] },
}

/** The columns of One API's tables that have another type than theirs, in the order of the tables. */
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

/** Why the database cannot be taken over, where a column holds what nobody can read; or null. */
export function unreadable(columns: readonly OddColumn[]): string | null {
  const named = columns.filter(({ wanted }) => wanted === null)
  if (named.length === 0) return null
  const list = named.map((one) => `${placeOf(one)} is ${one.found}`).join(', ')
  return `columns of the database have types that cannot be read: ${list}; give them the types that One API has and start again`
}

const placeOf = ({ table, column }: OddColumn): string => `${table}.${column.name}`

/** The columns that `correctTypes` changes, each with both types. */
export const typeChanges = (columns: readonly OddColumn[]): string[] =>
  columns.flatMap((one) =>
    one.wanted === null ? [] : [`${placeOf(one)} (${one.found} → ${one.wanted})`],
  )

/** Gives the columns their types. Figures must be in the range of 64 bits. */
export async function correctTypes(trx: Queries, columns: readonly OddColumn[]): Promise<void> {
  const changed = columns.filter(({ wanted }) => wanted !== null)
  // One statement a table: it is written anew once then.
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
  // The default cannot follow by itself.
  const { otherwise } = column
  return [
    sql`ALTER COLUMN ${name} DROP DEFAULT`,
    change(column.kind === 'flag' ? sql`${name} <> 0` : sql`CAST(${name} AS text)`),
    ...(otherwise === undefined
      ? []
      : [sql`ALTER COLUMN ${name} SET DEFAULT ${sql.raw(otherwise)}`]),
  ]
}

/** The ids of a `serial` column are counted by a sequence of that width. */
async function widenSequence(trx: Queries, table: OneApiTable): Promise<void> {
  const { rows } = await sql<{ name: string | null }>`
    SELECT pg_get_serial_sequence(${table}, 'id') AS name`.execute(trx)
  const name = rows[0]?.name ?? null
  // The database has quoted it.
  if (name !== null) await sql`ALTER SEQUENCE ${sql.raw(name)} AS bigint`.execute(trx)
}
