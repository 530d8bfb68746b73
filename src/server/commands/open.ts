import path from 'node:path'
import pino, { type Logger } from 'pino'
import { ConfigError, type Config } from '../config.ts'
import { openDatabase, type Database } from '../db/database.ts'

/** The database that the settings name. Throws `ConfigError` when it cannot be opened. */
export async function openConfigured(config: Config): Promise<Database> {
  if (config.SQL_DSN !== undefined) {
    try {
      return await openDatabase({ engine: 'postgres', url: config.SQL_DSN })
    } catch (error) {
      // The address holds a password: it is not repeated.
      throw new ConfigError(`SQL_DSN: the database cannot be opened: ${reasonOf(error)}`)
    }
  }
  const file = sqliteFile(config)
  try {
    return await openDatabase({
      engine: 'sqlite',
      path: file,
      synchronous: config.SQLITE_SYNCHRONOUS,
    })
  } catch (error) {
    throw new ConfigError(`SQLITE_PATH: ${file} cannot be opened: ${reasonOf(error)}`)
  }
}

const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError) return reasonOf(error.errors[0])
  return error instanceof Error ? error.message : String(error)
}

const sqliteFile = (config: Config): string =>
  config.SQLITE_PATH ?? path.join(config.DATA_DIR, 'gatehouse.db')

/** The program's own output: JSON lines, or for people on a terminal. */
export function createTrace(config: Config): Logger {
  const format = config.LOG_FORMAT ?? (process.stdout.isTTY ? 'pretty' : 'json')
  const settings = {
    level: config.LOG_LEVEL,
    // Whatever is handed to a trace by mistake, these never get out.
    redact: ['*.key', '*.password', '*.authorization', '*.cookie', 'headers'],
  }
  if (format === 'json') return pino(settings)
  return pino({
    ...settings,
    transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname' } },
  })
}
