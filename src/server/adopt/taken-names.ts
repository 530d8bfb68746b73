import { migrations, type Engine } from '../db/migrate.ts'
import type { FoundTables } from './one-api-tables.ts'

/** Columns of the table that says which migrations were applied. */
const MIGRATION_COLUMNS = ['version', 'name', 'applied_at']

/**
 * Names that our migrations give to new tables and columns and that are there already, read from
 * the scripts, so that those of later ones count too. For a database that is not ours yet.
 */
export function takenNames(tables: FoundTables, engine: Engine): string[] {
  const found = foundNames(tables, engine)
  const scripts = migrations(engine).map(({ script }) => script)
  const newTables = scripts.flatMap((script) =>
    // The first makes One API's own tables, if they are not there.
    [...script.matchAll(/^CREATE\s+TABLE (?!IF\b)"?(\w+)/gm)].map(([, table = '']) => table),
  )
  const newColumns = scripts.flatMap((script) =>
    [...script.matchAll(/^ALTER TABLE "?(\w+)"? ADD COLUMN "?(\w+)/gm)].map(
      ([, table = '', column = '']) => `${table}.${column}`,
    ),
  )
  // An earlier start of ours may have been killed before the first of our tables.
  const isOurs = MIGRATION_COLUMNS.every((name) => found.has(`schema_migrations.${name}`))
  return [
    ...[...newTables, ...(isOurs ? [] : ['schema_migrations'])]
      .filter((name) => found.has(name))
      .map((name) => `table ${name}`),
    ...newColumns.filter((name) => found.has(name)).map((name) => `column ${name}`),
  ]
}

/** Tables, and columns behind their table's name and a dot. Capitals are nothing to SQLite. */
function foundNames(tables: FoundTables, engine: Engine): Set<string> {
  const names = [...tables].flatMap(([table, columns]) => [
    table,
    ...[...columns].map((column) => `${table}.${column}`),
  ])
  return new Set(engine === 'sqlite' ? names.map((name) => name.toLowerCase()) : names)
}
