import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** A server in a separate process, as `npm start` runs it. */
export interface RunningGatehouse {
  /** Without a trailing slash. */
  url: string
  /** Folder of its SQLite file and other data. */
  folder: string
  /** Runs `gatehouse reconcile` on its database and returns the output. */
  reconcile(): Promise<string>
  stop(): Promise<void>
}

const ROOT = resolve(import.meta.dirname, '..')
const PROGRAM = join(ROOT, 'dist/server/gatehouse.js')
/** Shorter than the timeout of test hooks, so that the error explains the failure. */
const START_LIMIT_MS = 110_000

/**
 * Starts a server on a free port with its own database: a new SQLite file, or the given PostgreSQL.
 * `program` selects another installation than this project.
 */
export async function startGatehouse(
  settings: { postgresUrl?: string; env?: Record<string, string>; program?: string } = {},
): Promise<RunningGatehouse> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-e2e-'))
  const env = {
    ...process.env,
    PORT: '0',
    DATA_DIR: folder,
    LOG_FORMAT: 'json',
    GLOBAL_API_RATE_LIMIT: '0',
    GLOBAL_WEB_RATE_LIMIT: '0',
    ...(settings.postgresUrl === undefined ? {} : { SQL_DSN: settings.postgresUrl }),
    ...settings.env,
  }
  const { program = PROGRAM } = settings
  const server = spawn(process.execPath, [program, 'serve'], { env, cwd: folder })
  const url = await addressOf(server)
  return {
    url,
    folder,
    async reconcile() {
      return output(spawn(process.execPath, [program, 'reconcile'], { env, cwd: folder }))
    },
    async stop() {
      const ended = new Promise((done) => server.once('exit', done))
      server.kill('SIGTERM')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Returns the address on which a server with JSON output reports to listen. */
export function addressOf(server: ChildProcess): Promise<string> {
  return new Promise((found, fail) => {
    let said = ''
    const timer = setTimeout(() => fail(new Error(`it does not listen:\n${said}`)), START_LIMIT_MS)
    const read = (chunk: Buffer): void => {
      said += chunk.toString()
      const address = /"address":"([^"]+)\/"/.exec(said)?.[1]
      if (address === undefined) return
      clearTimeout(timer)
      found(address)
    }
    server.stdout?.on('data', read)
    server.stderr?.on('data', read)
    server.once('exit', () => fail(new Error(`it ended:\n${said}`)))
  })
}

function output(program: ChildProcess): Promise<string> {
  return new Promise((done) => {
    let said = ''
    program.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()))
    program.once('close', () => done(said))
  })
}
