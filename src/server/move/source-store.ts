import Sqlite from 'better-sqlite3'
import { isUtf8 } from 'node:buffer'
import { migrations } from '../db/migrate.ts'
import { MoveError, type SqliteValue } from './move-value.ts'

/**
 * The SQLite file that is moved. It is read in one snapshot and never written, on a separate
 * connection that reads row by row and returns integers with all 64 bits.
 */
export interface MoveSource {
  file: string
  /** Columns of each table, and the columns of its primary key, in order. */
  tables: ReadonlyMap<string, SourceTable>
  /** Next id of each table with an id counter. */
  nextIds: ReadonlyMap<string, number>
  count(table: string): number
  /** Iterates over the rows in the order of their key. */
  rows(table: string, columns: readonly string[]): Iterable<SqliteValue[]>
  /** Whether a text that contains a replacement character is stored like that. */
  isStoredSo(table: string, column: string, key: readonly SqliteValue[]): boolean
  close(): void
}

export interface SourceTable {
  columns: readonly string[]
  key: readonly string[]
}

/** Opens the file. Throws `MoveError` if it is not a database of this Gatehouse version. */
export function openSource(file: string): MoveSource {
  const db = new Sqlite(file, { readonly: true, fileMustExist: true })
  try {
    // From here on, writes of others are not visible.
    db.exec('BEGIN')
    const tables = readTables(db)
    refuseOtherVersions(db, tables)
    return {
      file,
      tables,
      nextIds: new Map(
        db.prepare<[], [string, number]>('SELECT name, next FROM id_counters').raw().all(),
      ),
      count: (table) =>
        db
          .prepare<[], number>(`SELECT count(*) FROM ${quoted(table)}`)
          .pluck()
          .get() ?? 0,
      rows: (table, columns) => readRows(db, { table, columns, key: keyOf(tables, table) }),
      isStoredSo: (table, column, key) =>
        isStoredSo(db, { table, column, names: keyOf(tables, table), key }),
      close: () => db.close(),
    }
  } catch (error) {
    db.close()
    throw error
  }
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

const keyOf = (tables: ReadonlyMap<string, SourceTable>, table: string): readonly string[] =>
  tables.get(table)?.key ?? []

function readTables(db: Sqlite.Database): Map<string, SourceTable> {
  const rows = db
    .prepare<[], { table: string; column: string; place: number }>(
      `SELECT tables.name AS "table", columns.name AS "column", columns.pk AS place
      FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
      WHERE tables.type = 'table' AND tables.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      ORDER BY tables.name, columns.cid`,
    )
    .all()
  const byTable = Map.groupBy(rows, ({ table }) => table)
  return new Map(
    [...byTable].map(([table, columns]) => {
      const keys = columns.filter(({ place }) => place > 0).toSorted((a, b) => a.place - b.place)
      const names = columns.map(({ column }) => column)
      return [table, { columns: names, key: keys.map(({ column }) => column) }]
    }),
  )
}

function refuseOtherVersions(db: Sqlite.Database, tables: ReadonlyMap<string, SourceTable>): void {
  if (!tables.has('schema_migrations') || !tables.has('ledger')) {
    throw new MoveError(
      'it is not a Gatehouse database; adopt a One API database first: gatehouse adopt',
    )
  }
  const applied = new Set(
    db.prepare<[], number>('SELECT version FROM schema_migrations').pluck().all(),
  )
  const known = migrations('sqlite').map(({ version }) => version)
  if ([...applied].some((version) => !known.includes(version))) {
    throw new MoveError('it was written by a newer Gatehouse: move it with that version')
  }
  if (known.some((version) => !applied.has(version))) {
    throw new MoveError(
      'it was written by an older Gatehouse: start this version on it once, then move it',
    )
  }
}

function readRows(
  db: Sqlite.Database,
  { table, columns, key }: { table: string; columns: readonly string[]; key: readonly string[] },
): Iterable<SqliteValue[]> {
  const names = columns.map(quoted).join(', ')
  // Tools that move data between databases leave tables without a primary key.
  const order = key.length === 0 ? 'rowid' : key.map(quoted).join(', ')
  return db
    .prepare<[], SqliteValue[]>(`SELECT ${names} FROM ${quoted(table)} ORDER BY ${order}`)
    .raw()
    .safeIntegers()
    .iterate()
}

function isStoredSo(
  db: Sqlite.Database,
  {
    table,
    column,
    names,
    key,
  }: { table: string; column: string; names: readonly string[]; key: readonly SqliteValue[] },
): boolean {
  if (names.length === 0) return false
  const where = names.map((name) => `${quoted(name)} IS ?`).join(' AND ')
  const bytes = db
    .prepare<SqliteValue[], Buffer>(
      `SELECT CAST(${quoted(column)} AS blob) FROM ${quoted(table)} WHERE ${where}`,
    )
    .pluck()
    .get(...key)
  // A key with invalid bytes itself matches no row.
  return bytes !== undefined && isUtf8(bytes)
}
