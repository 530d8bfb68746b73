import { sql, type RawBuilder } from 'kysely'
import type { Queries } from '../../db/database.ts'
import { about, type Finding } from '../finding-store.ts'
import { oneApiTableNames } from '../one-api-tables.ts'
import { oddColumns } from './column-type-store.ts'

/** Columns whose type a migration changes, which PostgreSQL rejects while a view reads them. */
const WIDENED = [
  ['channels', 'group'],
  ['channels', 'model_mapping'],
  ['channels', 'test_model'],
  ['users', 'group'],
  ['abilities', 'group'],
] as const

/** Returns what PostgreSQL would reject. Adoption stops then without any change. */
export async function findObstacles(db: Queries): Promise<Finding[]> {
  const found = [
    about(
      'views read columns whose type must change; adoption stops until they are dropped; recreate them afterwards',
      namesOf(await viewsInTheWay(db)),
    ),
    about(
      'database rules refer to columns whose type must change; adoption stops until they are dropped; recreate them afterwards',
      namesOf(await rulesInTheWay(db)),
    ),
    about(
      'tables belong to another role than the connected one; adoption stops until it owns them',
      namesOf(await tablesOfOthers(db)),
    ),
    about(
      'schemas do not allow the connected role to create tables; adoption stops until it may (GRANT CREATE ON SCHEMA)',
      namesOf(await closedSchemas(db)),
    ),
    about(
      'databases are read-only, by a setting or as a standby; adoption stops until they are writable',
      namesOf(await readOnlyDatabases(db)),
    ),
  ]
  return found.filter(({ count }) => count > 0)
}

const namesOf = (rows: readonly { name: string }[]): string[] => rows.map(({ name }) => name)

/** Condition that a row of `pg_depend` refers to a column whose type is changed. */
async function isOfChanged(db: Queries): Promise<RawBuilder<boolean>> {
  const odd = (await oddColumns(db)).map(({ table, column }) => [table, column.name] as const)
  const changed = sql.join(
    [...WIDENED, ...odd].map(([table, name]) => sql`(to_regclass(${table}), ${name})`),
  )
  return sql<boolean>`EXISTS (SELECT 1 FROM pg_attribute
    WHERE attrelid = refobjid AND attnum = refobjsubid AND (attrelid, attname) IN (${changed}))`
}

async function viewsInTheWay(db: Queries): Promise<{ name: string }[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT DISTINCT CAST(CAST(ev_class AS regclass) AS text) AS name
    FROM pg_depend JOIN pg_rewrite ON pg_rewrite.oid = objid
    WHERE classid = CAST('pg_rewrite' AS regclass) AND ${await isOfChanged(db)}
    ORDER BY name`.execute(db)
  return rows
}

/** Returns triggers and policies that refer to such a column, and columns generated from one. */
async function rulesInTheWay(db: Queries): Promise<{ name: string }[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT DISTINCT pg_describe_object(classid, objid, 0) AS name FROM pg_depend
    WHERE ${await isOfChanged(db)} AND (
      classid IN (CAST('pg_trigger' AS regclass), CAST('pg_policy' AS regclass))
      OR classid = CAST('pg_attrdef' AS regclass) AND EXISTS (
        SELECT 1 FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
        WHERE pg_attrdef.oid = objid AND attgenerated <> ''))
    ORDER BY name`.execute(db)
  return rows
}

async function tablesOfOthers(db: Queries): Promise<{ name: string }[]> {
  const tables = sql.join(oneApiTableNames.map((name) => sql`to_regclass(${name})`))
  const { rows } = await sql<{ name: string }>`
    SELECT relname AS name FROM pg_class
    WHERE oid IN (${tables}) AND NOT pg_has_role(relowner, 'USAGE') ORDER BY name`.execute(db)
  return rows
}

/** Since PostgreSQL 15, not every role may create tables in a schema. */
async function closedSchemas(db: Queries): Promise<{ name: string }[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT current_schema() AS name
    WHERE NOT has_schema_privilege(current_schema(), 'CREATE')`.execute(db)
  return rows
}

async function readOnlyDatabases(db: Queries): Promise<{ name: string }[]> {
  const { rows } = await sql<{ name: string }>`
    SELECT current_database() AS name
    WHERE current_setting('transaction_read_only') = 'on'`.execute(db)
  return rows
}

/** Whether there is a usable schema. Without one every database looks empty. */
export async function hasSchema(db: Queries): Promise<boolean> {
  const { rows } = await sql<{ name: string | null }>`
    SELECT current_schema() AS name`.execute(db)
  return (rows[0]?.name ?? null) !== null
}
