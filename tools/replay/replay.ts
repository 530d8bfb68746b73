/**
 * Replays recordings of a real One API server against ours and lists the differences.
 *
 * node tools/replay/replay.ts --base http://127.0.0.1:3000 --upstream http://127.0.0.1:4010\
 * --root-password RootPass1 account users
 *
 * Each recording needs a fresh server, started with OPTIONS_MIN_ROLE=100, without rate limits and
 * with INITIAL_ROOT_PASSWORD as given, and its own fake upstream.
 */
import { parseArgs } from 'node:util'
import { compareStep, type Difference } from './compare.ts'
import {
  loadKnownDifferences,
  loadRecording,
  type KnownDifference,
  type Recording,
  type Step,
} from './recording.ts'
import { runRecording } from './run-recording.ts'

export type StepDifference = Difference & { recording: string; step: string; call: string }

export type Replay = {
  base: string
  upstream: string
  rootPassword: string
  recording: Recording
  known: KnownDifference[]
}

const DIFFERENCES_SHOWN = 6

/**
 * Returns the unexpected differences. A known difference that did not occur counts too, so that the
 * list stays current.
 */
export async function replay(options: Replay): Promise<StepDifference[]> {
  const { base, upstream, rootPassword, recording } = options
  const known = options.known.filter((entry) => entry.recording === recording.name)
  const unused = new Set(known.filter(({ maybe }) => maybe !== true))
  const variables = { upstream, rootPassword }
  const unexplained: StepDifference[] = []
  for (const step of await runRecording({ base, steps: recording.steps, variables })) {
    for (const difference of compareStep(step, step.got)) {
      const explaining = known.filter((entry) => explains(entry, step, difference))
      for (const entry of explaining) unused.delete(entry)
      if (explaining.length === 0) {
        const call = `${step.method ?? 'GET'} ${step.path}`
        unexplained.push({ recording: recording.name, step: step.name, call, ...difference })
      }
    }
  }
  for (const { step, at = '', reason } of unused) {
    const [want, got] = [`the known difference: ${reason}`, 'agreement']
    unexplained.push({ recording: recording.name, step, call: '', at, want, got })
  }
  return unexplained
}

function explains(known: KnownDifference, step: Step, difference: Difference): boolean {
  const isStep = known.step === '*' || known.step === step.name
  return isStep && (known.at === undefined || difference.at.startsWith(known.at))
}

/** Formats the differences as lines, by step. */
export function describeDifferences(found: StepDifference[]): string {
  const steps = Map.groupBy(
    found,
    ({ recording, step, call }) => `${recording} · ${step} · ${call}`,
  )
  return [...steps]
    .map(([title, differences]) => {
      const lines = differences.slice(0, DIFFERENCES_SHOWN).map(({ at, want, got }) => {
        return `    ${at}: recorded ${JSON.stringify(want)}, got ${JSON.stringify(got)}`
      })
      return [title, ...lines].join('\n')
    })
    .join('\n')
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      base: { type: 'string', default: 'http://127.0.0.1:3000' },
      upstream: { type: 'string', default: 'http://127.0.0.1:4010' },
      'root-password': { type: 'string', default: 'RootPass1' },
    },
  })
  const { base, upstream, 'root-password': rootPassword } = values
  const known = loadKnownDifferences()
  for (const name of positionals) {
    const recording = loadRecording(name)
    const found = await replay({ base, upstream, rootPassword, recording, known })
    const differing = new Set(found.map(({ step }) => step)).size
    if (found.length > 0) {
      process.stdout.write(`${describeDifferences(found)}\n`)
      process.exitCode = 1
    }
    process.stdout.write(`${name}: ${recording.steps.length} steps, ${differing} differ\n`)
  }
}
