import fs from 'node:fs'
import pino, { type DestinationStream, type Logger } from 'pino'
import { ConfigError, type Config } from '../config.ts'
import { configuredFile, unusedOneApiFile } from '../database-file.ts'
import { openDatabase } from './open-database.ts'
import type { Database, DatabaseAddress } from '../db/database.ts'
import { LostThread } from '../db/sqlite-connection.ts'
import { fileTrouble, folderTrouble, takeSqliteFile } from '../db/sqlite-file.ts'

/** Where the settings say the database is. */
export const configuredAddress = (config: Config): DatabaseAddress =>
  config.SQL_DSN === undefined
    ? {
        engine: 'sqlite',
        path: configuredFile(config),
        synchronous: config.SQLITE_SYNCHRONOUS,
      }
    : { engine: 'postgres', url: config.SQL_DSN }

/** Throws `ConfigError` where a command that only looks at what is there would make a database. */
export function mustBeThere(address: DatabaseAddress): void {
  if (address.engine === 'postgres' || fs.existsSync(address.path)) return
  const trouble = folderTrouble(address.path)
  throw new ConfigError(
    trouble === null
      ? `SQLITE_PATH: there is no file ${address.path}`
      : `${placeOf(address)} cannot be opened: ${trouble}`,
  )
}

/**
 * The database for a server, which has a SQLite file to itself. Throws `ConfigError` while another
 * server runs on it.
 */
export async function openForServer(config: Config): Promise<Database> {
  const address = configuredAddress(config)
  if (address.engine === 'postgres') return openConfigured(config)
  const unused = unusedOneApiFile(config)
  if (unused !== null) process.stderr.write(`${unused}\n`)
  const giveBack = taken(address.path, 'several servers need PostgreSQL (SQL_DSN)')
  const database = await openConfigured(config)
  return {
    ...database,
    async close() {
      await database.close()
      giveBack()
    },
  }
}

/** Takes a SQLite file for this process. Throws `ConfigError`, with `advice`, while a server has it. */
export function taken(file: string, advice: string): () => void {
  try {
    const giveBack = takeSqliteFile(file)
    if (giveBack !== null) return giveBack
  } catch (error) {
    throw cannotBeOpened({ engine: 'sqlite', path: file }, error, { readonly: true })
  }
  throw new ConfigError(`SQLITE_PATH: a server runs on ${file}; ${advice}`)
}

/**
 * The database that the settings name; one that One API has written is adopted, with a line for
 * each step. Throws `ConfigError` when it cannot be opened.
 */
export async function openConfigured(config: Config): Promise<Database> {
  const address = configuredAddress(config)
  try {
    return await openDatabase(address, (line) => process.stderr.write(`${line}\n`))
  } catch (error) {
    throw cannotBeOpened(address, error)
  }
}

export const cannotBeOpened = (
  address: DatabaseAddress,
  error: unknown,
  { readonly = false }: { readonly?: boolean } = {},
): ConfigError =>
  new ConfigError(`${placeOf(address)} cannot be opened: ${whyOf(address, error, { readonly })}`)

/** For one that was opened, and whose pages or connection then failed. */
export const cannotBeRead = (address: DatabaseAddress, error: unknown): ConfigError =>
  new ConfigError(
    `${placeOf(address)} cannot be read: ${whyOf(address, error, { readonly: true })}`,
  )

/** What SQLite and the system say of a file that cannot be used, be it as it may. */
const OF_FILES = /^(?:SQLITE_(?:CANTOPEN|READONLY|IOERR|PERM)|EACCES|EISDIR|ENOENT|ENOTDIR|EPERM)/

/** Why a database cannot be used. A thread that could not open its file says so in words alone. */
export function whyOf(
  address: DatabaseAddress,
  error: unknown,
  { readonly }: { readonly: boolean },
): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const isOfFile = error instanceof LostThread || OF_FILES.test(code)
  if (!isOfFile || address.engine === 'postgres') return reasonOf(error)
  return fileTrouble(address.path, { readonly }) ?? reasonOf(error)
}

/** The address of a server holds a password: it is not repeated. */
export const placeOf = (address: DatabaseAddress): string =>
  address.engine === 'sqlite' ? `SQLITE_PATH: ${address.path}` : 'SQL_DSN: the database'

export const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError) return reasonOf(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  if (error.message.endsWith('database is locked')) {
    return `${error.message}; another program, One API perhaps, has the file open: stop it first`
  }
  if (error.message === 'Invalid URL') {
    return 'it is no address; of a password, characters such as # / ? @ are written %23 %2F %3F %40'
  }
  return error.cause === undefined ? error.message : `${error.message}: ${reasonOf(error.cause)}`
}

/** The program's own output: JSON lines, or for people on a terminal. */
export async function createTrace(config: Config): Promise<Logger> {
  const format = config.LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json')
  const settings = {
    level: config.LOG_LEVEL,
    // Whatever is handed to a trace by mistake, these never get out.
    redact: ['*.key', '*.password', '*.authorization', '*.cookie', 'headers'],
  }
  return pino(settings, format === 'json' ? jsonLines() : await prettyLines())
}

/** What waits for an output that takes nothing; the newest lines are given up beyond it. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024

/** A server goes on when its output fails: the terminal is gone, the disk is full. */
function jsonLines(): DestinationStream {
  const lines = pino.destination({ dest: 1, sync: false, maxLength: WAITING_BYTES_MAX })
  lines.on('error', () => {
    // It would try for ever, and the process never end.
    lines.flushSync = () => {}
  })
  return lines
}

async function prettyLines(): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({ ignore: 'pid,hostname' })
  // `serve` has taken care of the output's errors.
  return { write: (line) => void process.stdout.write(pretty(line)) }
}
