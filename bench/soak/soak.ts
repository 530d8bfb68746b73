/**
 * npm run bench -- soak [--minutes 60] [--database sqlite,postgres]
 *
 * A long run at half of the peak: plain calls, streams, aborted streams; meanwhile channels are
 * edited, added and deleted, logs are read, exported and deleted. Memory must stay the same, no
 * file descriptor may leak, and the books must be right. Several databases run at the same time,
 * and each one's peak is measured while the others run at theirs.
 */
import { readdirSync } from 'node:fs'
import os from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startFakeUpstream } from '../../tools/fake-upstream/fake-upstream.ts'
import { LOAD_CORE, MODEL, SERVER_CORE, startUpstream } from '../contenders.ts'
import { prepare } from '../crash.ts'
import { createGatehouse, ROOT_PASSWORD, type DatabaseKind } from '../gatehouse-server.ts'
import { runLoad } from '../load.ts'
import { createChannel, signIn } from '../management-client.ts'
import { describeMachine, machineClock, markdownTable, median, publish } from '../report.ts'
import type { ServerProcess } from '../server-process.ts'
import { runSoakLoad, type SoakLoad } from './soak-load.ts'

const LOAD_SHARE = 0.5
const PEAK_CONNECTIONS = 32
const PEAK_SECONDS = 20
const SLOW_CHUNK_MS = 40
const SAMPLE_MS = 10_000
const WORK_MS = 10_000
/** Logs older than this are deleted during the run. */
const LOGS_KEPT_SECONDS = 300
/** Share of the run that is warm-up, and share whose medians are compared: the first and last. */
const WARM_UP_SHARE = 1 / 6
const COMPARED_SHARE = 1 / 6
const TOLERANCE = 0.05

type Sample = { minute: number; mebibytes: number; files: number }

type SoakReport = {
  database: DatabaseKind
  peak: number
  load: SoakLoad
  /** Completed and failed runs of the administrator's work, by name. */
  work: Record<string, { done: number; failed: string[] }>
  /** Calls of all users, as the server counts them. */
  counted: number
  samples: Sample[]
  problems: string[]
}

export async function main(args: string[]): Promise<void> {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '60' },
      database: { type: 'string', default: 'sqlite,postgres' },
    },
  })
  const loadBefore = os.loadavg()[0] ?? 0
  const clock = machineClock()
  const minutes = Number(values.minutes)
  const databases = values.database.split(',').map((name): DatabaseKind => {
    if (name !== 'sqlite' && name !== 'postgres') throw new Error(`unknown ${name}`)
    return name
  })
  const reports = await Promise.all(databases.map((database) => soak(database, minutes)))
  publish(
    'soak',
    describe(reports, { minutes, machine: describeMachine(clock, loadBefore) }),
    reports,
  )
  if (reports.some(({ problems }) => problems.length > 0)) process.exitCode = 1
}

async function soak(database: DatabaseKind, minutes: number): Promise<SoakReport> {
  const upstream = await startUpstream()
  const paced = await startFakeUpstream()
  const gatehouse = await createGatehouse({ database, core: SERVER_CORE })
  const server = await gatehouse.start()
  try {
    const slowUrl = `${paced.url}/~slow-chunk-${SLOW_CHUNK_MS}`
    const keys = await prepare(gatehouse, { quick: upstream.url, paced: slowUrl })
    const first = await runLoad(peakLoad(gatehouse.url, keys[0] ?? ''), LOAD_CORE)
    const peak = first.perSecond
    process.stdout.write(`${database}: peak ${Math.round(peak)} calls/s\n`)
    const stopper = new AbortController()
    const samples: Sample[] = []
    const sampling = sample(server, samples, stopper.signal)
    const working = administer(gatehouse.url, upstream.url, stopper.signal)
    const options = { url: gatehouse.url, keys, perSecond: peak * LOAD_SHARE, minutes }
    const load = await runSoakLoad(options, LOAD_CORE)
    stopper.abort()
    await sampling
    const work = await working
    const counted = (await countedCalls(gatehouse.url)) - first.answered
    await server.stop()
    const { exitCode, output } = await gatehouse.reconcile()
    const problems = [...load.unexpected]
    for (const [name, { failed }] of Object.entries(work)) {
      problems.push(...failed.slice(0, 3).map((what) => `${name}: ${what}`))
    }
    if (counted < load.complete || counted > load.complete + load.aborted) {
      problems.push(`${load.complete} calls complete, ${load.aborted} aborted, ${counted} counted`)
    }
    if (exitCode !== 0) problems.push(`reconcile ended with ${exitCode}: ${output.slice(-1000)}`)
    problems.push(...leaks(samples, minutes))
    return { database, peak, load, work, counted, samples, problems }
  } finally {
    await server.stop('SIGKILL')
    await gatehouse.remove()
    await upstream.process.stop()
    await paced.close()
  }
}

const peakLoad = (url: string, key: string) => ({
  url: `${url}/v1/chat/completions`,
  headers: { authorization: `Bearer ${key}` },
  body: JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hello' }] }),
  connections: PEAK_CONNECTIONS,
  warmupSeconds: PEAK_SECONDS / 2,
  seconds: PEAK_SECONDS,
  expect: 'choices',
})

async function sample(
  { pid, rssMebibytes }: ServerProcess,
  samples: Sample[],
  signal: AbortSignal,
): Promise<void> {
  const beganMs = performance.now()
  while (!signal.aborted) {
    samples.push({
      minute: (performance.now() - beganMs) / 60_000,
      mebibytes: rssMebibytes(),
      files: readdirSync(`/proc/${pid}/fd`).length,
    })
    await sleep(SAMPLE_MS, undefined, { signal }).catch(() => {})
  }
}

/** Does the work of an administrator, one task after the other. */
async function administer(
  url: string,
  upstream: string,
  signal: AbortSignal,
): Promise<SoakReport['work']> {
  const work: SoakReport['work'] = {}
  const now = () => Math.floor(Date.now() / 1000)
  async function run(name: string, once: () => Promise<unknown>): Promise<void> {
    const counts = (work[name] ??= { done: 0, failed: [] })
    try {
      await once()
      counts.done += 1
    } catch (error) {
      counts.failed.push(String(error))
    }
    await sleep(WORK_MS, undefined, { signal }).catch(() => {})
  }
  for (let round = 0; !signal.aborted; round += 1) {
    // Deletions need a password that was given within the last minutes.
    const root = await signIn({ url, username: 'root', password: ROOT_PASSWORD })
    // As the contract describes the list.
    const channels = async () =>
      (await root.call('GET', '/api/channel/?p=0')) as { id: number; name: string }[]
    await run('channel edited', async () => {
      for (const { id } of await channels()) {
        await root.call('PUT', '/api/channel/', { id, weight: round % 7, priority: 0 })
      }
    })
    await run('channel added', () =>
      createChannel(root, { name: `extra-${round}`, base_url: upstream, models: MODEL }),
    )
    await run('logs and dashboard read', async () => {
      const day = `start_timestamp=${now() - 86_400}&end_timestamp=${now()}`
      const lists = ['log/?p=0', 'log/?p=50', 'log/stat', `dashboard?${day}`]
      for (const path of lists) await root.call('GET', `/api/${path}`)
    })
    await run('a minute of logs exported', async () => {
      const { cookie } = root
      const path = `/api/log/export/?format=csv&start_timestamp=${now() - 60}`
      const response = await fetch(url + path, { headers: { cookie } })
      const lines = (await response.text()).split('\n').length
      if (response.status !== 200 || lines < 100)
        throw new Error(`${response.status}, ${lines} lines`)
    })
    await run('channel deleted', async () => {
      for (const { id, name } of await channels()) {
        if (name.startsWith('extra-')) await root.call('DELETE', `/api/channel/${id}`)
      }
    })
    await run('old logs deleted', () =>
      root.call('DELETE', `/api/log/?target_timestamp=${now() - LOGS_KEPT_SECONDS}`),
    )
  }
  return work
}

async function countedCalls(url: string): Promise<number> {
  const root = await signIn({ url, username: 'root', password: ROOT_PASSWORD })
  // As the contract describes the list.
  const users = (await root.call('GET', '/api/user/?p=0')) as { request_count: number }[]
  return users.reduce((sum, user) => sum + user.request_count, 0)
}

/** Medians of a figure at the beginning, after the warm-up, and at the end. */
function compared(samples: Sample[], minutes: number, figure: 'mebibytes' | 'files') {
  const within = (from: number, to: number) =>
    median(samples.filter(({ minute }) => minute >= from && minute < to).map((one) => one[figure]))
  const part = minutes * COMPARED_SHARE
  const warm = minutes * WARM_UP_SHARE
  return { first: within(warm, warm + part), last: within(minutes - part, minutes) }
}

function leaks(samples: Sample[], minutes: number): string[] {
  return (['mebibytes', 'files'] as const).flatMap((figure) => {
    const { first, last } = compared(samples, minutes, figure)
    if (last <= first * (1 + TOLERANCE)) return []
    return [`${figure} grew from ${first.toFixed(0)} to ${last.toFixed(0)}`]
  })
}

function describe(
  reports: SoakReport[],
  { minutes, machine }: { minutes: number; machine: string },
): string {
  const columns = [
    'database',
    'peak, calls/s',
    'complete',
    'of them streams',
    'aborted',
    'counted',
    'p50 ms: first, last minute',
    'p99 ms',
    'MiB: after warm-up, at the end',
    'highest',
    'open files',
  ]
  const rows = reports.map(({ database, peak, load, counted, samples }) => {
    const [first, last] = [load.minutes[0], load.minutes.at(-1)]
    const pair = (one = 0, other = 0, digits = 0) =>
      `${one.toFixed(digits)}, ${other.toFixed(digits)}`
    const memory = compared(samples, minutes, 'mebibytes')
    const files = compared(samples, minutes, 'files')
    return [
      database,
      peak.toFixed(0),
      String(load.complete),
      String(load.completeStreams),
      String(load.aborted),
      String(counted),
      pair(first?.p50Ms, last?.p50Ms, 1),
      pair(first?.p99Ms, last?.p99Ms, 1),
      pair(memory.first, memory.last),
      Math.max(...samples.map(({ mebibytes }) => mebibytes)).toFixed(0),
      pair(files.first, files.last),
    ]
  })
  const work = reports.map(({ database, work: done }) => {
    const counts = Object.entries(done).map(([name, one]) => `${name} ${one.done} times`)
    return `${database}: ${counts.join(', ')}.`
  })
  const problems = reports.flatMap(({ database, problems: found }) =>
    found.map((text) => `- ${database}: ${text}`),
  )
  return [
    `# ${minutes} minutes at half of the peak`,
    '',
    machine,
    '',
    markdownTable({ columns, rows }),
    '',
    ...work,
    '',
    ...(problems.length > 0 ? ['Problems:', ...problems] : ['No problem was found.']),
  ].join('\n')
}
