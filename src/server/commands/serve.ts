import { ConfigError, type Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { isOutage } from '../db/outage.ts'
import { createServer, type Server } from '../server.ts'
import { DEFAULT_PASSWORD } from '../../contract/user.ts'
import { cannotBeOpened, configuredAddress, createTrace, openForServer } from './open.ts'

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
      'BACKUP_KEEP: daily backups are for SQLite; set it to 0 and schedule pg_dump (docs/operating.md)',
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
  const stop = stopOnSignal(server, database)
  if (isUnderNpm) stopWithParent(stop)
  return address
}

/** The only files a start uses besides the database, which is already open, are in `DATA_DIR`. */
function sayTrouble(config: Config, error: unknown): unknown {
  if (isOutage(error)) return cannotBeOpened(configuredAddress(config), error)
  const isOfFile = error instanceof Error && 'syscall' in error && 'path' in error
  return isOfFile ? new ConfigError(`DATA_DIR: ${error.message}`) : error
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
 * The first signal stops the server gracefully, a second one immediately. Returns the stop
 * function.
 */
function stopOnSignal(server: Server, database: Database): (reason: string) => Promise<void> {
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
  const stopOrEnd = (signal: string): void => {
    if (isStopping) process.exit(1)
    void stop(signal)
  }
  process.on('SIGTERM', stopOrEnd)
  process.on('SIGINT', stopOrEnd)
  // A closing terminal sends it several times and also ends npm, so a repetition is no second
  // request.
  process.on('SIGHUP', (signal) => void stop(signal))
  return stop
}

const PARENT_CHECK_MS = 500

/**
 * Stops the server when its parent ends: a signal sent to `npm start` ends npm and the shell, but
 * does not reach this process.
 */
function stopWithParent(stop: (signal: string) => Promise<void>): void {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    void stop('the end of npm')
  }, PARENT_CHECK_MS)
  timer.unref()
}
