import type { ProviderRule, SignInProvider } from '../../contract/option/sign-in-providers.ts'
import { DEFAULT_GROUP, groupNames, isRoot, Role, USER_GROUPS_MAX } from '../../contract/user.ts'

/**
 * Groups and role of a user by the rules of a provider. The provider decides at every sign-in about
 * the groups that its rules name, and about the role if a rule names one and the provider may make
 * administrators. Other groups of the user stay.
 */

type Claims = Readonly<Record<string, unknown>>

interface Standing {
  group: string
  role: number
}

/** Returns the members that change; empty if none does. Root is never changed. */
export function standingByRules(
  { rules, allow_admin: mayMakeAdmins }: Pick<SignInProvider, 'rules' | 'allow_admin'>,
  claims: Claims,
  { user, isGroup }: { user: Standing; isGroup: (name: string) => boolean },
): Partial<Standing> {
  if (isRoot(user.role)) return {}
  const matching = rules.filter((rule) => matches(rule, claims))
  const group = groupByRules({ rules, matching, isGroup }, user.group)
  const decidesRole = mayMakeAdmins && rules.some((rule) => rule.role !== undefined)
  const isAdmin = matching.some((rule) => rule.role === 'admin')
  const role = decidesRole ? (isAdmin ? Role.admin : Role.user) : user.role
  return {
    ...(group === user.group ? {} : { group }),
    ...(role === user.role ? {} : { role }),
  }
}

/** The groups that match come first, because a user's groups are tried in order. */
function groupByRules(
  {
    rules,
    matching,
    isGroup,
  }: {
    rules: readonly ProviderRule[]
    matching: readonly ProviderRule[]
    isGroup: (name: string) => boolean
  },
  current: string,
): string {
  const named = groupsIn(rules)
  if (named.length === 0) return current
  const given = groupsIn(matching).filter(isGroup)
  // `default` means that the user has no other group.
  const others = groupNames(current).filter(
    (name) => !named.includes(name) && name !== DEFAULT_GROUP,
  )
  const all = [...given, ...others].slice(0, USER_GROUPS_MAX)
  const kept = all.length === 0 ? [DEFAULT_GROUP] : all
  return kept.join(',') === groupNames(current).join(',') ? current : kept.join(',')
}

const groupsIn = (rules: readonly ProviderRule[]): string[] => [
  ...new Set(rules.flatMap(({ group }) => group ?? [])),
]

/** Whether a rule applies to these claims. */
export function matches({ claim, equals, contains }: ProviderRule, claims: Claims): boolean {
  const value = valueAt(claims, claim)
  if (equals !== undefined) return textIn(value) === equals
  if (contains === undefined) return false
  const items: readonly unknown[] =
    typeof value === 'string' ? value.split(/\s+/) : Array.isArray(value) ? value : []
  return items.some((item) => textIn(item) === contains)
}

/** Claims such as `https://example.com/roles` contain dots, so the whole name is tried first. */
function valueAt(claims: unknown, path: string): unknown {
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) return undefined
  if (Object.hasOwn(claims, path)) return Object(claims)[path]
  const dot = path.indexOf('.')
  if (dot === -1) return undefined
  const first = path.slice(0, dot)
  if (!Object.hasOwn(claims, first)) return undefined
  return valueAt(Object(claims)[first], path.slice(dot + 1))
}

const textIn = (value: unknown): string | null => {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : null
}
