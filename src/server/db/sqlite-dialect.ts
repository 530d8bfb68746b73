import {
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from 'kysely'
import { fillNulls } from './null-columns.ts'
import { BOOLEAN_COLUMNS } from './schema.ts'
import type { SqliteConnection } from './sqlite-connection.ts'

/**
 * Runs kysely on a SQLite worker. Each statement, and each whole transaction, holds the
 * connection's lock, so that a ledger batch never runs inside another transaction.
 */
export function sqliteDialect(connection: SqliteConnection): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createDriver: () => new WorkerDriver(connection),
  }
}

class WorkerDriver implements Driver {
  readonly #connection: SqliteConnection
  readonly #handle: DatabaseConnection

  constructor(connection: SqliteConnection) {
    this.#connection = connection
    this.#handle = {
      executeQuery: <R>(query: CompiledQuery) => runQuery<R>(connection, query),
      streamQuery: () => {
        throw new Error('SQLite rows are read page by page')
      },
    }
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    await this.#connection.lock()
    return this.#handle
  }

  async releaseConnection(): Promise<void> {
    this.#connection.unlock()
  }

  async beginTransaction(): Promise<void> {
    await this.#connection.query('BEGIN IMMEDIATE', [])
  }

  async commitTransaction(): Promise<void> {
    await this.#connection.query('COMMIT', [])
  }

  /**
   * SQLite has already rolled back after a full disk or a failed read; the missing transaction must
   * not hide that error. https://sqlite.org/lang_transaction.html (response to errors within a
   * transaction)
   */
  async rollbackTransaction(): Promise<void> {
    try {
      await this.#connection.query('ROLLBACK', [])
    } catch (error) {
      if (!String(error).includes('no transaction is active')) throw error
    }
  }

  async destroy(): Promise<void> {}
}

async function runQuery<R>(
  connection: SqliteConnection,
  query: CompiledQuery,
): Promise<QueryResult<R>> {
  const { rows, changes } = await connection.query(query.sql, query.parameters)
  for (const row of rows) {
    restoreBooleans(row)
    fillNulls(row)
  }
  return {
    // The caller of kysely states the row type; the statement determines it.
    rows: rows as R[],
    numAffectedRows: BigInt(changes),
  }
}

function restoreBooleans(row: unknown): void {
  if (typeof row !== 'object' || row === null) return
  for (const [column, value] of Object.entries(row)) {
    if (typeof value === 'number' && BOOLEAN_COLUMNS.has(column)) {
      Reflect.set(row, column, value !== 0)
    }
  }
}
