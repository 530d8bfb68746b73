import { AUDIT_SECRET } from '../../contract/audit.ts'
import { SECRET_CONFIG_MEMBERS } from '../../contract/channel.ts'
import { isOptionKey, isSecretOption } from '../../contract/option/options.ts'

/** State before and after a change; null if the object did not or does not exist. */
export interface AuditedChange {
  before: object | null
  after: object | null
}

type Members = Readonly<Record<string, unknown>>

/** Names of secret members, at any depth. */
const SECRET_MEMBERS: ReadonlySet<string> = new Set([
  'password',
  'access_token',
  'key',
  'client_secret',
  ...SECRET_CONFIG_MEMBERS,
])

/**
 * Longer texts are cut to this many characters: the audit records changes, it is not a copy of the
 * data.
 */
const TEXT_LENGTH_MAX = 2000

/**
 * Returns the recorded form of a change: only the members that differ, also within texts that
 * contain JSON objects (ratio maps, a channel's `config`). Secrets are masked and long texts cut.
 * Returns null if nothing changed.
 */
export function auditedChange({ before, after }: AuditedChange): AuditedChange | null {
  if (before === null || after === null) {
    return { before: before && kept({ ...before }), after: after && kept({ ...after }) }
  }
  const changed = differences({ ...before }, { ...after })
  if (Object.keys(changed.before).length === 0) return null
  return { before: kept(changed.before), after: kept(changed.after) }
}

/** Returns the members that differ; a missing one is null on that side. */
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
  // `fromEntries` creates own members for any name, also `__proto__`.
  return { before: Object.fromEntries(old), after: Object.fromEntries(now) }
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

/** Parses a text that contains a JSON object; returns any other value unchanged. */
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
