import Sqlite from 'better-sqlite3'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { DatabaseLocation } from './for-each-database.ts'
import { createTestDatabase } from './postgres.ts'

/** Databases written by a real One API server: working copies of the fixtures. */

const FIXTURES = path.join(import.meta.dirname, '../../../fixtures/databases')
export const MYSQL_DUMP = path.join(FIXTURES, 'one-api.mysql.sql')

/** One API's tables and the columns that identify a row. */
const ONE_API_KEYS = {
  channels: ['id'],
  tokens: ['id'],
  users: ['id'],
  options: ['key'],
  redemptions: ['id'],
  abilities: ['group', 'model', 'channel_id'],
  logs: ['id'],
} as const

export type OneApiTableName = keyof typeof ONE_API_KEYS
// The keys of the object above are exactly these.
export const ONE_API_TABLES = Object.keys(ONE_API_KEYS) as OneApiTableName[]

export type PlainRow = Record<string, unknown>

/** A database accessed with plain statements, like another program. */
export interface PlainDatabase {
  location: DatabaseLocation
  /** Returns rows as objects; booleans as 0 and 1, numbers as numbers. */
  rows(sql: string): Promise<PlainRow[]>
  run(sql: string): Promise<void>
}

export function newFolder(): string {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'gatehouse-adopt-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
  return folder
}

export function plainSqlite(file: string): PlainDatabase {
  const opened = <T>(work: (db: Sqlite.Database) => T): Promise<T> => {
    const db = new Sqlite(file)
    try {
      return Promise.resolve(work(db))
    } finally {
      db.close()
    }
  }
  return {
    location: { engine: 'sqlite', path: file },
    rows: (sql) => opened((db) => db.prepare<[], PlainRow>(sql).all()),
    run: (sql) => opened((db) => void db.exec(sql)),
  }
}

export function plainPostgres(url: string): PlainDatabase {
  const opened = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }
  return {
    location: { engine: 'postgres', url },
    rows: (sql) =>
      opened(async (client) => {
        const { rows } = await client.query<PlainRow>(sql)
        return rows.map(withPlainValues)
      }),
    run: (sql) => opened(async (client) => void (await client.query(sql))),
  }
}

/** PostgreSQL returns large numbers as texts. */
const withPlainValues = (row: PlainRow): PlainRow =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (typeof value === 'boolean') return [name, Number(value)]
      const isFigure = typeof value === 'string' && /^-?\d{1,15}$/.test(value)
      return [name, isFigure && !/^(key|request_id|value)$/.test(name) ? Number(value) : value]
    }),
  )

export function sqliteFixture(): PlainDatabase {
  const file = path.join(newFolder(), 'one-api.db')
  fs.copyFileSync(path.join(FIXTURES, 'one-api.sqlite'), file)
  fs.chmodSync(file, 0o600)
  return plainSqlite(file)
}

export async function postgresFixture(): Promise<PlainDatabase> {
  const { url, drop } = await createTestDatabase()
  onTestFinished(drop)
  const database = plainPostgres(url)
  const dump = fs.readFileSync(path.join(FIXTURES, 'one-api.postgres.sql'), 'utf8')
  await database.run(withoutCopies(dump))
  return database
}

/** Converts a plain dump to statements only: rows for `COPY` become inserts. */
function withoutCopies(dump: string): string {
  const statements: string[] = []
  let head: string | null = null
  for (const line of dump.split('\n')) {
    if (head !== null) {
      if (line === '\\.') head = null
      else statements.push(`${head} VALUES (${line.split('\t').map(copiedValue).join(', ')});`)
    } else if (line.startsWith('COPY ')) {
      head = `INSERT INTO ${line.slice('COPY '.length, line.indexOf(' FROM stdin'))}`
    } else if (!line.startsWith('\\') && !line.startsWith('--')) statements.push(line)
  }
  return statements.join('\n')
}

const copiedValue = (text: string): string =>
  text === '\\N' ? 'NULL' : `E'${text.replaceAll("'", "''")}'`

/** Returns all rows of One API's tables by key, with the original columns. */
export async function oneApiRows(
  database: PlainDatabase,
  columns: (table: OneApiTableName) => readonly string[] | null = () => null,
): Promise<Record<OneApiTableName, PlainRow[]>> {
  const tables = {} as Record<OneApiTableName, PlainRow[]>
  for (const table of ONE_API_TABLES) {
    const named =
      columns(table)
        ?.map((name) => `"${name}"`)
        .join(', ') ?? '*'
    const order = ONE_API_KEYS[table].map((name) => `"${name}"`).join(', ')
    tables[table] = await database.rows(`SELECT ${named} FROM ${table} ORDER BY ${order}`)
  }
  return tables
}

/** Returns the rows of the MySQL dump, parsed line by line and independently of our parser. */
export function dumpedRows(): Record<OneApiTableName, PlainRow[]> {
  const tables = {} as Record<OneApiTableName, PlainRow[]>
  let table: OneApiTableName = 'users'
  let columns: string[] = []
  for (const line of fs.readFileSync(MYSQL_DUMP, 'utf8').split('\n')) {
    const created = /^CREATE TABLE `(\w+)`/.exec(line)?.[1]
    if (created !== undefined) {
      // The dump contains exactly One API's tables.
      table = created as OneApiTableName
      columns = []
      tables[table] = []
    }
    const column = /^ {2}`(\w+)` /.exec(line)?.[1]
    if (column !== undefined) columns.push(column)
    if (line.startsWith('(')) {
      const values = [...line.matchAll(/'((?:[^'\\]|\\.)*)'|NULL|-?[\d.]+/g)].map(([all, text]) => {
        if (text !== undefined) return text.replace(/\\(.)/g, '$1')
        return all === 'NULL' ? null : Number(all)
      })
      tables[table].push(Object.fromEntries(columns.map((name, at) => [name, values[at]])))
    }
  }
  return tables
}

/** A copy of the fixture on each engine, by the engine's name. */
export const FIXTURES_BY_ENGINE: [string, () => PlainDatabase | Promise<PlainDatabase>][] = [
  ['sqlite', sqliteFixture],
  ['postgres', postgresFixture],
]
