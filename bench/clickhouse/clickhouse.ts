/**
 * The store of `LOG_DSN`: the tests that need ClickHouse's engine, then how fast rows are moved
 * from the main database, and how long lists, sums and searches take, in ClickHouse and in
 * PostgreSQL.
 */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import pino from 'pino'
import { LogType } from '../../src/contract/log.ts'
import { systemClock } from '../../src/server/clock.ts'
import { openDatabase } from '../../src/server/commands/open-database.ts'
import { parseConfig } from '../../src/server/config.ts'
import type { LogFilterValues } from '../../src/server/log/log-store.ts'
import { startLogOutbox } from '../../src/server/log/outbox/outbox.ts'
import type { LogStorage } from '../../src/server/log/storage/log-storage.ts'
import { openLogStorage } from '../../src/server/log/storage/open-log-storage.ts'
import { startPostgresCluster } from '../../tools/postgres-cluster.ts'
import { fillSqlite, LOG_NAMES } from '../logs/log-rows.ts'
import { describeMachine, machineClock, markdownTable, median, publish } from '../report.ts'
import { createClickhouseDatabase, startClickhouse } from './engine.ts'

const ROUNDS = 7
const DAY = 86_400
const DAYS = 180
const VITEST = path.resolve('node_modules/vitest/vitest.mjs')
const CONFIG = path.join(import.meta.dirname, 'vitest.config.ts')

const everything: LogFilterValues = {
  type: LogType.all,
  token_name: '',
  model_name: '',
  start_timestamp: 0,
  end_timestamp: 0,
  request_id: '',
}

export async function main(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      rows: { type: 'string', default: '1000000' },
      only: { type: 'string', default: 'tests,figures' },
      stores: { type: 'string', default: 'clickhouse,postgres' },
    },
  })
  const parts = values.only.split(',')
  if (parts.includes('tests')) {
    const run = [VITEST, 'run', '--config', CONFIG]
    const { status } = spawnSync(process.execPath, run, { stdio: 'inherit' })
    if (status !== 0) process.exitCode = 1
  }
  if (parts.includes('figures')) await figures(values.stores.split(','), Number(values.rows))
}

async function figures(stores: string[], rows: number): Promise<void> {
  const loadBefore = os.loadavg()[0] ?? 0
  const clock = machineClock()
  const measured: { store: string; figures: [string, number][] }[] = []
  for (const store of stores) measured.push({ store, figures: await measure(store, rows) })
  const machine = describeMachine(clock, loadBefore)
  const names = measured[0]?.figures.map(([name]) => name) ?? []
  const table = markdownTable({
    columns: ['', ...stores],
    rows: names.map((name, index) => [
      name,
      ...measured.map(({ figures: own }) => {
        const value = own[index]?.[1] ?? 0
        return name.endsWith('/s') ? Math.round(value).toLocaleString('en') : value.toFixed(1)
      }),
    ]),
  })
  const head = `The log store with ${rows.toLocaleString('en')} rows; times in ms, median of ${ROUNDS}. ${machine}`
  publish('clickhouse', `${head}\n\n${table}`, { machine, rows, measured })
}

interface OpenStore {
  dsn: string
  stop(): Promise<void>
}

async function openStore(store: string): Promise<OpenStore> {
  if (store === 'postgres') {
    const cluster = await startPostgresCluster({ isDurable: true, settings: {} })
    return { dsn: cluster.url, stop: () => cluster.stop() }
  }
  const engine = await startClickhouse()
  return { dsn: await createClickhouseDatabase(engine.url, 'log'), stop: () => engine.stop() }
}

async function measure(store: string, rows: number): Promise<[string, number][]> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'gatehouse-log-store-'))
  const file = path.join(folder, 'gatehouse.db')
  const nowSeconds = Math.floor(Date.now() / 1000)
  await (await openDatabase({ engine: 'sqlite', path: file })).close()
  await fillSqlite(file, { rows, days: DAYS, nowSeconds })
  const opened = await openStore(store)
  const database = await openDatabase({ engine: 'sqlite', path: file })
  const { remote } = openLogStorage({ LOG_DSN: opened.dsn }, { database, clock: systemClock })
  if (remote === null) throw new Error('there is no store')
  try {
    const outbox = await startLogOutbox(
      {
        config: parseConfig({}).config,
        database,
        clock: systemClock,
        trace: pino({ level: 'warn' }),
        node: 'bench',
      },
      remote,
    )
    const beganMs = performance.now()
    await outbox.look()
    const seconds = (performance.now() - beganMs) / 1000
    const left = await outbox.waiting()
    if (left.logs > 0) throw new Error(`${left.logs} rows were not moved`)
    const insertsPerSecond = await insertRate(remote, nowSeconds)
    await outbox.stop()
    const figuresOfStore: [string, number][] = [
      ['rows moved from the main database, rows/s', rows / seconds],
      ['inserts of 1000 rows alone, rows/s', insertsPerSecond],
    ]
    for (const [name, ask] of questions(remote, nowSeconds)) {
      const times: number[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        const askedMs = performance.now()
        await ask()
        times.push(performance.now() - askedMs)
      }
      figuresOfStore.push([name, median(times)])
      process.stdout.write(`${store}: ${name}: ${median(times).toFixed(1)} ms\n`)
    }
    return figuresOfStore
  } finally {
    await remote.close()
    await database.close()
    await opened.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Rows per second of repeated batches, which leave no new rows behind. */
async function insertRate(
  remote: NonNullable<ReturnType<typeof openLogStorage>['remote']>,
  nowSeconds: number,
): Promise<number> {
  const rows = (await remote.newest(everything, 1000)).map((row, index) => ({
    ...row,
    id: 1e9 + index,
    created_at: nowSeconds - 5 * DAY,
  }))
  const batches = 50
  const beganMs = performance.now()
  for (let batch = 0; batch < batches; batch += 1) {
    const at = batch * rows.length
    await remote.insertLogs(rows.map((row) => ({ ...row, id: row.id + at })))
  }
  return (batches * rows.length * 1000) / (performance.now() - beganMs)
}

function questions(
  logs: LogStorage,
  nowSeconds: number,
): [name: string, ask: () => Promise<unknown>][] {
  const page =
    (over: Partial<LogFilterValues>, skip = 0) =>
    () =>
      logs.page({ ...everything, ...over }, { after: null, skip })
  const { commonModel, rareModel, heavyUser, lightUser, commonToken, channel, unknown } = LOG_NAMES
  const month = { start_timestamp: nowSeconds - 60 * DAY, end_timestamp: nowSeconds - 30 * DAY }
  const hour = {
    start_timestamp: nowSeconds - 40 * DAY,
    end_timestamp: nowSeconds - 40 * DAY + 1800,
  }
  const sum = (over: Partial<LogFilterValues>) => () => logs.sums({ ...everything, ...over })
  return [
    ['first page', page({})],
    ['page 10,000', page({}, 100_000)],
    ['a common model', page({ model_name: commonModel })],
    ['a rare model', page({ model_name: rareModel })],
    ['a user with many calls', page({ username: heavyUser })],
    ['a user with few', page({ username: lightUser })],
    ['a common token', page({ token_name: commonToken })],
    ['a channel and a rare model', page({ channel, model_name: rareModel })],
    ['an unknown user', page({ username: unknown })],
    ['an unknown request', page({ request_id: unknown })],
    ['a row by its id', () => logs.find(123_456, null)],
    ['content that nothing begins with', () => logs.beginningWith(unknown, 10)],
    ['sum of half an hour', sum(hour)],
    ['sum of a month, row by row', sum(month)],
    ['sum of a user and a channel, row by row', sum({ username: heavyUser, channel })],
    [
      '200 rows of an export',
      () => logs.exportRows({ filter: everything, after: null, countMax: 200 }),
    ],
  ]
}
