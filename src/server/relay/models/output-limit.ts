import { readFileSync } from 'node:fs'
import { modelKey } from './model-key.ts'

interface ModelLimits {
  source: string
  /** By `modelKey`: most tokens of an answer, and of prompt and answer together. */
  limits: Record<string, [output: number, context: number]>
}

const { limits } =
  // The shape is the one that `tools/model-limits.ts` writes.
  JSON.parse(readFileSync(new URL('model-limits.json', import.meta.url), 'utf8')) as ModelLimits
const LIMITS = new Map(Object.entries(limits))

/** The day in a model's name: `-20250929`, `-2025-09-29`; or `-latest`. */
const SNAPSHOT = /-(?:20\d{6}|20\d\d-\d\d-\d\d|latest)$/

/**
 * The most tokens that a model can answer with, reasoning included; null if the model is not in the
 * data. Hosts of an open model allow different figures: this is the highest, so that nobody gets
 * less than the model can do.
 */
export function outputLimitOf(model: string): number | null {
  const key = modelKey(model)
  const [output = null] = LIMITS.get(key) ?? LIMITS.get(key.replace(SNAPSHOT, '')) ?? []
  return output
}
