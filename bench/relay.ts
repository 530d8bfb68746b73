/**
 * Relayed calls, compared with other gateways. All servers run at the same time on core 0, with the
 * load and the upstream on core 1, and alternate in several rounds, so that other load on the
 * machine affects all of them. Compare ratios; absolute figures depend on the machine.
 */
import os from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import {
  contenderMakers,
  direct,
  LOAD_CORE,
  MODEL,
  portkey,
  startUpstream,
  USUAL_CONTENDERS,
  type Books,
  type Contender,
} from './contenders.ts'
import { runLoad, type LoadResult } from './load.ts'
import {
  describeMachine,
  machineClock,
  markdownTable,
  median,
  publish,
  withSpread,
} from './report.ts'
import { canPin } from './server-process.ts'

const EXPECTED = 'The answer is forty-two.'
const BODY = JSON.stringify({
  model: MODEL,
  messages: [
    { role: 'system', content: 'You answer briefly.' },
    { role: 'user', content: 'What is the answer?' },
  ],
  temperature: 0.5,
})

const OTHER_STATE = 'the other state'

/**
 * In its first ten seconds Gatehouse spends a tenth of its time compiling; the others warm up as
 * long.
 */
const FIRST_WARMUP_SECONDS = 10

type Round = {
  parallel: LoadResult
  sequential: LoadResult
  /** Processor time of the server per call at 32 connections, in microseconds. */
  cpuMicroseconds: number
}
type Measured = {
  name: string
  rounds: Round[]
  answered: number
  failed: number
  rssMebibytes: number
  books: Books | null
}

export async function main(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '5' },
      only: { type: 'string', default: USUAL_CONTENDERS },
      'portkey-node': { type: 'string' },
      other: { type: 'string' },
    },
  })
  const loadBefore = os.loadavg()[0] ?? 0
  const clock = machineClock()
  if (!canPin) process.stdout.write('taskset is missing: nothing is bound to a core\n')
  const upstream = await startUpstream()
  const contenders: Contender[] = [direct(upstream.url)]
  try {
    for (const name of values.only.split(',')) {
      const make = contenderMakers.get(name)
      if (!make)
        throw new Error(
          `unknown server ${name}; there are ${[...contenderMakers.keys()].join(', ')}`,
        )
      contenders.push(await make(upstream.url))
    }
    const otherNode = values['portkey-node']
    if (otherNode !== undefined) contenders.push(await portkey(upstream.url, otherNode))
    if (values.other !== undefined) contenders.push(await otherState(values.other, upstream.url))
    const rounds = Number(values.rounds)
    const measured = await measure(contenders, { rounds, seconds: Number(values.seconds) })
    const machine = describeMachine(clock, loadBefore)
    publish('relay', describe(measured, machine), { machine, measured })
    if (measured.some(({ failed, books }) => failed > 0 || books?.isRight === false)) {
      process.exitCode = 1
    }
  } finally {
    for (const contender of contenders) {
      await contender.stop()
      await contender.remove()
    }
    await upstream.process.stop()
  }
}

/** Gatehouse on SQLite from another checkout with its packages, for comparison. */
async function otherState(folder: string, upstream: string): Promise<Contender> {
  const file = pathToFileURL(path.resolve(folder, 'bench/contenders.ts')).href
  // A checkout of this repository, so its contenders have the same shape.
  const other = (await import(file)) as { contenderMakers: typeof contenderMakers }
  const make = other.contenderMakers.get('sqlite')
  if (!make) throw new Error(`${folder} has no benchmark of Gatehouse on SQLite`)
  return { ...(await make(upstream)), name: OTHER_STATE }
}

async function measure(
  contenders: Contender[],
  { rounds, seconds }: { rounds: number; seconds: number },
): Promise<Measured[]> {
  const measured = contenders.map(({ name }): Measured => {
    return { name, rounds: [], answered: 0, failed: 0, rssMebibytes: 0, books: null }
  })
  for (let round = 0; round < rounds; round++) {
    for (const [index, contender] of contenders.entries()) {
      const result = measured[index]
      if (!result) continue
      const warmupSeconds = round === 0 ? FIRST_WARMUP_SECONDS : 0.5
      const cpuBefore = contender.cpuSeconds()
      const parallel = await load(contender, { connections: 32, warmupSeconds, seconds })
      const cpuSeconds = contender.cpuSeconds() - cpuBefore
      const cpuMicroseconds = (cpuSeconds / Math.max(1, parallel.answered)) * 1e6
      const sequential = await load(contender, { connections: 1, warmupSeconds: 0.5, seconds })
      result.rounds.push({ parallel, sequential, cpuMicroseconds })
      result.answered += parallel.answered + sequential.answered
      result.failed += parallel.failed + sequential.failed
      result.rssMebibytes = contender.rssMebibytes()
      const failure = parallel.firstFailure ?? sequential.firstFailure
      if (failure !== null) process.stdout.write(`${contender.name} failed:\n${failure}\n`)
      process.stdout.write(
        `round ${round + 1}, ${contender.name}: ${Math.round(parallel.perSecond)}/s, ` +
          `p50 ${sequential.p50Ms.toFixed(2)} ms\n`,
      )
    }
  }
  for (const [index, contender] of contenders.entries()) {
    await contender.stop()
    const result = measured[index]
    if (result) result.books = await contender.books(result.answered)
  }
  return measured
}

function load(
  { url, headers }: Contender,
  figures: { connections: number; warmupSeconds: number; seconds: number },
) {
  return runLoad({ url, headers, body: BODY, expect: EXPECTED, ...figures }, LOAD_CORE)
}

function describe(measured: Measured[], machine: string): string {
  const directly = measured[0]
  const base = (pick: (round: Round) => number) => median(directly?.rounds.map(pick) ?? [])
  const perSecond = (result: Measured | undefined) =>
    median(result?.rounds.map(({ parallel }) => parallel.perSecond) ?? [])
  const peers = measured.filter(({ name }) => /^(bare proxy|Portkey|the other state)/.test(name))
  const rows = measured.map((result) => {
    const sequential = (pick: (load: LoadResult) => number) =>
      median(result.rounds.map((round) => pick(round.sequential)))
    const [p50, p99] = [sequential((run) => run.p50Ms), sequential((run) => run.p99Ms)]
    const added = (value: number, pick: (run: LoadResult) => number) =>
      result === directly ? '–' : (value - base((round) => pick(round.sequential))).toFixed(2)
    return [
      result.name,
      withSpread(result.rounds.map(({ parallel }) => parallel.perSecond)),
      result === directly
        ? '–'
        : median(result.rounds.map((round) => round.cpuMicroseconds)).toFixed(0),
      median(result.rounds.map(({ parallel }) => parallel.p99Ms)).toFixed(1),
      p50.toFixed(2),
      p99.toFixed(2),
      added(p50, (run) => run.p50Ms),
      added(p99, (run) => run.p99Ms),
      result.rssMebibytes > 0 ? result.rssMebibytes.toFixed(0) : '–',
      ...peers.map((peer) => `${(perSecond(result) / perSecond(peer)).toFixed(2)}x`),
      String(result.failed),
    ]
  })
  const columns = [
    'server',
    'calls/s, 32 connections',
    'CPU µs a call',
    'p99 ms',
    'sequential p50 ms',
    'p99 ms ',
    'added p50 ms',
    'added p99 ms',
    'RSS MiB',
    ...peers.map(({ name }) => `to ${name}`),
    'failed',
  ]
  const bookLines = measured.flatMap(({ name, books }) =>
    books ? [`- ${name}: ${books.summary}`] : [],
  )
  return [
    '# One call relayed, beside other gateways',
    '',
    `${machine}. ${measured[0]?.rounds.length} rounds, taking turns; medians, and how far the rounds lie apart.`,
    '',
    markdownTable({ columns, rows }),
    '',
    'The books afterwards:',
    ...(bookLines.length > 0 ? bookLines : ['- none of these keeps any']),
  ].join('\n')
}
