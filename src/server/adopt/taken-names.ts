import { migrations, type Engine } from '../db/migrate.ts'
import type { FoundTables } from './one-api-tables.ts'

/** Columns of the table with the applied migrations. */
const MIGRATION_COLUMNS = ['version', 'name', 'applied_at']

/**
 * Returns names of new tables and columns of our migrations that already exist. They are read from
 * the scripts, so that later ones are included. For a database that is not ours yet.
 */
export function takenNames(tables: FoundTables, engine: Engine): string[] {
  const found = foundNames(tables, engine)
  const scripts = migrations(engine).map(({ script }) => script)
  const newTables = scripts.flatMap((script) =>
    // The first script creates One API's own tables if they are missing.
    [...script.matchAll(/^CREATE\s+TABLE (?!IF\b)"?(\w+)/gm)].map(([, table = '']) => table),
  )
  const newColumns = scripts.flatMap((script) =>
    [...script.matchAll(/^ALTER TABLE "?(\w+)"? ADD COLUMN "?(\w+)/gm)].map(
      ([, table = '', column = '']) => `${table}.${column}`,
    ),
  )
  // An earlier start of this program may have been killed before it created the first table.
  const isOurs = MIGRATION_COLUMNS.every((name) => found.has(`schema_migrations.${name}`))
  return [
    ...[...newTables, ...(isOurs ? [] : ['schema_migrations'])]
      .filter((name) => found.has(name))
      .map((name) => `table ${name}`),
    ...newColumns.filter((name) => found.has(name)).map((name) => `column ${name}`),
  ]
}

/** Returns tables, and columns as `table.column`. SQLite ignores case. */
function foundNames(tables: FoundTables, engine: Engine): Set<string> {
  const names = [...tables].flatMap(([table, columns]) => [
    table,
    ...[...columns].map((column) => `${table}.${column}`),
  ])
  return new Set(engine === 'sqlite' ? names.map((name) => name.toLowerCase()) : names)
}
