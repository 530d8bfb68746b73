import { sql } from 'kysely'
import type { Queries } from '../db/database.ts'
import type { MovedKind, MovedValue } from './move-value.ts'

/** The PostgreSQL database that is the target of a move. */

export interface TargetColumn {
  name: string
  kind: MovedKind
  /** Whether a sequence generates its values. */
  isCounted: boolean
}

export interface TargetTable {
  name: string
  columns: readonly TargetColumn[]
}

const KINDS: Readonly<Record<string, MovedKind>> = {
  bigint: 'whole',
  integer: 'whole',
  numeric: 'real',
  boolean: 'flag',
  text: 'text',
  character: 'text',
  'character varying': 'text',
  bytea: 'bytes',
}

/** Returns the wanted tables of the current schema, sorted by name. */
export async function targetTables(
  db: Queries,
  isWanted: (table: string) => boolean,
): Promise<TargetTable[]> {
  const { rows } = await sql<{ table: string; name: string; type: string; counted: boolean }>`
    SELECT table_name AS "table", column_name AS name, data_type AS type,
      coalesce(column_default LIKE 'nextval(%', false) AS counted
    FROM information_schema.columns WHERE table_schema = current_schema()
    ORDER BY table_name, ordinal_position`.execute(db)
  const wanted = rows.filter(({ table }) => isWanted(table))
  return [...Map.groupBy(wanted, ({ table }) => table)].map(([table, columns]) => ({
    name: table,
    columns: columns.map(({ name, type, counted }) => {
      const kind = KINDS[type]
      if (kind === undefined) throw new Error(`${table}.${name} has the type ${type}`)
      return { name, kind, isCounted: counted }
    }),
  }))
}

const ARRAYS: Record<MovedKind, string> = {
  whole: 'bigint[]',
  real: 'numeric[]',
  flag: 'boolean[]',
  text: 'text[]',
  bytes: 'bytea[]',
}

/** Inserts rows given as columns of values. */
export async function insertColumns(
  trx: Queries,
  { name, columns }: TargetTable,
  values: readonly (readonly MovedValue[])[],
): Promise<void> {
  const names = columns.map((column) => sql.ref(column.name))
  const arrays = columns.map(({ kind }, at) => sql`${values[at]}::${sql.raw(ARRAYS[kind])}`)
  await sql`
    INSERT INTO ${sql.table(name)} (${sql.join(names)})
    SELECT * FROM unnest(${sql.join(arrays)})`.execute(trx)
}

/** Sets the sequence so that new ids begin at `next` and above every existing id. */
export async function continueIds(trx: Queries, table: string, next: number): Promise<void> {
  await sql`
    SELECT setval(pg_get_serial_sequence(${table}, 'id'),
      greatest(1, ${next}::bigint, (SELECT max(id) + 1 FROM ${sql.table(table)})), false)
  `.execute(trx)
}

/** Updates the planner's statistics, which would treat the table as empty. */
export async function analyze(trx: Queries, table: string): Promise<void> {
  await sql`ANALYZE ${sql.table(table)}`.execute(trx)
}
