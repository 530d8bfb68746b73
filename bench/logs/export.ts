/** A large export: time to the first byte, throughput, memory, and its effect on relayed calls. */
import { mkdtemp, rm } from 'node:fs/promises'
import os, { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../src/server/commands/open-database.ts'
import { startPostgresCluster } from '../../tools/postgres-cluster.ts'
import { createGatehouse, ROOT_PASSWORD } from '../gatehouse-server.ts'
import type { LoadResult } from '../load.ts'
import { fillPostgres, fillSqlite } from './log-rows.ts'
import { signIn } from '../management-client.ts'
import { describeMachine, machineClock, markdownTable, publish } from '../report.ts'
import { relayedCalls } from './relayed-calls.ts'

const SERVER_CORE = 0
const DAYS = 180
const MEMORY_SAMPLE_MS = 100
const LOAD_SECONDS = 8
const CONNECTIONS = 4

type Export = {
  format: string
  firstByteMs: number
  seconds: number
  bytes: number
  moreMib: number
}

export async function main(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      rows: { type: 'string', default: '1000000' },
      database: { type: 'string', default: 'sqlite' },
    },
  })
  const loadBefore = os.loadavg()[0] ?? 0
  const clock = machineClock()
  const rows = Number(values.rows)
  const filled = await filledDatabase(values.database, rows)
  const gatehouse = await createGatehouse({
    database: 'sqlite',
    core: SERVER_CORE,
    env: filled.env,
  })
  const server = await gatehouse.start()
  const { url } = gatehouse
  const root = await signIn({ url, username: 'root', password: ROOT_PASSWORD })
  const calls = await relayedCalls(url, root)
  const load = () => calls.run({ connections: CONNECTIONS, seconds: LOAD_SECONDS })
  try {
    const cookie = await cookieOf(url)
    const memory = () => server.rssMebibytes()
    const exports: Export[] = []
    for (const format of ['json', 'csv', 'ndjson']) {
      exports.push(await takeExport({ url, cookie, format, memory }))
    }
    const alone = await load()
    const [beside] = await Promise.all([
      load(),
      takeExport({ url, cookie, format: 'json', memory }),
    ])
    const machine = describeMachine(clock, loadBefore)
    publish(`export-${values.database}`, describe({ exports, alone, beside, machine, rows }), {
      machine,
      exports,
      alone,
      beside,
    })
  } finally {
    await server.stop()
    await gatehouse.remove()
    await calls.stop()
    await filled.remove()
  }
}

async function filledDatabase(kind: string, rows: number) {
  const filling = { rows, days: DAYS, nowSeconds: Math.floor(Date.now() / 1000) }
  if (kind === 'postgres') {
    const cluster = await startPostgresCluster({ isDurable: false, settings: {} })
    await (await openDatabase({ engine: 'postgres', url: cluster.url })).close()
    await fillPostgres(cluster.url, filling)
    return { env: { SQL_DSN: cluster.url }, remove: () => cluster.stop() }
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-export-'))
  const file = path.join(folder, 'gatehouse.db')
  await (await openDatabase({ engine: 'sqlite', path: file })).close()
  await fillSqlite(file, filling)
  return {
    env: { SQLITE_PATH: file },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

async function cookieOf(url: string): Promise<string> {
  const response = await fetch(`${url}/api/user/login`, {
    method: 'POST',
    body: JSON.stringify({ username: 'root', password: ROOT_PASSWORD }),
  })
  await response.arrayBuffer()
  return response.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
}

/** Reads an export to its end and discards it. */
async function takeExport({
  url,
  cookie,
  format,
  memory,
}: {
  url: string
  cookie: string
  format: string
  memory: () => number
}): Promise<Export> {
  const before = memory()
  let most = before
  const sampler = setInterval(() => (most = Math.max(most, memory())), MEMORY_SAMPLE_MS)
  const began = performance.now()
  const response = await fetch(`${url}/api/log/export/?format=${format}`, { headers: { cookie } })
  if (response.status !== 200 || response.body === null) throw new Error(await response.text())
  let firstByteMs = 0
  let bytes = 0
  for await (const chunk of response.body) {
    firstByteMs ||= performance.now() - began
    bytes += chunk.length
  }
  clearInterval(sampler)
  const seconds = (performance.now() - began) / 1000
  return { format, firstByteMs, seconds, bytes, moreMib: most - before }
}

function describe({
  exports,
  alone,
  beside,
  machine,
  rows,
}: {
  exports: Export[]
  alone: LoadResult
  beside: LoadResult
  machine: string
  rows: number
}): string {
  const table = exports.map(({ format, firstByteMs, seconds, bytes, moreMib }) => [
    format,
    firstByteMs.toFixed(0),
    seconds.toFixed(1),
    Math.round(rows / seconds).toLocaleString('en'),
    (bytes / 2 ** 20).toFixed(0),
    moreMib.toFixed(0),
  ])
  const relay = [
    ['alone', alone],
    ['beside an export', beside],
  ] as const
  return [
    `# An export of ${rows.toLocaleString('en')} rows`,
    '',
    `${machine}. Server and its threads on one core, the reader and the load on the other.`,
    '',
    markdownTable({
      columns: ['format', 'first byte ms', 's', 'rows/s', 'MiB', 'more memory MiB'],
      rows: table,
    }),
    '',
    `Relayed calls meanwhile, ${CONNECTIONS} connections:`,
    '',
    markdownTable({
      columns: ['', 'calls/s', 'p50 ms', 'p99 ms', 'failed'],
      rows: relay.map(([name, result]) => [
        name,
        Math.round(result.perSecond).toLocaleString('en'),
        result.p50Ms.toFixed(2),
        result.p99Ms.toFixed(2),
        String(result.failed),
      ]),
    }),
  ].join('\n')
}
