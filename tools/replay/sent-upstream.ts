import type { Difference } from './compare.ts'

/**
 * Compares a request that a server sent to an upstream with that of a recorded One API server,
 * member by member, in both directions.
 */
export interface SentCall {
  method: string
  url: string
  headers: Record<string, string>
  body: unknown
}

/** An intentional difference in our upstream requests. */
export interface ExplainedDifference {
  /** The channel types with this difference. */
  types: number[]
  /** Which of the two calls of a type; both if not set. */
  step?: 'plain' | 'stream'
  /** Path of the difference, or a prefix of it. */
  at: string
  reason: string
}

/** Headers of the connection and the client program. */
const OWN_HEADERS: ReadonlySet<string> = new Set(['transfer-encoding', 'user-agent'])

/** Every path where the calls differ; calls are compared in order. */
export function sentDifferences(
  recorded: readonly SentCall[],
  sent: readonly SentCall[],
): Difference[] {
  if (recorded.length !== sent.length) {
    return [{ at: 'calls', want: recorded.length, got: sent.length }]
  }
  return recorded.flatMap((want, index) => {
    const got = sent[index]
    return got === undefined ? [] : memberDifferences(leavesOf(want), leavesOf(got))
  })
}

function memberDifferences(
  want: ReadonlyMap<string, unknown>,
  got: ReadonlyMap<string, unknown>,
): Difference[] {
  const places = [...new Set([...want.keys(), ...got.keys()])]
  return places.flatMap((at) => {
    const [wanted, given] = [want.get(at), got.get(at)]
    return wanted === given ? [] : [{ at, want: wanted, got: given }]
  })
}

function leavesOf({ method, url, headers, body }: SentCall): ReadonlyMap<string, unknown> {
  const kept = Object.entries(headers).filter(([name]) => !OWN_HEADERS.has(name))
  const leaves = new Map<string, unknown>()
  collect({ method, url, headers: Object.fromEntries(kept), body }, '', leaves)
  return leaves
}

/** Collects every scalar of a value by its path; empty lists and objects too. */
function collect(value: unknown, at: string, leaves: Map<string, unknown>): void {
  if (typeof value !== 'object' || value === null) {
    leaves.set(at, value)
    return
  }
  const members = Object.entries(value)
  if (members.length === 0) leaves.set(at, Array.isArray(value) ? '[]' : '{}')
  for (const [name, part] of members) {
    const place = Array.isArray(value) ? `${at}[${name}]` : at === '' ? name : `${at}.${name}`
    collect(part, place, leaves)
  }
}

/** Whether this entry covers a difference in this type's call. */
export function explains(
  entry: ExplainedDifference,
  { type, step, at }: { type: number; step: string; at: string },
): boolean {
  const isStep = entry.step === undefined || entry.step === step
  return entry.types.includes(type) && isStep && at.startsWith(entry.at)
}
