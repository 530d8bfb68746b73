/**
 * The log with millions of rows: duration of pages, statistics, filters and the dashboard,
 * requested over HTTP like a console does, while calls are relayed and logged.
 */
import { existsSync } from 'node:fs'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import os, { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../src/server/commands/open-database.ts'
import { startPostgresCluster } from '../../tools/postgres-cluster.ts'
import { createClickhouseDatabase, startClickhouse } from '../clickhouse/engine.ts'
import { createGatehouse, ROOT_PASSWORD } from '../gatehouse-server.ts'
import { fillPostgres, fillSqlite, LOG_NAMES, moveToClickhouse } from './log-rows.ts'
import { signIn, type Session } from '../management-client.ts'
import { describeMachine, machineClock, markdownTable, median, publish } from '../report.ts'
import { relayedCalls, type RelayedCalls } from './relayed-calls.ts'

const ROUNDS = 5
const DAY = 86_400
const DAYS = 180
const CONNECTIONS = 8
const PART_SECONDS = 4

type Question = { kind: string; name: string; path: string; limitMs: number }
type Answer = Question & { firstMs: number; medianMs: number; worstMs: number }

export async function main(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      rows: { type: 'string', default: '1000000' },
      database: { type: 'string', default: 'sqlite' },
      file: { type: 'string' },
      calls: { type: 'string', default: '1000' },
    },
  })
  const loadBefore = os.loadavg()[0] ?? 0
  const clock = machineClock()
  const nowSeconds = Math.floor(Date.now() / 1000)
  const filled = await filledDatabase(values.database, {
    rows: Number(values.rows),
    file: values.file,
    nowSeconds,
  })
  const gatehouse = await createGatehouse({ database: 'sqlite', env: filled.env })
  const server = await gatehouse.start()
  try {
    const root = await signIn({ url: gatehouse.url, username: 'root', password: ROOT_PASSWORD })
    const perSecond = Number(values.calls)
    const calls = perSecond > 0 ? await relayedCalls(gatehouse.url, root) : null
    const load = calls === null ? null : keepCalling(calls, perSecond)
    const answers: Answer[] = []
    for (const question of questions(nowSeconds)) {
      const answer = await ask(root, question)
      answers.push(answer)
      process.stdout.write(`${question.kind}, ${question.name}: ${answer.medianMs.toFixed(1)} ms\n`)
    }
    const called = (await load?.end()) ?? 'no calls meanwhile'
    await calls?.stop()
    const machine = describeMachine(clock, loadBefore)
    const rows = Number(values.rows)
    const table = describe(answers, { machine, rows, called })
    publish(`logs-${values.database}`, table, { machine, called, answers })
  } finally {
    await server.stop()
    await gatehouse.remove()
    await filled.remove()
  }
}

/** Makes calls until stopped; stopping returns their number. */
function keepCalling(calls: RelayedCalls, perSecondMax: number) {
  const perSecond: number[] = []
  let failed = 0
  const end = new AbortController()
  const run = async () => {
    while (!end.signal.aborted) {
      const part = await calls.run({
        connections: CONNECTIONS,
        seconds: PART_SECONDS,
        perSecondMax,
      })
      perSecond.push(part.perSecond)
      failed += part.failed
    }
  }
  const running = run()
  return {
    end: async (): Promise<string> => {
      end.abort()
      await running
      return `${Math.round(median(perSecond))} calls/s relayed meanwhile, ${failed} failed`
    },
  }
}

type Wanted = { rows: number; file: string | undefined; nowSeconds: number }

async function filledDatabase(kind: string, { rows, file, nowSeconds }: Wanted) {
  const filling = { rows, days: DAYS, nowSeconds }
  if (kind === 'postgres') {
    const cluster = await startPostgresCluster({ isDurable: false, settings: {} })
    const database = await openDatabase({ engine: 'postgres', url: cluster.url })
    await database.close()
    await fillPostgres(cluster.url, filling)
    return { env: { SQL_DSN: cluster.url }, remove: () => cluster.stop() }
  }
  const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-logs-'))
  const target = file ?? path.join(folder, 'gatehouse.db')
  if (!existsSync(target)) {
    const database = await openDatabase({ engine: 'sqlite', path: target })
    await database.close()
    await fillSqlite(target, filling)
  }
  const remove = () => rm(folder, { recursive: true, force: true })
  if (kind !== 'clickhouse') return { env: { SQLITE_PATH: target }, remove }
  const withoutLogs = path.join(folder, 'main.db')
  await copyFile(target, withoutLogs)
  const engine = await startClickhouse()
  const dsn = await createClickhouseDatabase(engine.url, 'log')
  await moveToClickhouse(withoutLogs, dsn)
  return {
    env: { SQLITE_PATH: withoutLogs, LOG_DSN: dsn },
    remove: () => engine.stop().then(remove),
  }
}

function questions(nowSeconds: number): Question[] {
  const since = (days: number) => `start_timestamp=${nowSeconds - days * DAY}`
  // The console's default range: from the first row to an hour from now.
  const opened = `end_timestamp=${nowSeconds + 3600}`
  const dashboard = `start_timestamp=${nowSeconds - 30 * DAY}&end_timestamp=${nowSeconds}`
  const { commonModel, rareModel, heavyUser, lightUser } = LOG_NAMES
  const { commonToken, rareToken, channel, unknown } = LOG_NAMES
  const filters: [string, string][] = [
    ['a common model', `model_name=${commonModel}`],
    ['a rare model', `model_name=${rareModel}`],
    ['a channel', `channel=${channel}`],
    ['a channel and a rare model', `channel=${channel}&model_name=${rareModel}`],
    ['a user with many calls', `username=${heavyUser}`],
    ['a user with few', `username=${lightUser}`],
    ['that user and a rare model', `username=${lightUser}&model_name=${rareModel}`],
    ['a token everybody has', `token_name=${encodeURIComponent(commonToken)}`],
    ['a token one has', `token_name=${rareToken}`],
    ['an unknown user', `username=${unknown}`],
    ['an unknown token', `token_name=${unknown}`],
    ['an unknown model', `model_name=${unknown}`],
    ['an unknown request', `request_id=${unknown}`],
    ['channel tests', 'type=5'],
    ['top-ups of one user', `type=1&username=${heavyUser}`],
    [
      'a user, 30 days half a year ago',
      `username=${heavyUser}&end_timestamp=${nowSeconds - 150 * DAY}`,
    ],
  ]
  const question =
    (kind: string, limitMs: number) =>
    ([name, path_]: [string, string]): Question => ({
      kind,
      name,
      path: path_,
      limitMs,
    })
  return [
    ...(
      [
        ['first', `/api/log/?p=0&${opened}`],
        ['second', `/api/log/?p=1&${opened}`],
        ['page 1,000', `/api/log/?p=1000&${opened}`],
        ['page 100,000', `/api/log/?p=100000&${opened}`],
        ['own, first', `/api/log/self?p=0&${opened}`],
      ] satisfies [string, string][]
    ).map(question('page', 20)),
    ...filters.map(([name, filter]) =>
      question('filter', 150)([name, `/api/log/?p=0&${opened}&${filter}`]),
    ),
    ...(
      [
        ['everything', ''],
        ['30 days', since(30)],
        ['30 days that begin within an hour', `start_timestamp=${nowSeconds - 30 * DAY - 1777}`],
        ...filters.filter(([name]) => !/request|tests|top-ups/.test(name)),
      ] satisfies [string, string][]
    ).map(([name, filter]) =>
      question('statistic', 50)([name, `/api/log/stat?${opened}&${filter}`]),
    ),
    question('statistic', 50)(['own, everything', `/api/log/self/stat?${opened}`]),
    ...['model', 'channel', 'user', 'token'].map((by) =>
      question('dashboard', 150)([`30 days by ${by}`, `/api/dashboard?${dashboard}&by=${by}`]),
    ),
    question('dashboard', 150)(['week, own', '/api/user/dashboard']),
    // Scans row by row, for two seconds at most.
    question('search', 2500)(['a content without a match', `/api/log/search?keyword=${unknown}`]),
  ]
}

/** Measures the first request with a cold cache, and the median of the others. */
async function ask(session: Session, question: Question): Promise<Answer> {
  const times: number[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    const began = performance.now()
    await session.call('GET', question.path)
    times.push(performance.now() - began)
  }
  const [firstMs = 0, ...others] = times
  return { ...question, firstMs, medianMs: median(others), worstMs: Math.max(...others) }
}

function describe(
  answers: Answer[],
  { machine, rows, called }: { machine: string; rows: number; called: string },
): string {
  const columns = ['', '', 'limit ms', 'median ms', 'worst ms', 'first ms', '']
  const table = answers.map(({ kind, name, limitMs, medianMs, worstMs, firstMs }) => [
    kind,
    name,
    String(limitMs),
    medianMs.toFixed(1),
    worstMs.toFixed(1),
    firstMs.toFixed(1),
    medianMs > limitMs ? 'too slow' : '',
  ])
  return [
    `# The log over ${rows.toLocaleString('en')} rows`,
    '',
    `${machine}; ${called}. Over HTTP, median of ${ROUNDS}; "first" is with whatever the caches held.`,
    '',
    markdownTable({ columns, rows: table }),
  ].join('\n')
}
