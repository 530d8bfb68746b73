/**
 * Many concurrent event streams with half a chunk per second each: memory of the server, and delay
 * of a chunk compared with the upstream itself.
 */
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { createGatehouse, ROOT_PASSWORD, type DatabaseKind } from './gatehouse-server.ts'
import { createChannel, createToken, giveQuota, signIn } from './management-client.ts'
import { describeMachine, machineClock, markdownTable, publish } from './report.ts'
import { freePort } from '../tools/free-port.ts'
import { startServer, type ServerProcess } from './server-process.ts'
import { runStreams, type StreamResult } from './stream-clients.ts'

const SERVER_CORE = 0
const LOAD_CORE = 1
const MODEL = 'gpt-4o-mini'
const CHUNK_EVERY_MS = 2000
const OPENS_PER_SECOND = 1000
const PLENTY_OF_QUOTA = 1_000_000_000_000
const MEMORY_SAMPLE_MS = 250
/** File descriptors besides the two per stream; the server reserves 256 of them for itself. */
const SPARE_FILES = 300
const BODY = JSON.stringify({
  model: MODEL,
  stream: true,
  messages: [{ role: 'user', content: 'What is the answer?' }],
})

type Run = {
  name: string
  result: StreamResult
  rssIdleMebibytes: number
  rssPeakMebibytes: number
}

export async function main(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      streams: { type: 'string', default: '2000' },
      seconds: { type: 'string', default: '20' },
      database: { type: 'string', default: 'sqlite' },
    },
  })
  const streams = Number(values.streams)
  const database: DatabaseKind = values.database === 'postgres' ? 'postgres' : 'sqlite'
  const loadBefore = os.loadavg()[0] ?? 0
  const clock = machineClock()
  // Adds the time for opening, so that all streams are open together for some seconds.
  const seconds = Number(values.seconds) + streams / OPENS_PER_SECOND
  const upstream = await startUpstream(streams)
  try {
    const words = `~slow-chunk-${CHUNK_EVERY_MS}+stamp+chunks-${Math.ceil((seconds * 1000) / CHUNK_EVERY_MS)}`
    const base = `${upstream.url}/${words}`
    const direct = await runDirect(base, streams)
    const { run, books } = await runGatehouse({ database, base, streams })
    const machine = describeMachine(clock, loadBefore)
    publish('streams', describe([direct, run], { machine, books: books.summary }), {
      machine,
      runs: [direct, run],
    })
    if (run.result.broken > 0 || !books.isRight) process.exitCode = 1
  } finally {
    await upstream.process.stop()
  }
}

async function startUpstream(streams: number) {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const file = path.join(import.meta.dirname, '../tools/fake-upstream/fake-upstream.ts')
  const server = await startServer({
    name: 'upstream',
    args: [file, '--port', String(port)],
    env: {},
    readyUrl: `${url}/__remember?on=0`,
    core: LOAD_CORE,
    openFilesMin: streams + SPARE_FILES,
  })
  return { url, process: server }
}

async function runDirect(base: string, streams: number): Promise<Run> {
  const headers = { authorization: 'Bearer sk-upstream' }
  const url = `${base}/v1/chat/completions`
  const options = { url, headers, body: BODY, streams, opensPerSecond: OPENS_PER_SECOND }
  const result = await runStreams(options, LOAD_CORE)
  return { name: 'upstream itself', result, rssIdleMebibytes: 0, rssPeakMebibytes: 0 }
}

async function runGatehouse({
  database,
  base,
  streams,
}: {
  database: DatabaseKind
  base: string
  streams: number
}) {
  const own = await createGatehouse({
    database,
    core: SERVER_CORE,
    openFilesMin: 2 * streams + SPARE_FILES,
  })
  const server = await own.start()
  try {
    const root = await signIn({ url: own.url, username: 'root', password: ROOT_PASSWORD })
    await giveQuota(root, 'root', PLENTY_OF_QUOTA)
    await createChannel(root, { name: 'upstream', base_url: base, models: MODEL })
    const key = await createToken(root, { name: 'load', remain_quota: 0, unlimited_quota: true })
    const rssIdleMebibytes = server.rssMebibytes()
    const memory = watchMemory(server)
    const result = await runStreams(
      {
        url: `${own.url}/v1/chat/completions`,
        headers: { authorization: `Bearer ${key}` },
        body: BODY,
        streams,
        opensPerSecond: OPENS_PER_SECOND,
      },
      LOAD_CORE,
    )
    const rssPeakMebibytes = memory.stop()
    await server.stop()
    const { exitCode } = await own.reconcile()
    const billed = (await own.billedCalls()).length
    const summary = `${result.complete} streams complete, ${billed} billed, reconcile ended with ${exitCode}`
    const isRight = exitCode === 0 && billed === result.complete + result.broken
    const name = `Gatehouse on ${database}`
    return {
      run: { name, result, rssIdleMebibytes, rssPeakMebibytes },
      books: { summary, isRight },
    }
  } finally {
    await server.stop('SIGKILL')
    await own.remove()
  }
}

function watchMemory(server: ServerProcess) {
  let peak = 0
  const sample = () => (peak = Math.max(peak, server.rssMebibytes()))
  const timer = setInterval(sample, MEMORY_SAMPLE_MS)
  return {
    stop: () => {
      clearInterval(timer)
      return peak
    },
  }
}

function describe(runs: Run[], { machine, books }: { machine: string; books: string }): string {
  const direct = runs[0]?.result
  const columns = [
    'server',
    'streams at once',
    'complete',
    'broken',
    'chunks',
    'chunk age p50 ms',
    'p99 ms',
    'max ms',
    'added p99 ms',
    'RSS MiB idle',
    'peak',
  ]
  const rows = runs.map(({ name, result, rssIdleMebibytes, rssPeakMebibytes }, index) => [
    name,
    String(result.concurrent),
    String(result.complete),
    String(result.broken),
    String(result.chunks),
    result.p50Ms.toFixed(2),
    result.p99Ms.toFixed(2),
    result.maxMs.toFixed(1),
    index === 0 ? '–' : (result.p99Ms - (direct?.p99Ms ?? 0)).toFixed(2),
    index === 0 ? '–' : rssIdleMebibytes.toFixed(0),
    index === 0 ? '–' : rssPeakMebibytes.toFixed(0),
  ])
  const failures = runs.flatMap(({ result }) => result.firstFailure ?? [])
  return [
    '# Concurrent streams, half a chunk a second each',
    '',
    `${machine}.`,
    '',
    markdownTable({ columns, rows }),
    '',
    `The books: ${books}.`,
    ...failures.map((failure) => `\nFirst failure:\n\n${failure}`),
  ].join('\n')
}
