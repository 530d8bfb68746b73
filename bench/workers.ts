/**
 * npm run bench -- workers [--workers 1,2] [--seconds 10] [--rounds 3]
 *
 * One server with several workers (`WORKERS`) on one PostgreSQL. PostgreSQL, upstream and load
 * share core 1. A single worker runs on core 0, more of them on both. Besides the calls per second,
 * the processor time of a call in each part shows what bounds them, and what more cores would
 * give.
 */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import os from 'node:os'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startPostgresCluster } from '../tools/postgres-cluster.ts'
import { LOAD_CORE, MODEL, SERVER_CORE, startUpstream } from './contenders.ts'
import { createGatehouse, ROOT_PASSWORD } from './gatehouse-server.ts'
import { runLoad } from './load.ts'
import { createChannel, createToken, giveQuota, signIn } from './management-client.ts'
import {
  describeMachine,
  machineClock,
  markdownTable,
  median,
  publish,
  withSpread,
} from './report.ts'
import { cpuSecondsOf } from './server-process.ts'

/**
 * Each user has one token, because calls of one user wait for one another (docs/scaling.md, "Hot
 * rows").
 */
const USERS = 4
const CONNECTIONS_PER_USER = 16
const WARMUP_SECONDS = 10
const PLENTY = 1_000_000_000

type Round = {
  perSecond: number
  p99Ms: number
  /** Processor time of a call, in microseconds. */
  workers: number
  postgres: number
}
type Measured = { workers: number; rounds: Round[]; mebibytes: number; problems: string[] }

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      workers: { type: 'string', default: '1,2' },
      seconds: { type: 'string', default: '10' },
      rounds: { type: 'string', default: '3' },
    },
  })
  const loadBefore = os.loadavg()[0] ?? 0
  const clock = machineClock()
  const measured: Measured[] = []
  for (const workers of values.workers.split(',').map(Number)) {
    const options = { seconds: Number(values.seconds), rounds: Number(values.rounds) }
    measured.push(await measure(workers, options))
  }
  publish('workers', describe(measured, describeMachine(clock, loadBefore)), measured)
  if (measured.some(({ problems }) => problems.length > 0)) process.exitCode = 1
}

async function measure(
  workers: number,
  { seconds, rounds }: { seconds: number; rounds: number },
): Promise<Measured> {
  const cluster = await startPostgresCluster({
    isDurable: true,
    settings: { max_connections: '200' },
  })
  const postmaster = await postmasterOf(cluster.url)
  // Connections that are opened later stay on its core.
  execFileSync('taskset', ['-pc', String(LOAD_CORE), String(postmaster)])
  const upstream = await startUpstream()
  const gatehouse = await createGatehouse({
    database: 'postgres',
    servers: { dsn: cluster.url, booksUrl: cluster.url },
    core: workers === 1 ? SERVER_CORE : null,
    env: { WORKERS: String(workers) },
  })
  const server = await gatehouse.start()
  const result: Measured = { workers, rounds: [], mebibytes: 0, problems: [] }
  try {
    const root = await signIn({ url: gatehouse.url, username: 'root', password: ROOT_PASSWORD })
    await createChannel(root, { name: 'upstream', base_url: upstream.url, models: MODEL })
    const keys: string[] = []
    for (let user = 1; user <= USERS; user += 1) {
      const own = { username: `user-${user}`, password: 'password1' }
      await root.call('POST', '/api/user/', { ...own, display_name: own.username })
      await giveQuota(root, own.username, PLENTY)
      const session = await signIn({ url: gatehouse.url, ...own })
      const quota = { remain_quota: PLENTY, unlimited_quota: false }
      keys.push(await createToken(session, { name: 'load', ...quota }))
    }
    let answered = 0
    for (let round = 0; round < rounds; round += 1) {
      const before = { workers: server.cpuSeconds(), postgres: cpuSecondsOf(postmaster) }
      const loads = await Promise.all(
        keys.map((key) =>
          runLoad(
            {
              url: `${gatehouse.url}/v1/chat/completions`,
              headers: { authorization: `Bearer ${key}` },
              body: JSON.stringify({
                model: MODEL,
                messages: [{ role: 'user', content: 'Hello' }],
              }),
              connections: CONNECTIONS_PER_USER,
              warmupSeconds: round === 0 ? WARMUP_SECONDS : 1,
              seconds,
              expect: 'choices',
            },
            LOAD_CORE,
          ),
        ),
      )
      const ofRound = loads.reduce((sum, load) => sum + load.answered, 0)
      answered += ofRound
      for (const { firstFailure } of loads) {
        if (firstFailure !== null) result.problems.push(firstFailure)
      }
      const microseconds = (from: number, to: number) => ((to - from) / ofRound) * 1e6
      const perSecond = loads.reduce((sum, load) => sum + load.perSecond, 0)
      result.rounds.push({
        perSecond,
        p99Ms: median(loads.map((load) => load.p99Ms)),
        workers: microseconds(before.workers, server.cpuSeconds()),
        postgres: microseconds(before.postgres, cpuSecondsOf(postmaster)),
      })
      process.stdout.write(`${workers} workers: ${Math.round(perSecond)} calls/s\n`)
    }
    result.mebibytes = server.rssMebibytes()
    await server.stop()
    const { exitCode, output } = await gatehouse.reconcile()
    if (exitCode !== 0) result.problems.push(output.slice(-1000))
    const billed = (await gatehouse.billedCalls()).length
    if (billed !== answered) result.problems.push(`${answered} calls answered, ${billed} billed`)
    return result
  } finally {
    await server.stop('SIGKILL')
    await gatehouse.remove()
    await upstream.process.stop()
    await cluster.stop()
  }
}

/** Process id of the server that has started the process of a connection. */
async function postmasterOf(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    const status = readFileSync(`/proc/${rows[0]?.pid}/status`, 'utf8')
    return Number(/^PPid:\s+(\d+)/m.exec(status)?.[1])
  } finally {
    await client.end()
  }
}

function describe(measured: Measured[], machine: string): string {
  const columns = [
    'workers',
    `calls/s, ${USERS * CONNECTIONS_PER_USER} connections`,
    'p99 ms',
    'CPU µs a call: workers',
    'PostgreSQL',
    'MiB of all workers',
  ]
  const rows = measured.map(({ workers, rounds, mebibytes }) => {
    const figure = (pick: (round: Round) => number) => median(rounds.map(pick))
    return [
      String(workers),
      withSpread(rounds.map(({ perSecond }) => perSecond)),
      figure(({ p99Ms }) => p99Ms).toFixed(1),
      figure((round) => round.workers).toFixed(0),
      figure((round) => round.postgres).toFixed(0),
      mebibytes.toFixed(0),
    ]
  })
  const problems = measured.flatMap((one) => one.problems.map((text) => `- ${text}`))
  return [
    '# Workers on one PostgreSQL',
    '',
    `${machine}. PostgreSQL, upstream and load share one core.`,
    '',
    markdownTable({ columns, rows }),
    '',
    ...(problems.length > 0 ? ['Problems:', ...problems] : ['No problem was found.']),
  ].join('\n')
}
