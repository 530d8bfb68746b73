import { AUDIT_SECRET } from '../../contract/audit.ts'
import { SECRET_CONFIG_MEMBERS } from '../../contract/channel.ts'
import { isOptionKey, isSecretOption } from '../../contract/option/options.ts'

/** A row before and after; null: there was, or is, none. */
export interface AuditedChange {
  before: object | null
  after: object | null
}

type Members = Readonly<Record<string, unknown>>

/** Members that hold a secret, wherever they stand. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  'password',
  'access_token',
  'key',
  ...SECRET_CONFIG_MEMBERS,
])

/** Longer texts are cut, in characters: the audit says what changed, it is no copy of the data. */
const TEXT_LENGTH_MAX = 2000

/**
 * What the audit keeps of a change: of two states only the members that differ, of texts that hold
 * JSON objects (ratio maps, a channel's `config`) only the members within that differ; secrets
 * masked, long texts cut. Null when nothing changed.
 */
export function auditedChange({ before, after }: AuditedChange): AuditedChange | null {
  if (before === null || after === null) {
    return { before: before && kept({ ...before }), after: after && kept({ ...after }) }
  }
  const changed = differences({ ...before }, { ...after })
  if (Object.keys(changed.before).length === 0) return null
  return { before: kept(changed.before), after: kept(changed.after) }
}

/** The members that differ; one that is missing on a side is null there. */
function differences(before: Members, after: Members): { before: Members; after: Members } {
  const old: [string, unknown][] = []
  const now: [string, unknown][] = []
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const from = unpacked(before[name])
    const to = unpacked(after[name])
    if (isMembers(from) && isMembers(to)) {
      const inner = differences(from, to)
      if (Object.keys(inner.before).length === 0) continue
      old.push([name, inner.before])
      now.push([name, inner.after])
    } else if (!isSame(from, to)) {
      old.push([name, from ?? null])
      now.push([name, to ?? null])
    }
  }
  // `fromEntries` makes own members of any name, `__proto__` too.
  return { before: Object.fromEntries(old), after: Object.fromEntries(now) }
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

/** A text that holds a JSON object, as that object; whatever else as it is. */
function unpacked(value: unknown): unknown {
  if (typeof value !== 'string' || !value.trimStart().startsWith('{')) return value
  try {
    const parsed: unknown = JSON.parse(value)
    return isMembers(parsed) ? parsed : value
  } catch {
    return value
  }
}

const kept = (values: Members): Members =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      isSecret(name) ? masked(value) : shortened(unpacked(value)),
    ]),
  )

const isSecret = (name: string): boolean =>
  SECRET_MEMBERS.has(name) || (isOptionKey(name) && isSecretOption(name))

const masked = (value: unknown): unknown =>
  value === '' || value === null || value === undefined ? value : AUDIT_SECRET

function shortened(value: unknown): unknown {
  if (isMembers(value)) return kept(value)
  if (typeof value !== 'string' || value.length <= TEXT_LENGTH_MAX) return value
  return `${[...value].slice(0, TEXT_LENGTH_MAX).join('')}…`
}
