import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serverAccount } from '../tools/postgres-cluster.ts'
import { freePort } from '../tools/free-port.ts'

const START_LIMIT_MS = 10_000
const POLL_MS = 50

/** Starts PgBouncer in session mode before a PostgreSQL server; `program` is its path. */
export async function startPgbouncer(
  program: string,
  postgresUrl: string,
): Promise<{ url: string; stop(): Promise<void> }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'gatehouse-pgbouncer-'))
  const { hostname, port: serverPort, username, password } = new URL(postgresUrl)
  const port = await freePort()
  const userList = path.join(directory, 'users')
  const settings = path.join(directory, 'pgbouncer.ini')
  await writeFile(userList, `"${username}" "${password}"\n`)
  await writeFile(
    settings,
    `[databases]
* = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${userList}
pool_mode = session
default_pool_size = 60
max_client_conn = 200
`,
  )
  const account = serverAccount()
  if (account) {
    await chmod(directory, 0o700)
    for (const file of [directory, userList, settings]) {
      await chown(file, account.uid, account.gid)
    }
  }
  const child = spawn(program, ['-q', settings], { ...account, stdio: 'ignore' })
  const url = new URL(postgresUrl)
  url.port = String(port)
  const untilMs = performance.now() + START_LIMIT_MS
  while (!(await accepts(port))) {
    if (child.exitCode !== null || performance.now() > untilMs) {
      child.kill()
      throw new Error(`${program} did not start`)
    }
    await sleep(POLL_MS)
  }
  return {
    url: url.href,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        await once(child, 'exit')
      }
      await rm(directory, { recursive: true, force: true })
    },
  }
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
