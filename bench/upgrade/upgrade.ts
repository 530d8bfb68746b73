/**
 * An upgrade under load: processes of the previous version serve calls, and are stopped and
 * restarted as this version. With SQLite there is one process, with PostgreSQL three, replaced one
 * after another, so that both versions serve at the same time.
 *
 * Invariants: every call that a client received completely is billed exactly once, with the right
 * figures; `gatehouse reconcile` of this version finds no difference; with PostgreSQL no call of
 * the relay or the management API fails.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import manifest from '../../package.json' with { type: 'json' }
import { startFakeUpstream } from '../../tools/fake-upstream/fake-upstream.ts'
import { startFastUpstream } from '../../tools/fake-upstream/fast-upstream.ts'
import { note, prepare, problemsOf, repeated, requestsOf, type Round } from '../crash.ts'
import {
  createGatehouse,
  ROOT_PASSWORD,
  type DatabaseKind,
  type GatehouseServer,
} from '../gatehouse-server.ts'
import { signIn } from '../management-client.ts'
import { connect } from '../raw-http.ts'
import { markdownTable, publish } from '../report.ts'
import { freePort } from '../../tools/free-port.ts'
import type { ServerProcess } from '../server-process.ts'
import { otherVersion, type OtherVersion } from './other-version.ts'

type UpgradeReport = {
  database: DatabaseKind
  from: string
  to: string
  processes: number
  complete: number
  completeStreams: number
  managementCalls: number
  failed: number
  /** Seconds in which no process served. */
  downSeconds: number
  /** Seconds from the signal to each old process until its replacement is ready. */
  replacedSeconds: number[]
  /** Output of the previous version when it is started on this version's tables. */
  downgrade: string
  problems: string[]
}

const WORKERS = 12
/** Interval of stream chunks: slow enough that streams are in progress at each stop. */
const CHUNK_MS = 300
/** Time that a load balancer needs to stop sending calls to a process. */
const DRAIN_MS = 300
const MANAGEMENT_PAUSE_MS = 100
const MANAGEMENT_PATHS = ['/api/user/self', '/api/token/?p=0', '/api/log/?p=0', '/api/channel/?p=0']
const WAIT_MS = 10

export async function main(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      from: { type: 'string', default: 'd4f7136' },
      database: { type: 'string', default: 'sqlite,postgres' },
      seconds: { type: 'string', default: '5' },
    },
  })
  const previous = await otherVersion(values.from)
  const reports: UpgradeReport[] = []
  try {
    for (const database of values.database.split(',')) {
      if (database !== 'sqlite' && database !== 'postgres') throw new Error(`unknown ${database}`)
      reports.push(await upgrade({ database, previous, seconds: Number(values.seconds) }))
    }
  } finally {
    await previous.remove()
  }
  publish('upgrade', describe(reports), reports)
  if (reports.some(({ problems }) => problems.length > 0)) process.exitCode = 1
}

async function upgrade(options: {
  database: DatabaseKind
  previous: OtherVersion
  /** Duration of each state under load, in seconds. */
  seconds: number
}): Promise<UpgradeReport> {
  const { database, previous, seconds } = options
  const quick = await startFastUpstream()
  const paced = await startFakeUpstream()
  const gatehouse = await createGatehouse({ database })
  const processes = database === 'sqlite' ? 1 : 3
  const ports = await freePorts(processes)
  const running = new Map<number, ServerProcess>()
  const report: UpgradeReport = {
    database,
    from: previous.version,
    to: manifest.version,
    processes,
    complete: 0,
    completeStreams: 0,
    managementCalls: 0,
    failed: 0,
    downSeconds: 0,
    replacedSeconds: [],
    downgrade: '',
    problems: [],
  }
  try {
    const { program } = previous
    for (const port of ports) running.set(port, await gatehouse.start({ program, port }))
    const url = urlOf(ports[0] ?? 0)
    const keys = await prepare(
      { ...gatehouse, url },
      { quick: quick.url, paced: `${paced.url}/~slow-chunk-${CHUNK_MS}` },
    )
    const root = await signIn({ url, username: 'root', password: ROOT_PASSWORD })
    const load = startLoad({ ports: new Set(ports), keys, cookie: root.cookie })
    await sleep(seconds * 1000)
    for (const port of ports) {
      load.ports.delete(port)
      const wasLast = load.ports.size === 0
      if (!wasLast) await sleep(DRAIN_MS)
      const fromMs = performance.now()
      await running.get(port)?.stop()
      running.set(port, await gatehouse.start({ port }))
      const tookSeconds = (performance.now() - fromMs) / 1000
      report.replacedSeconds.push(tookSeconds)
      if (wasLast) report.downSeconds = tookSeconds
      load.ports.add(port)
      console.log(`${database}: a process was replaced in ${tookSeconds.toFixed(1)} s`)
      await sleep(seconds * 1000)
    }
    const { round, managementCalls } = await load.stop()
    for (const server of running.values()) await server.stop()
    await judge(gatehouse, { report, round, managementCalls })
    report.downgrade = await startAgain(gatehouse, previous)
  } finally {
    for (const server of running.values()) await server.stop('SIGKILL')
    await gatehouse.remove()
    await quick.close()
    await paced.close()
  }
  return report
}

const urlOf = (port: number): string => `http://127.0.0.1:${port}`

async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) ports.add(await freePort())
  return [...ports]
}

type Load = {
  /** Ports of the processes that receive calls, like a proxy's list of servers. */
  ports: Set<number>
  /** Stops the load and waits for all calls in progress. */
  stop(): Promise<{ round: Round; managementCalls: number }>
}

function startLoad({
  ports,
  keys,
  cookie,
}: {
  ports: Set<number>
  keys: string[]
  cookie: string
}): Load {
  const round: Round = { complete: new Map(), interrupted: 0, unexpected: [] }
  const stopper = new AbortController()
  let turn = 0
  let managementCalls = 0

  /** Next process in turn; waits until there is one. */
  async function nextUrl(): Promise<URL> {
    while (ports.size === 0) await sleep(WAIT_MS)
    turn += 1
    return new URL(urlOf([...ports][turn % ports.size] ?? 0))
  }

  async function relay(key: string, first: number): Promise<void> {
    for (let sent = first; !stopper.signal.aborted; sent += 1) {
      const target = await nextUrl()
      const requests = requestsOf(target, key)
      const request = requests[sent % requests.length] ?? Buffer.alloc(0)
      const isAnswered = await new Promise<boolean>((resolve) => {
        const connection = connect(target, {
          onResponse: (response) => {
            note(round, response)
            resolve(true)
            connection.close()
          },
          onClose: () => resolve(false),
        })
        connection.send(request)
      })
      if (isAnswered) continue
      round.interrupted += 1
      round.unexpected.push('a process closed a connection before it had answered')
    }
  }

  async function manage(): Promise<void> {
    while (!stopper.signal.aborted) {
      const target = await nextUrl()
      const address = MANAGEMENT_PATHS[managementCalls % MANAGEMENT_PATHS.length] ?? ''
      managementCalls += 1
      const text = await fetch(new URL(address, target), { headers: { cookie } })
        .then((response) => response.text())
        .catch(String)
      if (!text.includes('"success":true')) {
        round.unexpected.push(`${address}: ${text.slice(0, 300)}`)
      }
      await sleep(MANAGEMENT_PAUSE_MS)
    }
  }

  const workers = Array.from({ length: WORKERS }, (_, index) =>
    relay(keys[index % keys.length] ?? '', index),
  )
  const all = Promise.all([...workers, manage()])
  return {
    ports,
    async stop() {
      stopper.abort()
      await all
      return { round, managementCalls }
    },
  }
}

async function judge(
  gatehouse: GatehouseServer,
  {
    report,
    round,
    managementCalls,
  }: { report: UpgradeReport; round: Round; managementCalls: number },
): Promise<void> {
  const billed = await gatehouse.billedCalls()
  report.complete = round.complete.size
  report.completeStreams = [...round.complete.values()].filter(Boolean).length
  report.managementCalls = managementCalls
  report.failed = round.unexpected.length
  report.problems = await problemsOf(gatehouse, round, billed)
  const twice = repeated(billed)
  if (twice.length > 0) report.problems.push(`billed twice: ${twice.join(', ')}`)
}

/** Starts the previous version on the new tables; returns its output. */
async function startAgain(gatehouse: GatehouseServer, previous: OtherVersion): Promise<string> {
  const port = await freePort()
  const started = await gatehouse.start({ program: previous.program, port }).catch(String)
  if (typeof started === 'string') return started.trim().split('\n').at(-1) ?? ''
  await started.stop()
  return 'it serves'
}

function describe(reports: UpgradeReport[]): string {
  const rows = reports.map((report) => [
    `${report.from} → ${report.to}`,
    report.database,
    String(report.processes),
    String(report.complete),
    String(report.completeStreams),
    String(report.managementCalls),
    String(report.failed),
    report.replacedSeconds.map((seconds) => seconds.toFixed(1)).join(', '),
    report.downSeconds.toFixed(1),
  ])
  const columns = [
    'versions',
    'database',
    'processes',
    'complete',
    'of them streams',
    'management calls',
    'failed',
    'replaced in, s',
    'nobody served, s',
  ]
  const problems = reports.flatMap((report) => report.problems.map((text) => `- ${text}`))
  const downgrades = reports.map(
    ({ database, from, downgrade }) => `- ${from} started afterwards on ${database}: ${downgrade}`,
  )
  return [
    '# Upgrade under load',
    '',
    'Every complete call must be billed exactly once, and the books must agree afterwards.',
    '',
    markdownTable({ columns, rows }),
    '',
    ...downgrades,
    '',
    ...(problems.length > 0 ? ['Problems:', ...problems] : ['No problem was found.']),
  ].join('\n')
}
