import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { systemClock } from '../clock.ts'
import { ConfigError, type Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { createServer, type Server } from '../server.ts'
import { DEFAULT_PASSWORD } from '../user/user.ts'
import { createTrace, openConfigured } from './open.ts'

/** Starts the server and stays until a signal ends it. */
export async function serve(
  config: Config,
  { isUnderNpm = false }: { isUnderNpm?: boolean } = {},
): Promise<void> {
  buildConsoleIfNeeded()
  const trace = createTrace(config)
  const database = await openConfigured(config)
  const server = await createServer({ config, database, trace })
  const address = await listen(config, server)
  trace.info({ address, database: database.engine, version: server.app.version }, 'listening')
  announceRoot(config, server, address)
  const stop = stopOnSignal(server, database)
  if (isUnderNpm) stopWithParent(stop)
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

const ROOT = path.join(import.meta.dirname, '../../..')

/** A fresh clone has no built console, and after an update it is older than its sources. */
function buildConsoleIfNeeded(): void {
  const built = modifiedMs(path.join(ROOT, 'dist/console/index.html'))
  const sources = ['src/console', 'src/contract', 'index.html', 'vite.config.ts']
  if (built > 0 && sources.every((source) => newestMs(path.join(ROOT, source)) <= built)) return
  process.stderr.write('building the console …\n')
  // In a process of its own: the bundler would stay in this one's memory.
  const build = spawnSync(process.execPath, [path.join(ROOT, 'tools/build-console.ts')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (build.status !== 0) throw new Error('the console could not be built')
  // Sources that are newer but the same (a fresh checkout) are not looked at again.
  const now = systemClock.nowSeconds()
  fs.utimesSync(path.join(ROOT, 'dist/console/index.html'), now, now)
}

const modifiedMs = (file: string): number =>
  fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

function newestMs(place: string): number {
  if (!fs.statSync(place, { throwIfNoEntry: false })?.isDirectory()) return modifiedMs(place)
  const files = fs.readdirSync(place, { recursive: true, withFileTypes: true })
  return Math.max(
    0,
    ...files
      .filter((entry) => entry.isFile())
      .map((entry) => modifiedMs(path.join(entry.parentPath, entry.name))),
  )
}

function announceRoot(config: Config, { firstRoot, app }: Server, address: string): void {
  if (firstRoot === null) return
  const { password } = firstRoot
  if (password !== null) {
    // The only place where it is ever seen; it goes to the terminal and not into the trace.
    process.stdout.write(`\nroot's password, shown once: ${password}\n\n`)
  } else if (config.INITIAL_ROOT_PASSWORD === undefined) {
    process.stdout.write(
      `\nOpen ${address} and sign in as root / ${DEFAULT_PASSWORD}; you will be asked for a new password.\n\n`,
    )
  }
  app.trace.info('created the first user, root')
}

/** The first signal stops gracefully, the second at once. */
function stopOnSignal(server: Server, database: Database): (signal: string) => Promise<void> {
  let isStopping = false
  const stop = async (signal: string): Promise<void> => {
    if (isStopping) process.exit(1)
    isStopping = true
    const { trace } = server.app
    trace.info({ signal }, 'stopping')
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
  process.on('SIGTERM', (signal) => void stop(signal))
  process.on('SIGINT', (signal) => void stop(signal))
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
