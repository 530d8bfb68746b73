import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import Database from 'better-sqlite3'
import pg from 'pg'
import { startPostgresCluster } from '../tools/postgres-cluster.ts'
import { freePort } from '../tools/free-port.ts'
import { startServer, type ServerProcess } from './server-process.ts'

export type DatabaseKind = 'sqlite' | 'postgres'

/**
 * A Gatehouse server with a temporary directory, its own database and without limits, not yet
 * started.
 */
export type GatehouseServer = {
  url: string
  /** Path of its database on SQLite. */
  sqlitePath: string
  /** URL of its database on PostgreSQL; empty on SQLite. */
  postgresUrl: string
  start(process?: OneProcess): Promise<ServerProcess>
  /** Runs `gatehouse` with this command on its database. */
  run(command: string): Promise<{ exitCode: number; output: string }>
  /** Runs `gatehouse reconcile` on its database. */
  reconcile(): Promise<{ exitCode: number; output: string }>
  /** Consumption rows with a higher log id, oldest first. */
  billedCalls(afterId?: number): Promise<BilledCall[]>
  /** Removes everything; the server must have been stopped. */
  remove(): Promise<void>
}

/** One of several processes, or one of another version. */
export type OneProcess = {
  /** Node arguments before the command; this working tree if not set. */
  program?: readonly string[]
  port?: number
}

export type BilledCall = {
  id: number
  requestId: string
  channelId: number
  quota: number
  promptTokens: number
  completionTokens: number
  isStream: boolean
}

export type GatehouseOptions = {
  database: DatabaseKind
  core?: number | null
  env?: Record<string, string>
  openFilesMin?: number
  /** PostgreSQL servers of the benchmark's own, instead of one for this server. */
  servers?: {
    /** `SQL_DSN`, which may name several hosts. */
    dsn: string
    /** Where the books are read at the end. */
    booksUrl: string
  }
}

export const ROOT_PASSWORD = 'RootPass1'
const CONSUMPTION_LOG_TYPE = 2
/** The built server, as `npm start` runs it. */
const PROGRAM = path.join(import.meta.dirname, '../dist/server/gatehouse.js')

export async function createGatehouse(options: GatehouseOptions): Promise<GatehouseServer> {
  const directory = await mkdtemp(path.join(tmpdir(), 'gatehouse-bench-'))
  const { servers } = options
  const cluster = options.database === 'postgres' && !servers ? await durableCluster() : null
  const booksUrl = servers?.booksUrl ?? cluster?.url
  const dsn = servers?.dsn ?? cluster?.url
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const sqlitePath = path.join(directory, 'gatehouse.db')
  const env = {
    PORT: String(port),
    HOST: '127.0.0.1',
    DATA_DIR: directory,
    INITIAL_ROOT_PASSWORD: ROOT_PASSWORD,
    GLOBAL_API_RATE_LIMIT: '0',
    GLOBAL_WEB_RATE_LIMIT: '0',
    CRITICAL_RATE_LIMIT: '0',
    ...(dsn ? { SQL_DSN: dsn } : { SQLITE_PATH: sqlitePath }),
    ...options.env,
  }
  return {
    url,
    start: (one = {}) =>
      startServer({
        name: `gatehouse on ${options.database}`,
        args: [...(one.program ?? [PROGRAM]), 'serve'],
        env: { ...env, PORT: String(one.port ?? port) },
        readyUrl: `http://127.0.0.1:${one.port ?? port}/readyz`,
        core: options.core ?? null,
        outputFile: path.join(directory, 'output.log'),
        ...(options.openFilesMin === undefined ? {} : { openFilesMin: options.openFilesMin }),
      }),
    run: (command) => runCommand(command, env),
    reconcile: () => runCommand('reconcile', env),
    sqlitePath,
    postgresUrl: booksUrl ?? '',
    billedCalls: (afterId = 0) =>
      booksUrl ? billedInPostgres(booksUrl, afterId) : billedInSqlite(sqlitePath, afterId),
    remove: async () => {
      await cluster?.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

/** A durable cluster: every commit is flushed to disk. */
function durableCluster() {
  return startPostgresCluster({ isDurable: true, settings: { max_connections: '200' } })
}

function runCommand(command: string, env: Record<string, string>) {
  return new Promise<{ exitCode: number; output: string }>((resolve) => {
    const options = { env: { ...process.env, ...env }, maxBuffer: 16 * 1024 * 1024 }
    const child = execFile(process.execPath, [PROGRAM, command], options, (_error, out, err) => {
      resolve({ exitCode: child.exitCode ?? -1, output: `${out}${err}` })
    })
  })
}

const BILLED = `SELECT id, request_id, channel_id, quota, prompt_tokens, completion_tokens, is_stream
  FROM logs WHERE type = ${CONSUMPTION_LOG_TYPE} AND id > `

type Row = {
  id: number | string
  request_id: string
  channel_id: number | string
  quota: number | string
  prompt_tokens: number | string
  completion_tokens: number | string
  is_stream: number | boolean
}

function billedInSqlite(file: string, afterId: number): Promise<BilledCall[]> {
  const database = new Database(file, { readonly: true })
  try {
    const rows = database.prepare<[number], Row>(`${BILLED} ? ORDER BY id`).all(afterId)
    return Promise.resolve(rows.map(billedCall))
  } finally {
    database.close()
  }
}

async function billedInPostgres(url: string, afterId: number): Promise<BilledCall[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<Row>(`${BILLED} $1 ORDER BY id`, [afterId])
    return rows.map(billedCall)
  } finally {
    await client.end()
  }
}

function billedCall(row: Row): BilledCall {
  return {
    id: Number(row.id),
    requestId: row.request_id,
    channelId: Number(row.channel_id),
    quota: Number(row.quota),
    promptTokens: Number(row.prompt_tokens),
    completionTokens: Number(row.completion_tokens),
    isStream: Boolean(row.is_stream),
  }
}
