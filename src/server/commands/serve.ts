import { ConfigError, type Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { isOutage } from '../db/outage.ts'
import { createServer, type Server } from '../server.ts'
import { isWorker, stopWithSupervisor } from '../workers.ts'
import { DEFAULT_PASSWORD } from '../../contract/user.ts'
import { stopOnSignals, stopWithParent } from './signals.ts'
import { cannotBeOpened, configuredAddress, createTrace, openForServer, reasonOf } from './open.ts'

/** Starts the server, which runs until a signal ends it. Returns its address. */
export async function serve(
  config: Config,
  {
    isUnderNpm = false,
    environment = {},
  }: {
    isUnderNpm?: boolean
    /** Variables that the settings were read from. */
    environment?: Readonly<Record<string, string | undefined>>
  } = {},
): Promise<string> {
  if (config.SQL_DSN !== undefined && config.BACKUP_KEEP > 0) {
    throw new ConfigError(
      'BACKUP_KEEP: daily backups are for SQLite; set it to 0 and schedule pg_dump (docs/manual/en/backup.md)',
    )
  }
  // The server continues if its output is closed.
  process.stdout.on('error', () => {})
  const trace = await createTrace(config)
  const database = await openForServer(config)
  const server = await createServer({ config, database, trace, environment }).catch(
    (error: unknown) => {
      throw sayTrouble(config, error)
    },
  )
  // Shown before anything else can fail, because it is never shown again.
  showPassword(server)
  const address = await listen(config, server)
  trace.info({ address, database: database.engine, version: server.app.version }, 'listening')
  greet(config, server, address)
  const stop = stopping(server, database)
  stopOnSignals(stop)
  if (isWorker()) stopWithSupervisor(stop)
  else {
    // A closing terminal sends it several times and also ends npm.
    process.on('SIGHUP', stop)
    if (isUnderNpm) stopWithParent(stop)
  }
  return address
}

/** The only files a start uses besides the database, which is already open, are in `DATA_DIR`. */
function sayTrouble(config: Config, error: unknown): unknown {
  if (isOutage(error)) return cannotBeOpened(configuredAddress(config), error)
  const isOfFile = error instanceof Error && 'syscall' in error && 'path' in error
  return isOfFile ? new ConfigError(`DATA_DIR: ${reasonOf(error)}`) : error
}

async function listen(config: Config, server: Server): Promise<string> {
  try {
    return await server.listen()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    const place = `${config.HOST}:${config.PORT}`
    throw new ConfigError(
      code === 'EADDRINUSE'
        ? `PORT: ${place} is used by another program`
        : `HOST, PORT: cannot listen on ${place} (${code})`,
    )
  }
}

/** Printed to the terminal and not to the trace. */
function showPassword({ newRoot }: Server): void {
  if (newRoot === null || newRoot.password === null) return
  if (!newRoot.isFirst) {
    process.stdout.write(
      '\nThe settings let other machines reach this server, so root no longer has the default password.',
    )
  }
  process.stdout.write(`\nroot's password, shown once: ${newRoot.password}\n\n`)
}

function greet(config: Config, { newRoot, app }: Server, address: string): void {
  if (newRoot?.isFirst !== true) return
  if (newRoot.password === null && config.INITIAL_ROOT_PASSWORD === undefined) {
    process.stdout.write(
      `\nOpen ${address} and sign in as root / ${DEFAULT_PASSWORD}; you will be asked for a new password.\n\n`,
    )
  }
  app.trace.info('created the first user, root')
}

/**
 * Returns a function that stops the server gracefully and ends the process; once, however often
 * called.
 */
function stopping(server: Server, database: Database): (reason: string) => void {
  let isStopping = false
  const stop = async (reason: string): Promise<void> => {
    if (isStopping) return
    isStopping = true
    const { trace } = server.app
    trace.info({ signal: reason }, 'stopping')
    try {
      await server.close()
      await database.close()
      trace.info('stopped')
      process.exit(0)
    } catch (error) {
      trace.error({ err: error }, 'stopping failed')
      process.exit(1)
    }
  }
  return (reason) => void stop(reason)
}
