import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { ExplainedDifference } from './sent-upstream.ts'

/** One scenario: calls in order, each with the answer a real One API server gave. */
export type Recording = { name: string; title: string; steps: Step[] }

export type Step = {
  name: string
  /** Whose cookies go along and are kept; a step without it sends none. */
  as?: string
  /** The `Authorization` header. */
  auth?: string
  method?: string
  path: string
  headers?: Record<string, string>
  /** A JSON body; or, as `raw`, the text itself. */
  body?: unknown
  raw?: string
  /** Variable name to a dotted path in the answer (`body.data.id`). */
  save?: Record<string, string>
  /** Milliseconds to wait before the call. */
  wait?: number
  /** What must agree: all values (default), rows in any order, types alone, the status alone. */
  compare?: 'set' | 'shape' | 'status'
  /** Whether the answer also tells what the upstream received since the last such step. */
  upstream?: boolean
  answer: Answer
}

export type Answer = {
  status: number
  headers: Record<string, string>
  body: unknown
  upstream?: unknown
}

/** Something in which we differ from the recorded server on purpose. */
export type KnownDifference = {
  recording: string
  /** The step's name, or `*` for every step of the recording. */
  step: string
  /** Where it differs, or a beginning of that; absent means anywhere in the step. */
  at?: string
  /** It hangs on what goes on in the background, and need not occur in every run. */
  maybe?: true
  reason: string
}

const fixtures = path.join(import.meta.dirname, '../../fixtures/recordings')

/** A recording of `fixtures/recordings` by its name, without `.json`. */
export function loadRecording(name: string): Recording {
  return { name, ...readJson<Omit<Recording, 'name'>>(`${name}.json`) }
}

export function loadKnownDifferences(): KnownDifference[] {
  return readJson<KnownDifference[]>('known-differences.json')
}

/** In what our calls to upstreams differ from those of `upstreams.json`, each with its reason. */
export function loadUpstreamDifferences(): ExplainedDifference[] {
  return readJson<ExplainedDifference[]>('upstream-differences.json')
}

function readJson<T>(file: string): T {
  // These files are part of the repository and have the shape their type says.
  return JSON.parse(readFileSync(path.join(fixtures, file), 'utf8')) as T
}
