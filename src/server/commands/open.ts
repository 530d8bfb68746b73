import fs from 'node:fs'
import pino, { type DestinationStream, type Logger } from 'pino'
import type { AdoptionChoice } from '../adopt/adopt-database.ts'
import { ConfigError, type Config } from '../config.ts'
import { configuredFile, unusedOneApiFile } from '../database-file.ts'
import { openDatabase } from './open-database.ts'
import type { Database, DatabaseAddress } from '../db/database.ts'
import { LostThread } from '../db/sqlite-connection.ts'
import { fileReason } from '../file-error.ts'
import { readKeyring } from '../secrets/read-keyring.ts'
import { fileTrouble, folderTrouble, takeSqliteFile } from '../db/sqlite-file.ts'

/** Returns the address of the configured database. */
export const configuredAddress = (config: Config): DatabaseAddress =>
  config.SQL_DSN === undefined
    ? {
        engine: 'sqlite',
        path: configuredFile(config),
        synchronous: config.SQLITE_SYNCHRONOUS,
      }
    : {
        engine: 'postgres',
        url: config.SQL_DSN,
        ...(config.SQL_READ_DSN === undefined
          ? {}
          : { replica: { url: config.SQL_READ_DSN, lagMaxSeconds: config.SQL_READ_LAG } }),
      }

/**
 * Throws `ConfigError` if a database file is missing, so that a read-only command does not create
 * one.
 */
export function mustBeThere(address: DatabaseAddress): void {
  if (address.engine === 'postgres' || fs.existsSync(address.path)) return
  const trouble = folderTrouble(address.path)
  throw new ConfigError(
    trouble === null
      ? `SQLITE_PATH: file not found: ${address.path}`
      : `${placeOf(address)} cannot be opened: ${trouble}`,
  )
}

/**
 * Opens the database for a server, with exclusive use of a SQLite file. Throws `ConfigError` if
 * another server uses it.
 */
export async function openForServer(config: Config): Promise<Database> {
  const address = configuredAddress(config)
  if (address.engine === 'postgres') return openConfigured(config)
  const unused = unusedOneApiFile(config)
  if (unused !== null) process.stderr.write(`${unused}\n`)
  const giveBack = taken(address.path, 'several servers need PostgreSQL (SQL_DSN)')
  const database = await openConfigured(config).catch((error: unknown) => {
    giveBack()
    throw error
  })
  return {
    ...database,
    async close() {
      await database.close()
      giveBack()
    },
  }
}

/** Locks a SQLite file for this process. Throws `ConfigError` with `advice` if a server uses it. */
export function taken(file: string, advice: string): () => void {
  try {
    const giveBack = takeSqliteFile(file)
    if (giveBack !== null) return giveBack
  } catch (error) {
    throw cannotBeOpened({ engine: 'sqlite', path: file }, error, { readonly: true })
  }
  throw new ConfigError(`SQLITE_PATH: a server is using ${file}; ${advice}`)
}

/**
 * Opens the configured database; adopts a database of One API and prints a line per step. Throws
 * `ConfigError` if it cannot be opened.
 */
export async function openConfigured(config: Config, choice?: AdoptionChoice): Promise<Database> {
  const address = configuredAddress(config)
  const keyring = readKeyring(config)
  try {
    return await openDatabase(address, (line) => process.stderr.write(`${line}\n`), keyring, choice)
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

/** Error for a database that was opened and then could not be read. */
export const cannotBeRead = (address: DatabaseAddress, error: unknown): ConfigError =>
  new ConfigError(
    `${placeOf(address)} cannot be read: ${whyOf(address, error, { readonly: true })}`,
  )

/** Errors of SQLite and the system for an unusable file. */
const OF_FILES = /^(?:SQLITE_(?:CANTOPEN|READONLY|IOERR|PERM)|EACCES|EISDIR|ENOENT|ENOTDIR|EPERM)/

/**
 * Returns why a database cannot be used. A thread that could not open its file only has an error
 * message.
 */
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

/** The address of a server contains a password, so it is not repeated. */
export const placeOf = (address: DatabaseAddress): string =>
  address.engine === 'sqlite' ? `SQLITE_PATH: ${address.path}` : 'SQL_DSN: the database'

export const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError) return reasonOf(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  const reason = fileReason(error)
  if (reason !== null) return reason
  if (error.message.endsWith('database is locked')) {
    return `${error.message}; another program, possibly One API, has the file open: stop it first`
  }
  if (error.message === 'Invalid URL') {
    return 'it is not a valid address; in a password, write characters such as # / ? @ as %23 %2F %3F %40'
  }
  return error.cause === undefined ? error.message : `${error.message}: ${reasonOf(error.cause)}`
}

/** Creates the program's own output: JSON lines, or readable text on a terminal. */
export async function createTrace(config: Config): Promise<Logger> {
  const format = config.LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json')
  const settings = {
    level: config.LOG_LEVEL,
    // Members that are always removed from traces.
    redact: ['*.key', '*.password', '*.authorization', '*.cookie', 'headers'],
  }
  return pino(settings, format === 'json' ? jsonLines() : await prettyLines())
}

/** Maximum size in bytes of output waiting to be written; newer lines are dropped beyond it. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024

/**
 * Writes JSON lines. The server continues if its output fails, for example because the terminal is
 * gone or the disk is full.
 */
function jsonLines(): DestinationStream {
  const lines = pino.destination({ dest: 1, sync: false, maxLength: WAITING_BYTES_MAX })
  lines.on('error', () => {
    // Otherwise it would retry forever and block the exit.
    lines.flushSync = () => {}
  })
  return lines
}

async function prettyLines(): Promise<DestinationStream> {
  const { prettyFactory } = await import('pino-pretty')
  const pretty = prettyFactory({ ignore: 'pid,hostname' })
  // `serve` handles the output's errors.
  return { write: (line) => void process.stdout.write(pretty(line)) }
}
