import path from 'node:path'
import pino, { type Logger } from 'pino'
import type { Config } from '../config.ts'
import { openDatabase, type Database } from '../db/database.ts'

/** The database that the settings name. */
export function openConfigured(config: Config): Promise<Database> {
  return openDatabase(
    config.SQL_DSN === undefined
      ? { engine: 'sqlite', path: sqliteFile(config), synchronous: config.SQLITE_SYNCHRONOUS }
      : { engine: 'postgres', url: config.SQL_DSN },
  )
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
  return pino({ ...settings, transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname' } } })
}
