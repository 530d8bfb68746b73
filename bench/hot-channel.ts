/**
 * Several processes that settle calls of one channel on one PostgreSQL, compared with a channel for
 * each: rows that all batches update make them wait for one another's commit. Each writer is the
 * ledger of one process: its own connection, group commit, and its own users. Commits wait for a
 * synchronous replica, as in an installation that must lose nothing.
 */
import { once } from 'node:events'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { openDatabase } from '../src/server/commands/open-database.ts'
import { promptPoolOf } from '../src/server/db/postgres-pool.ts'
import { GroupCommit } from '../src/server/ledger/batch/group-commit.ts'
import { createPostgresBatch } from '../src/server/ledger/batch/postgres-batch.ts'
import {
  PRIMARY_SETTINGS,
  startPostgresCluster,
  startPostgresReplica,
} from '../tools/postgres-cluster.ts'
import { markdownTable, median, publish } from './report.ts'

type Row = { writers: number; apart: number[]; together: number[] }

/** Calls in progress at each writer. */
const CALLS_AT_ONCE = 32
const PLENTY_OF_QUOTA = 1_000_000_000_000
const TIMEOUT_MS = 30_000

export async function main(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      writers: { type: 'string', default: '1,2,4,8' },
      seconds: { type: 'string', default: '2' },
      rounds: { type: 'string', default: '3' },
      'delay-ms': { type: 'string', default: '10' },
    },
  })
  const settings = { ...PRIMARY_SETTINGS, max_connections: '100' }
  const primary = await startPostgresCluster({ isDurable: true, settings })
  const line = await slowLine(primary.url, Number(values['delay-ms']))
  const replica = await startPostgresReplica(line, { isDurable: true, settings })
  const client = new pg.Client({ connectionString: primary.url })
  try {
    await client.connect()
    await (await openDatabase({ engine: 'postgres', url: primary.url })).close()
    await client.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await client.query('SELECT pg_reload_conf()')
    const rows: Row[] = []
    for (const writers of values.writers.split(',').map(Number)) {
      const row: Row = { writers, apart: [], together: [] }
      rows.push(row)
      for (let round = 0; round < Number(values.rounds); round += 1) {
        for (const kind of ['apart', 'together'] as const) {
          await fill(client, writers)
          const isShared = kind === 'together'
          const seconds = Number(values.seconds)
          row[kind].push(await settledPerSecond(primary.url, { writers, isShared, seconds }))
        }
      }
      console.log(`${writers}: ${median(row.apart).toFixed(0)}, ${median(row.together).toFixed(0)}`)
    }
    publish('hot-channel', describe(rows, values['delay-ms']), rows)
  } finally {
    await client.end()
    await replica.stop()
    line.close()
    await primary.stop()
  }
}

/** An address of a server that everything reaches this much later, as in another data center. */
async function slowLine(url: string, delayMs: number): Promise<{ url: string; close(): void }> {
  const { hostname, port } = new URL(url)
  const server = net.createServer((near) => {
    const far = net.connect(Number(port), hostname)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.setNoDelay(true)
      from.on('data', (chunk) => void setTimeout(() => to.write(chunk), delayMs))
      from.on('error', () => {})
      from.on('close', () => to.destroy())
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const slow = new URL(url)
  // A server that listens on TCP has a port.
  slow.port = String((server.address() as AddressInfo).port)
  return { url: slow.href, close: () => void server.close() }
}

/** Gives each writer as many users as it has calls in progress, so that only channels are shared. */
async function fill(client: pg.Client, writers: number): Promise<void> {
  await client.query('TRUNCATE users, tokens, channels, ledger, logs, reservations')
  await client.query(
    `INSERT INTO users (id, username, password, role, status, quota, aff_code)
      SELECT id, 'u' || id, '', 1, 1, ${PLENTY_OF_QUOTA}, 'a' || id FROM generate_series(1, $1) id`,
    [writers * CALLS_AT_ONCE],
  )
  await client.query(
    `INSERT INTO tokens (id, user_id, key, status, unlimited_quota, expired_time)
      SELECT id, id, 'k' || id, 1, true, -1 FROM generate_series(1, $1) id`,
    [writers * CALLS_AT_ONCE],
  )
  await client.query(
    `INSERT INTO channels (id, type, key, status, used_quota)
      SELECT id, 1, '', 1, 0 FROM generate_series(1, $1) id`,
    [writers],
  )
}

async function settledPerSecond(
  url: string,
  { writers, isShared, seconds }: { writers: number; isShared: boolean; seconds: number },
): Promise<number> {
  const stopper = new AbortController()
  let settled = 0
  const ledgers = Array.from({ length: writers }, (_, index) => {
    const pool = promptPoolOf(url, { work: `writer ${index}`, timeoutMs: TIMEOUT_MS })
    return { index, pool, ledger: new GroupCommit(createPostgresBatch(pool)) }
  })
  const calls = ledgers.flatMap(({ index, ledger }) =>
    Array.from({ length: CALLS_AT_ONCE }, async (_, call) => {
      const id = index * CALLS_AT_ONCE + call + 1
      for (let count = 0; !stopper.signal.aborted; count += 1) {
        const requestId = `${id}-${count}`
        const nowSeconds = Math.floor(Date.now() / 1000)
        const about = { requestId, userId: id, tokenId: id, nowSeconds }
        await ledger.submit({ kind: 'reserve', ...about, amount: 100, node: String(index) })
        const channelId = isShared ? 1 : index + 1
        await ledger.submit({ kind: 'settle', settlement: { ...about, ...CALL, channelId } })
        settled += 1
      }
    }),
  )
  const fromMs = performance.now()
  await sleep(seconds * 1000)
  const rate = settled / ((performance.now() - fromMs) / 1000)
  stopper.abort()
  await Promise.all(calls)
  for (const { pool } of ledgers) await pool.end()
  return rate
}

const CALL = {
  cost: 18,
  promptTokens: 11,
  completionTokens: 7,
  username: 'user',
  tokenName: 'token',
  modelName: 'gpt-4o-mini',
  detail: '{}',
  content: '',
  elapsedMs: 1,
  isStream: false,
  systemPromptReset: false,
  keepLog: true,
}

function describe(rows: Row[], delayMs: string): string {
  const columns = ['writers', 'a channel each, calls/s', 'one channel, calls/s', 'share']
  const figure = (rates: number[]) => Math.round(median(rates)).toLocaleString('en')
  return [
    '# One channel, several writers',
    '',
    `Commits wait for a synchronous replica ${delayMs} ms away. Medians of the rounds.`,
    '',
    markdownTable({
      columns,
      rows: rows.map(({ writers, apart, together }) => [
        String(writers),
        figure(apart),
        figure(together),
        `${Math.round((median(together) / median(apart)) * 100)} %`,
      ]),
    }),
  ].join('\n')
}
