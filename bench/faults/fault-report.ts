/** Results of a fault run, and the violations among them. */
import type { BilledCall } from '../gatehouse-server.ts'
import { quantile } from '../load.ts'
import { markdownTable } from '../report.ts'
import type { Called } from './fault-callers.ts'
import { CHANNELS, isToBeDisabled, PHASES, startsMs, healthyIn } from './fault-script.ts'
import type { Visits } from './faulty-upstream.ts'

export type FaultRun = {
  seconds: number
  rate: number
  calls: Called[]
  skipped: number
  billed: BilledCall[]
  books: { exitCode: number; output: string }
  /** Channel ids, in the order of `CHANNELS`. */
  ids: number[]
  /** Names of the channels that are not enabled at the end. */
  disabled: string[]
  visits: Visits[]
  /** Attempts that the gateway ended without a response, by channel. */
  givenUp: number[]
}

export type PhaseFigures = {
  name: string
  /** Number of healthy channels in the phase. */
  healthy: number
  calls: number
  served: number
  /** Responses that began and broke off, which cannot be retried. */
  broken: number
  refused: number
  p50Ms: number
  p99Ms: number
  /** Attempts on failing channels per hundred calls. */
  failingAttemptsPercent: number
}

export type FaultReport = {
  seconds: number
  rate: number
  phases: PhaseFigures[]
  /** Share of served calls among those that could have been served. */
  servedShare: number
  /** The same without responses that the upstream broke off after they had begun. */
  servedUnlessBrokenShare: number
  wronglyDisabled: string[]
  notDisabled: string[]
  /** Healthy channels without a call in the last phase. */
  notBack: string[]
  /** Calls that were skipped because too many were in progress: the machine was too slow. */
  skipped: number
  /** Responses that arrived after the gateway had stopped waiting. */
  late: number
  /** Charges without a full or partial response, and responses without a charge, by channel. */
  differences: { name: string; by: number }[]
  billed: number
  /** Errors that clients received, by phase, with counts. */
  failures: string[]
  problems: string[]
}

const PROBLEMS_SHOWN = 20

export function judgeFaults(run: FaultRun): FaultReport {
  const { seconds, rate, calls, billed, books } = run
  const phases = PHASES.map((_phase, index) => figuresOf(run, index))
  const possible = phases.filter(({ healthy }) => healthy > 0)
  const sum = (of: (phase: PhaseFigures) => number) =>
    possible.reduce((total, phase) => total + of(phase), 0)
  const made = sum((phase) => phase.calls)
  const served = sum((phase) => phase.served)
  const healthy = CHANNELS.filter((channel) => !isToBeDisabled(channel)).map(({ name }) => name)
  const refused = CHANNELS.filter(isToBeDisabled).map(({ name }) => name)
  const last = PHASES.length - 1
  const report: FaultReport = {
    seconds,
    rate,
    phases,
    servedShare: served / made,
    servedUnlessBrokenShare: served / (made - sum((phase) => phase.broken)),
    wronglyDisabled: healthy.filter((name) => run.disabled.includes(name)),
    notDisabled: refused.filter((name) => !run.disabled.includes(name)),
    notBack: CHANNELS.flatMap(({ name }, index) =>
      healthy.includes(name) && (run.visits[index]?.asked[last] ?? 0) === 0 ? [name] : [],
    ),
    skipped: run.skipped,
    late: compared(run).reduce((total, { late }) => total + late, 0),
    differences: compared(run).filter(({ by }) => by !== 0),
    billed: billed.length,
    failures: failuresOf(run),
    problems: [],
  }
  report.problems.push(...bookProblems(calls, billed), ...problemsOf(report))
  if (books.exitCode !== 0) report.problems.push(`reconcile: ${books.output.slice(-1000)}`)
  report.problems.splice(PROBLEMS_SHOWN)
  return report
}

function figuresOf({ seconds, calls, visits }: FaultRun, index: number): PhaseFigures {
  const starts = startsMs(seconds)
  const [from = 0, to = Infinity] = [starts[index], starts[index + 1]]
  const own = calls.filter(({ beganMs }) => beganMs >= from && beganMs < to)
  const count = (outcome: Called['outcome']) =>
    own.filter((call) => call.outcome === outcome).length
  const latencies = own.flatMap(({ outcome, tookMs }) => (outcome === 'served' ? [tookMs] : []))
  const sorted = Float64Array.from(latencies).toSorted()
  const failingAttempts = visits.reduce(
    (sum, { askedWhileFailing }) => sum + (askedWhileFailing[index] ?? 0),
    0,
  )
  const phase = PHASES[index]
  return {
    name: phase?.name ?? '',
    healthy: phase === undefined ? 0 : healthyIn(phase),
    calls: own.length,
    served: count('served'),
    broken: count('broken'),
    refused: count('refused') + count('lost'),
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    failingAttemptsPercent: own.length === 0 ? 0 : (failingAttempts / own.length) * 100,
  }
}

function failuresOf({ seconds, calls }: FaultRun): string[] {
  const starts = startsMs(seconds)
  const unserved = calls.filter(({ outcome }) => outcome !== 'served')
  const byText = Map.groupBy(unserved, ({ beganMs, outcome, status, received }) => {
    const phase = PHASES[starts.findLastIndex((start) => start <= beganMs)]
    const message = /"message": ?"([^"]*?)(?: \(request id[^"]*)?"/.exec(received)?.[1] ?? received
    return `${phase?.name}: ${outcome}, ${status}, ${message}`
  })
  return [...byText].map(([text, { length }]) => `${text} (${length})`)
}

/**
 * Compares what the upstreams sent with the log, by channel. A response to an attempt that the
 * gateway had already given up counts as late and is not billed.
 */
function compared({ ids, billed, visits, givenUp }: FaultRun) {
  const rows = Map.groupBy(billed, ({ channelId }) => channelId)
  return CHANNELS.map(({ name }, index) => {
    const { answered = 0, parts = 0 } = visits[index] ?? {}
    const by = (rows.get(ids[index] ?? 0)?.length ?? 0) - answered - parts
    const late = Math.min(Math.max(0, -by), givenUp[index] ?? 0)
    return { name, late, by: by + late }
  })
}

function bookProblems(calls: Called[], billed: BilledCall[]): string[] {
  const rows = Map.groupBy(billed, ({ requestId }) => requestId)
  const problems: string[] = []
  for (const { requestId, outcome, status } of calls) {
    const charges = rows.get(requestId)?.length ?? 0
    const isRight = outcome === 'refused' ? charges === 0 : outcome === 'lost' || charges === 1
    if (!isRight) problems.push(`${requestId} (${outcome}, ${status}): charged ${charges} times`)
    if (outcome === 'lost') problems.push('a call got no answer at all')
  }
  return problems
}

function problemsOf(report: FaultReport): string[] {
  const { wronglyDisabled, notDisabled } = report
  return [
    ...report.differences.map(({ name, by }) => `${name}: ${by} more billed than it gave`),
    ...wronglyDisabled.map((name) => `${name} was disabled and had nothing wrong for good`),
    ...notDisabled.map((name) => `${name} was refused for good and is still enabled`),
  ]
}

export function describeFaults(report: FaultReport, machine: string): string {
  const [calm] = report.phases
  const percent = (share: number) => `${(share * 100).toFixed(2)} %`
  const ms = (value: number) => value.toFixed(1)
  const list = (names: string[]) => (names.length === 0 ? 'none' : names.join(', '))
  const rows = report.phases.map((phase) => [
    phase.name,
    String(phase.calls),
    String(phase.healthy),
    percent(phase.served / Math.max(1, phase.calls)),
    phase.healthy > 0 ? '100 %' : '0 %',
    String(phase.broken),
    String(phase.refused),
    ms(phase.p50Ms),
    ms(phase.p99Ms),
    ms(phase.p50Ms - (calm?.p50Ms ?? 0)),
    ms(phase.p99Ms - (calm?.p99Ms ?? 0)),
    phase.failingAttemptsPercent.toFixed(1),
  ])
  const columns = [
    'phase',
    'calls',
    'healthy',
    'answered',
    'possible',
    'broken off',
    'refused',
    'p50, ms',
    'p99, ms',
    'added p50',
    'added p99',
    'failing attempts, %',
  ]
  return [
    `# ${CHANNELS.length} channels under faults`,
    '',
    `${report.rate} calls a second for ${report.seconds} s. ${machine}`,
    '',
    markdownTable({ columns, rows }),
    '',
    `- answered while anybody could: ${percent(report.servedShare)}; without those that an upstream ` +
      `broke off in the middle ${percent(report.servedUnlessBrokenShare)}`,
    `- disabled wrongly: ${list(report.wronglyDisabled)}; not disabled: ${list(report.notDisabled)}`,
    `- healthy and without a call in the last phase: ${list(report.notBack)}`,
    `- calls left out because the machine was too slow: ${report.skipped}; answers that came after ` +
      `the gateway had given up waiting: ${report.late}`,
    `- ${report.billed} calls billed; difference to what the upstreams gave: ` +
      `${report.differences.reduce((sum, { by }) => sum + Math.abs(by), 0)}`,
    ...report.failures.map((text) => `- ${text}`),
    '',
    ...(report.problems.length > 0
      ? ['Problems:', ...report.problems.map((text) => `- ${text}`)]
      : ['No problem was found.']),
  ].join('\n')
}
