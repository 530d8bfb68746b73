import { ConfigError, type Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { isOutage } from '../db/outage.ts'
import { createServer, type Server } from '../server.ts'
import { DEFAULT_PASSWORD } from '../../contract/user.ts'
import { cannotBeOpened, configuredAddress, createTrace, openForServer } from './open.ts'

/** Starts the server, which stays until a signal ends it. Answers its address. */
export async function serve(
  config: Config,
  {
    isUnderNpm = false,
    environment = {},
  }: {
    isUnderNpm?: boolean
    /** What the settings were read from. */
    environment?: Readonly<Record<string, string | undefined>>
  } = {},
): Promise<string> {
  if (config.SQL_DSN !== undefined && config.BACKUP_KEEP > 0) {
    throw new ConfigError(
      'BACKUP_KEEP: daily backups are for SQLite; set it to 0 and schedule pg_dump (docs/operating.md)',
    )
  }
  // A server goes on when nobody reads its output any more.
  process.stdout.on('error', () => {})
  const trace = await createTrace(config)
  const database = await openForServer(config)
  const server = await createServer({ config, database, trace, environment }).catch(
    (error: unknown) => {
      throw sayTrouble(config, error)
    },
  )
  // Before anything else can fail: nobody will ever see it again.
  showPassword(server)
  const address = await listen(config, server)
  trace.info({ address, database: database.engine, version: server.app.version }, 'listening')
  greet(config, server, address)
  const stop = stopOnSignal(server, database)
  if (isUnderNpm) stopWithParent(stop)
  return address
}

/** Of files, a start touches those in `DATA_DIR`, beside the database, which was opened before. */
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
        ? `PORT: ${place} is taken by another program`
        : `HOST, PORT: cannot listen on ${place} (${code})`,
    )
  }
}

/** Goes to the terminal and not into the trace. */
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

/** The first signal stops gracefully, a second at once. Answers what stops, too. */
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
  // A terminal that is closed sends it more than once, and ends npm beside: no second wish.
  process.on('SIGHUP', (signal) => void stop(signal))
  return stop
}

const PARENT_CHECK_MS = 500

/**
 * A signal sent to `npm start` ends npm and the shell between, but does not reach this process:
 * being left without its parent means the same.
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
