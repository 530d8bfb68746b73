import {
  emptyProvider,
  type ProviderRule,
  type SignInProvider,
} from '../../../contract/option/sign-in-providers.ts'

/** A provider of the option `SignInProviders` in the form. */
export interface ProviderEntry {
  name: string
  provider: SignInProvider
}

/** Returns the providers of the option's text in their order; none if it is unreadable. */
export function entriesOf(text: string): ProviderEntry[] {
  try {
    const parsed: unknown = JSON.parse(text)
    // The server only stores objects of this shape; missing members are defaults.
    return Object.entries(Object(parsed) as Record<string, Partial<SignInProvider>>).map(
      ([name, provider]) => ({ name, provider: { ...emptyProvider, ...provider } }),
    )
  } catch {
    return []
  }
}

/** Returns the option's text; members with their default are left out. */
export const textOfEntries = (entries: readonly ProviderEntry[]): string =>
  JSON.stringify(
    Object.fromEntries(entries.map(({ name, provider }) => [name, withoutDefaults(provider)])),
  )

const withoutDefaults = (provider: SignInProvider): Partial<SignInProvider> =>
  Object.fromEntries(
    Object.entries(provider).filter(
      ([member, value]) => JSON.stringify(value) !== JSON.stringify(Object(emptyProvider)[member]),
    ),
  )

/** A rule as form fields. */
export interface RuleFields {
  claim: string
  by: 'equals' | 'contains'
  value: string
  group: string
  isAdmin: boolean
}

export const ruleFields = ({ claim, equals, contains, group, role }: ProviderRule): RuleFields => ({
  claim,
  by: equals === undefined ? 'contains' : 'equals',
  value: equals ?? contains ?? '',
  group: group ?? '',
  isAdmin: role === 'admin',
})

export const ruleOf = ({ claim, by, value, group, isAdmin }: RuleFields): ProviderRule => ({
  claim: claim.trim(),
  [by]: value,
  ...(group === '' ? {} : { group: group.trim() }),
  ...(isAdmin ? { role: 'admin' as const } : {}),
})

export const NEW_RULE: ProviderRule = { claim: 'groups', contains: '' }
