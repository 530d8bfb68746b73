/**
 * A failover under load: two processes on a PostgreSQL with a streaming replica. The primary ends
 * abruptly, as after a power failure; two seconds later the replica is promoted, as a failover
 * manager would do. The processes know both hosts and are not restarted.
 *
 * Invariants: a call either completes or is refused with 503, `Retry-After` and one sentence; no
 * call is billed twice; `gatehouse reconcile` finds no difference; the processes receive one
 * another's changes again. With synchronous replication every completed call is billed; with
 * asynchronous replication the calls whose settlement had not reached the replica are counted.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startFakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { startFastUpstream } from '../tools/fake-upstream/fast-upstream.ts'
import {
  PRIMARY_SETTINGS,
  startPostgresCluster,
  startPostgresReplica,
} from '../tools/postgres-cluster.ts'
import { note, prepare, problemsOf, repeated, requestsOf, type Round } from './crash.ts'
import { createGatehouse, ROOT_PASSWORD, type GatehouseServer } from './gatehouse-server.ts'
import { signIn } from './management-client.ts'
import { startPgbouncer } from './pgbouncer.ts'
import { connect, type RawResponse } from './raw-http.ts'
import { markdownTable, publish } from './report.ts'
import { freePort } from '../tools/free-port.ts'
import type { ServerProcess } from './server-process.ts'

type Mode = 'synchronous' | 'asynchronous'

type FailoverReport = {
  mode: Mode
  /** Whether the processes reached each host through a PgBouncer of its own. */
  isBounced: boolean
  complete: number
  completeStreams: number
  /** Calls refused with 503, `Retry-After` and a sentence. */
  refused: number
  /** Seconds between the last completed call before the failover and the first after it. */
  pauseSeconds: number
  /** Seconds from the promotion to the first completed call of the last process. */
  reconnectedSeconds: number
  /** Seconds until a process received a change made at the other one after the failover. */
  receivedSeconds: number
  /** Completed calls that the new primary does not know. */
  lost: number
  problems: string[]
}

const WORKERS = 12
const CHUNK_MS = 100
const PROCESSES = 2
/** Milliseconds between calls that begin whether or not earlier ones have ended. */
const ARRIVAL_MS = 50
/** Pause before a refused call is repeated; shorter than `Retry-After`, so that recovery shows. */
const REFUSED_PAUSE_MS = 200
/** Time that a failover manager takes to notice. */
const UNNOTICED_MS = 2000
const RECEIVED_LIMIT_MS = 20_000
const POLL_MS = 50

export async function main(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      seconds: { type: 'string', default: '8' },
      only: { type: 'string', default: 'synchronous,asynchronous' },
      pgbouncer: { type: 'string' },
    },
  })
  const reports: FailoverReport[] = []
  const seconds = Number(values.seconds)
  for (const mode of values.only.split(',')) {
    if (mode !== 'synchronous' && mode !== 'asynchronous') throw new Error(`unknown ${mode}`)
    reports.push(await failover({ mode, seconds }))
  }
  const { pgbouncer } = values
  if (pgbouncer) reports.push(await failover({ mode: 'synchronous', seconds, pgbouncer }))
  publish('failover', describe(reports), reports)
  if (reports.some(({ problems }) => problems.length > 0)) process.exitCode = 1
}

async function failover({
  mode,
  seconds,
  pgbouncer,
}: {
  mode: Mode
  /** Duration of the load before and after the failover. */
  seconds: number
  /** Path of the program; without it the processes connect directly. */
  pgbouncer?: string
}): Promise<FailoverReport> {
  const settings = { ...PRIMARY_SETTINGS, max_connections: '100' }
  const primary = await startPostgresCluster({ isDurable: true, settings })
  const replica = await startPostgresReplica(primary, { isDurable: true, settings })
  if (mode === 'synchronous') {
    await ask(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'")
    await ask(primary.url, 'SELECT pg_reload_conf()')
  }
  const quick = await startFastUpstream()
  const paced = await startFakeUpstream()
  const bouncers = await Promise.all(
    pgbouncer ? [primary, replica].map(({ url }) => startPgbouncer(pgbouncer, url)) : [],
  )
  const [first = primary, second = replica] = bouncers
  const gatehouse = await createGatehouse({
    database: 'postgres',
    servers: { dsn: dsnOf(first.url, second.url), booksUrl: replica.url },
  })
  const running: ServerProcess[] = []
  try {
    const ports: number[] = []
    for (let count = 0; count < PROCESSES; count += 1) {
      const port = await freePort()
      ports.push(port)
      running.push(await gatehouse.start({ port }))
    }
    const urls = ports.map((port) => `http://127.0.0.1:${port}`)
    const [url = '', otherUrl = ''] = urls
    const keys = await prepare(
      { ...gatehouse, url },
      { quick: quick.url, paced: `${paced.url}/~slow-chunk-${CHUNK_MS}` },
    )
    const root = await signIn({ url, username: 'root', password: ROOT_PASSWORD })
    const load = startLoad(urls, keys)
    await sleep(seconds * 1000)
    const beganMs = performance.now()
    await primary.stop()
    console.log(`${mode}: the primary has ended`)
    await sleep(UNNOTICED_MS)
    await ask(replica.url, 'SELECT pg_promote()')
    const promotedMs = performance.now()
    console.log(`${mode}: the replica is promoted`)
    const receivedSeconds = await receivedAfter(url, otherUrl, root.cookie)
    await sleep(seconds * 1000)
    const { round, refused, completedMs } = await load.stop()
    for (const server of running) await server.stop()
    const report = await judge(gatehouse, { mode, round })
    const all = completedMs.flat().toSorted((one, other) => one - other)
    const before = all.findLast((ms) => ms <= beganMs) ?? beganMs
    const after = all.find((ms) => ms > promotedMs) ?? Infinity
    const firsts = completedMs.map((list) => list.find((ms) => ms > promotedMs) ?? Infinity)
    return {
      ...report,
      isBounced: bouncers.length > 0,
      refused,
      receivedSeconds,
      pauseSeconds: (after - before) / 1000,
      reconnectedSeconds: (Math.max(...firsts) - promotedMs) / 1000,
    }
  } finally {
    for (const server of running) await server.stop('SIGKILL')
    await gatehouse.remove()
    await quick.close()
    await paced.close()
    for (const bouncer of bouncers) await bouncer.stop()
    await replica.stop()
    await primary.stop()
  }
}

/** Names both hosts, the first one first. */
function dsnOf(first: string, second: string): string {
  const { host } = new URL(first)
  return first.replace(host, `${host},${new URL(second).host}`)
}

async function ask(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

type Load = {
  /** Stops the load and waits for all calls in progress. */
  stop(): Promise<{
    round: Round
    refused: number
    /** Times of completed calls, of each process. */
    completedMs: number[][]
  }>
}

function startLoad(urls: readonly string[], keys: readonly string[]): Load {
  const round: Round = { complete: new Map(), interrupted: 0, unexpected: [] }
  const stopper = new AbortController()
  const completedMs: number[][] = urls.map(() => [])
  let refused = 0

  /** Makes one call; returns whether it was refused. */
  async function call(index: number, sent: number): Promise<boolean> {
    const at = index % urls.length
    const target = new URL(urls[at] ?? '')
    const requests = requestsOf(target, keys[index % keys.length] ?? '')
    const response = await answered(target, requests[sent % requests.length] ?? Buffer.alloc(0))
    if (response === null) {
      round.interrupted += 1
      round.unexpected.push('a process closed a connection before it had answered')
    } else if (isRefusal(response)) {
      refused += 1
      return true
    } else {
      note(round, response)
      completedMs[at]?.push(performance.now())
    }
    return false
  }

  async function repeat(index: number): Promise<void> {
    for (let sent = index; !stopper.signal.aborted; sent += 1) {
      if (await call(index, sent)) await sleep(REFUSED_PAUSE_MS)
    }
  }

  const running = new Set<Promise<unknown>>()
  async function arrive(): Promise<void> {
    for (let index = 0; !stopper.signal.aborted; index += 1) {
      const one = call(index, index).finally(() => running.delete(one))
      running.add(one)
      await sleep(ARRIVAL_MS)
    }
  }

  const all = Promise.all([
    arrive(),
    ...Array.from({ length: WORKERS }, (_, index) => repeat(index)),
  ])
  return {
    async stop() {
      stopper.abort()
      await all
      await Promise.all(running)
      return { round, refused, completedMs }
    },
  }
}

/** Resolves to null if the connection is closed without a response. */
function answered(target: URL, request: Buffer): Promise<RawResponse | null> {
  return new Promise((resolve) => {
    const connection = connect(target, {
      onResponse: (response) => {
        resolve(response)
        connection.close()
      },
      onClose: () => resolve(null),
    })
    connection.send(request)
  })
}

const isRefusal = ({ status, head, body }: RawResponse): boolean =>
  status === 503 &&
  /\r\nretry-after: *\d+/i.test(head) &&
  /"code":"(?:database_unavailable|overloaded)"/.test(body.toString())

/** Changes an option at one process and waits until the other one has the new value. */
async function receivedAfter(url: string, otherUrl: string, cookie: string): Promise<number> {
  const name = `after ${Date.now()}`
  const headers = { cookie, 'content-type': 'application/json' }
  const body = JSON.stringify({ key: 'SystemName', value: name })
  const untilMs = performance.now() + RECEIVED_LIMIT_MS
  const changed = async () => {
    const response = await fetch(`${url}/api/option/`, { method: 'PUT', headers, body })
    return (await response.text()).includes('"success":true')
  }
  while (!(await changed()) && performance.now() < untilMs) await sleep(POLL_MS)
  const fromMs = performance.now()
  while (performance.now() < untilMs) {
    const text = await (await fetch(`${otherUrl}/api/status`)).text()
    if (text.includes(name)) return (performance.now() - fromMs) / 1000
    await sleep(POLL_MS)
  }
  return Infinity
}

type Judged = Pick<FailoverReport, 'mode' | 'complete' | 'completeStreams' | 'lost' | 'problems'>

async function judge(
  gatehouse: GatehouseServer,
  { mode, round }: { mode: Mode; round: Round },
): Promise<Judged> {
  const billed = await gatehouse.billedCalls()
  const known = new Set(billed.map(({ requestId }) => requestId))
  const kept = [...round.complete].filter(([id]) => known.has(id))
  const lost = round.complete.size - kept.length
  // Only asynchronous replication may lose what was acknowledged.
  const due = mode === 'synchronous' ? round : { ...round, complete: new Map(kept) }
  const problems = await problemsOf(gatehouse, due, billed)
  const twice = repeated(billed)
  if (twice.length > 0) problems.push(`billed twice: ${twice.join(', ')}`)
  return {
    mode,
    complete: round.complete.size,
    completeStreams: [...round.complete.values()].filter(Boolean).length,
    lost,
    problems,
  }
}

function describe(reports: FailoverReport[]): string {
  const columns = [
    'replication',
    'complete',
    'of them streams',
    'refused with 503',
    'no call completed, s',
    'all processes serve after promotion, s',
    'change received, s',
    'complete calls lost',
  ]
  const rows = reports.map((report) => [
    `${report.mode}${report.isBounced ? ', PgBouncer' : ''}`,
    String(report.complete),
    String(report.completeStreams),
    String(report.refused),
    report.pauseSeconds.toFixed(1),
    report.reconnectedSeconds.toFixed(1),
    report.receivedSeconds.toFixed(1),
    String(report.lost),
  ])
  const problems = reports.flatMap((report) => report.problems.map((text) => `- ${text}`))
  return [
    '# Failover under load',
    '',
    'The primary ends abruptly, and the replica is promoted two seconds later. Every complete call must',
    'be billed exactly once, except those that asynchronous replication had not passed on.',
    '',
    markdownTable({ columns, rows }),
    '',
    ...(problems.length > 0 ? ['Problems:', ...problems] : ['No problem was found.']),
  ].join('\n')
}
