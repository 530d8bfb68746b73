import { readFileSync } from 'node:fs'
import path from 'node:path'
import type { ExplainedDifference } from './sent-upstream.ts'

/** A scenario: calls in order, each with the response of a real One API server. */
export type Recording = { name: string; title: string; steps: Step[] }

export type Step = {
  name: string
  /** User whose cookies are sent and stored; without it, none are sent. */
  as?: string
  /** The `Authorization` header. */
  auth?: string
  method?: string
  path: string
  headers?: Record<string, string>
  /** A JSON body; or, as `raw`, a text. */
  body?: unknown
  raw?: string
  /** Variable name to a dotted path in the response (`body.data.id`). */
  save?: Record<string, string>
  /** Milliseconds to wait before the call. */
  wait?: number
  /** Required agreement: all values (default), rows in any order, types only, the status only. */
  compare?: 'set' | 'shape' | 'status'
  /**
   * Whether the recorded response also contains the requests that the upstream received since the
   * last step with this flag.
   */
  upstream?: boolean
  answer: Answer
}

export type Answer = {
  status: number
  headers: Record<string, string>
  body: unknown
  upstream?: unknown
}

/** An intentional difference from the recorded server. */
export type KnownDifference = {
  recording: string
  /** The step's name, or `*` for every step of the recording. */
  step: string
  /** Path of the difference, or a prefix of it; anywhere in the step if not set. */
  at?: string
  /** Depends on background work, and need not occur in every run. */
  maybe?: true
  reason: string
}

const fixtures = path.join(import.meta.dirname, '../../fixtures/recordings')

/** Loads a recording of `fixtures/recordings` by its name, without `.json`. */
export function loadRecording(name: string): Recording {
  return { name, ...readJson<Omit<Recording, 'name'>>(`${name}.json`) }
}

export function loadKnownDifferences(): KnownDifference[] {
  return readJson<KnownDifference[]>('known-differences.json')
}

/**
 * Intentional differences of our upstream requests from those in `upstreams.json`, with reasons.
 */
export function loadUpstreamDifferences(): ExplainedDifference[] {
  return readJson<ExplainedDifference[]>('upstream-differences.json')
}

function readJson<T>(file: string): T {
  // These files are part of the repository and have the stated type.
  return JSON.parse(readFileSync(path.join(fixtures, file), 'utf8')) as T
}
