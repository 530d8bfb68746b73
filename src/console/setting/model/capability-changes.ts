export interface CapabilityChange {
  member: string
  /** JSON; empty if unknown. */
  before: string
  after: string
}

/** Differences between two JSON objects by member; members of `limit` are compared separately. */
export function capabilityChanges(before: string, after: string): CapabilityChange[] {
  const [old, now] = [members(before), members(after)]
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((member) => ({
      member,
      before: old.get(member) ?? '',
      after: now.get(member) ?? '',
    }))
    .filter((change) => change.before !== change.after)
}

function members(text: string): Map<string, string> {
  const read: unknown = JSON.parse(text)
  return new Map(
    entriesOf(read).flatMap(([name, value]) =>
      name === 'limit'
        ? entriesOf(value).map(([inner, tokens]) => [`limit.${inner}`, String(tokens)] as const)
        : [[name, JSON.stringify(value)] as const],
    ),
  )
}

const entriesOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : []
