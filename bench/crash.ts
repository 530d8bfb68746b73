/**
 * Crash under load: the server is killed with SIGKILL during calls of several users, restarted, and
 * its books are compared with what the clients received.
 *
 * Invariants after every round: a call whose last byte a client has read is billed exactly once,
 * with the right figures; no call is billed twice; no more calls are billed than were made; and
 * `gatehouse reconcile` finds no difference.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startFakeUpstream } from '../tools/fake-upstream/fake-upstream.ts'
import { startFastUpstream } from '../tools/fake-upstream/fast-upstream.ts'
import {
  createGatehouse,
  ROOT_PASSWORD,
  type BilledCall,
  type DatabaseKind,
  type GatehouseServer,
} from './gatehouse-server.ts'
import { createChannel, createToken, giveQuota, signIn } from './management-client.ts'
import { connect, requestBytes, type RawConnection, type RawResponse } from './raw-http.ts'
import { markdownTable, publish } from './report.ts'
import type { ServerProcess } from './server-process.ts'

export type CrashReport = {
  database: DatabaseKind
  rounds: number
  /** Calls whose response a client received completely. */
  complete: number
  completeStreams: number
  /** Calls that a kill interrupted, and how many of them had been billed. */
  interrupted: number
  interruptedBilled: number
  /** Violations; empty if the books are right. */
  problems: string[]
}

const QUICK_MODEL = 'gpt-4o-mini'
const PACED_MODEL = 'gpt-4o'
const CONNECTIONS_PER_TOKEN = 4
const PLENTY_OF_QUOTA = 1_000_000_000
const KILL_AFTER_MIN_MS = 200
const KILL_AFTER_MAX_MS = 2000
const FIRST_ANSWER_MS = 60_000
const FIRST_ANSWER_POLL_MS = 5
const PROMPT_TOKENS = 11
const COMPLETION_TOKENS = 7
const PROBLEMS_SHOWN = 20

export async function main(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '100' },
      database: { type: 'string', default: 'sqlite,postgres' },
    },
  })
  const reports: CrashReport[] = []
  for (const database of values.database.split(',')) {
    if (database !== 'sqlite' && database !== 'postgres') throw new Error(`unknown ${database}`)
    const rounds = Number(values.rounds)
    reports.push(await crashRounds({ rounds, database, onRound: (line) => console.log(line) }))
  }
  publish('crash', describe(reports), reports)
  if (reports.some(({ problems }) => problems.length > 0)) process.exitCode = 1
}

/** Kills and restarts a server repeatedly; about two seconds per round. */
export async function crashRounds(options: {
  rounds: number
  database: DatabaseKind
  /** Maximum time that a server runs under load, in milliseconds. */
  killAfterMaxMs?: number
  /** Called with the result of every round. */
  onRound?: (line: string) => void
}): Promise<CrashReport> {
  const {
    rounds,
    database,
    killAfterMaxMs = KILL_AFTER_MAX_MS,
    onRound = () => undefined,
  } = options
  const quick = await startFastUpstream()
  const paced = await startFakeUpstream()
  const gatehouse = await createGatehouse({ database })
  const report: CrashReport = {
    database,
    rounds: 0,
    complete: 0,
    completeStreams: 0,
    interrupted: 0,
    interruptedBilled: 0,
    problems: [],
  }
  let server = await gatehouse.start()
  try {
    const keys = await prepare(gatehouse, { quick: quick.url, paced: `${paced.url}/~slow-chunk-5` })
    let lastLogId = 0
    while (report.rounds < rounds && report.problems.length === 0) {
      const round = await loadAndKill(gatehouse, server, { keys, killAfterMaxMs })
      server = await gatehouse.start()
      const billed = await gatehouse.billedCalls(lastLogId)
      lastLogId = billed.at(-1)?.id ?? lastLogId
      report.problems.push(...(await problemsOf(gatehouse, round, billed)))
      count(report, round, billed)
      onRound(`${database} round ${report.rounds}: ${round.complete.size} complete`)
    }
    await server.stop()
    const twice = repeated(await gatehouse.billedCalls())
    if (twice.length > 0) report.problems.push(`billed twice: ${twice.join(', ')}`)
  } finally {
    await server.stop('SIGKILL')
    await gatehouse.remove()
    await quick.close()
    await paced.close()
  }
  return report
}

/**
 * Creates three users with two tokens each: one limited, one unlimited. Returns the tokens' keys.
 */
export async function prepare(
  { url }: GatehouseServer,
  upstreams: { quick: string; paced: string },
): Promise<string[]> {
  const root = await signIn({ url, username: 'root', password: ROOT_PASSWORD })
  await createChannel(root, { name: 'quick', base_url: upstreams.quick, models: QUICK_MODEL })
  await createChannel(root, { name: 'paced', base_url: upstreams.paced, models: PACED_MODEL })
  const keys: string[] = []
  for (const username of ['root', 'ada', 'ben']) {
    const password = username === 'root' ? ROOT_PASSWORD : 'password1'
    if (username !== 'root') {
      const user = { username, display_name: username, password }
      await root.call('POST', '/api/user/', user)
    }
    await giveQuota(root, username, PLENTY_OF_QUOTA)
    const session = username === 'root' ? root : await signIn({ url, username, password })
    const limit = { remain_quota: PLENTY_OF_QUOTA, unlimited_quota: false }
    keys.push(await createToken(session, { name: 'limited', ...limit }))
    const none = { remain_quota: 0, unlimited_quota: true }
    keys.push(await createToken(session, { name: 'unlimited', ...none }))
  }
  return keys
}

export type Round = {
  /** Request ids of the calls whose last byte was read, and whether they were streams. */
  complete: Map<string, boolean>
  /** Calls in progress when the server was killed. */
  interrupted: number
  unexpected: string[]
}

async function loadAndKill(
  { url }: GatehouseServer,
  server: ServerProcess,
  { keys, killAfterMaxMs }: { keys: string[]; killAfterMaxMs: number },
): Promise<Round> {
  const round: Round = { complete: new Map(), interrupted: 0, unexpected: [] }
  const target = new URL(url)
  let isDying = false
  let open = 0
  const connections: RawConnection[] = []
  const allClosed = new Promise<void>((resolve) => {
    const closed = () => {
      open -= 1
      round.interrupted += 1
      if (!isDying) round.unexpected.push('the server closed a connection while it lived')
      if (open === 0) resolve()
    }
    const keyOfConnection = keys.flatMap((key) => repeat(key, CONNECTIONS_PER_TOKEN))
    for (const [index, key] of keyOfConnection.entries()) {
      const requests = requestsOf(target, key)
      let sent = index
      const next = () => requests[sent++ % requests.length] ?? Buffer.alloc(0)
      const connection = connect(target, {
        onResponse: (response) => {
          note(round, response)
          connection.send(next())
        },
        onClose: closed,
      })
      open += 1
      connections.push(connection)
      connection.send(next())
    }
  })
  // Measured from the first response: a server that is still starting has nothing to lose.
  const isAnswering = await firstAnswer(round)
  if (!isAnswering) round.unexpected.push(`no answer within ${FIRST_ANSWER_MS / 1000} s`)
  await sleep(randomInt(KILL_AFTER_MIN_MS, killAfterMaxMs))
  isDying = true
  await server.stop('SIGKILL')
  await allClosed
  for (const connection of connections) connection.close()
  return round
}

async function firstAnswer(round: Round): Promise<boolean> {
  const giveUpAtMs = performance.now() + FIRST_ANSWER_MS
  while (round.complete.size === 0 && performance.now() < giveUpAtMs)
    await sleep(FIRST_ANSWER_POLL_MS)
  return round.complete.size > 0
}

/** The requests of each connection in turn: plain, streamed in one write, streamed over time. */
export function requestsOf(target: URL, key: string): Buffer[] {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const messages = [{ role: 'user', content: 'What is the answer?' }]
  const bodies = [
    { model: QUICK_MODEL, messages },
    { model: QUICK_MODEL, messages, stream: true },
    { model: PACED_MODEL, messages, stream: true },
    { model: QUICK_MODEL, messages, max_tokens: 50 },
  ]
  const path = '/v1/chat/completions'
  return bodies.map((body) => requestBytes(target, { path, headers, body: JSON.stringify(body) }))
}

export function note(round: Round, { status, head, body }: RawResponse) {
  const id = /\r\nx-oneapi-request-id: *(\S+)/i.exec(head)?.[1]
  const isStream = /\r\ncontent-type: *text\/event-stream/i.test(head)
  const isWhole = body.includes(isStream ? 'data: [DONE]' : '"total_tokens":18')
  if (status !== 200 || id === undefined || !isWhole) {
    round.unexpected.push(`${head}\n\n${body.toString().slice(0, 300)}`)
  } else if (round.complete.has(id)) round.unexpected.push(`request id ${id} was given twice`)
  else round.complete.set(id, isStream)
}

export async function problemsOf(
  gatehouse: GatehouseServer,
  round: Round,
  billed: BilledCall[],
): Promise<string[]> {
  const problems = round.unexpected.slice(0, PROBLEMS_SHOWN)
  const byId = new Map(billed.map((call) => [call.requestId, call]))
  for (const id of round.complete.keys()) {
    const call = byId.get(id)
    if (!call) problems.push(`${id} was complete and is not billed`)
    else if (call.promptTokens !== PROMPT_TOKENS || call.completionTokens !== COMPLETION_TOKENS) {
      problems.push(`${id} is billed ${call.promptTokens} + ${call.completionTokens} tokens`)
    } else if (call.quota <= 0) problems.push(`${id} is billed nothing`)
  }
  const unseen = billed.length - round.complete.size
  if (unseen > round.interrupted) {
    problems.push(
      `${unseen} calls billed that nobody saw; only ${round.interrupted} were under way`,
    )
  }
  const twice = repeated(billed)
  if (twice.length > 0) problems.push(`billed twice: ${twice.join(', ')}`)
  const { exitCode, output } = await gatehouse.reconcile()
  if (exitCode !== 0) problems.push(`reconcile ended with ${exitCode}: ${output.slice(-1000)}`)
  return problems.slice(0, PROBLEMS_SHOWN)
}

export function repeated(billed: BilledCall[]): string[] {
  const byId = Map.groupBy(billed, ({ requestId }) => requestId)
  return [...byId].flatMap(([id, calls]) => (calls.length > 1 ? [id] : []))
}

function count(report: CrashReport, round: Round, billed: BilledCall[]) {
  report.rounds += 1
  report.complete += round.complete.size
  report.completeStreams += [...round.complete.values()].filter(Boolean).length
  report.interrupted += round.interrupted
  report.interruptedBilled += Math.max(0, billed.length - round.complete.size)
}

function repeat<T>(value: T, times: number): T[] {
  return Array.from({ length: times }, () => value)
}

function describe(reports: CrashReport[]): string {
  const columns = [
    'database',
    'rounds',
    'complete',
    'of them streams',
    'interrupted',
    'billed of these',
  ]
  const rows = reports.map((report) => [
    report.database,
    String(report.rounds),
    String(report.complete),
    String(report.completeStreams),
    String(report.interrupted),
    String(report.interruptedBilled),
  ])
  const problems = reports.flatMap((report) => report.problems.map((text) => `- ${text}`))
  return [
    '# Killed under load',
    '',
    'Every complete call must be billed exactly once, and the books must agree after every kill.',
    '',
    markdownTable({ columns, rows }),
    '',
    ...(problems.length > 0 ? ['Problems:', ...problems] : ['No problem was found.']),
  ].join('\n')
}
