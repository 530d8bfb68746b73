import { queryOptions, useQuery } from '@tanstack/react-query'
import type { ChoosableGroup } from '../../contract/token-api.ts'
import { call } from '../app/call.ts'
import { useHasFeature } from '../app/status.ts'

/** Groups that the user can assign to tokens, by name. */
export type ChoosableGroups = Readonly<Record<string, ChoosableGroup>>

const groupsQuery = queryOptions({
  queryKey: ['token-groups'],
  queryFn: ({ signal }): Promise<ChoosableGroups> =>
    call('GET /api/user/self/groups', {}, { signal }),
  staleTime: 0,
})

/** Null until loaded, or if the server has no token groups. */
export function useChoosableGroups(): ChoosableGroups | null {
  const { data } = useQuery({ ...groupsQuery, enabled: useHasFeature()('token-groups') })
  return data ?? null
}

/** A group that the form offers; an empty name means the groups of the account. */
export interface GroupChoice {
  name: string
  /** Names of the groups, joined; an account can have several. */
  groups: string
  /** Null if the price depends on the group that serves the call, or the group no longer exists. */
  ratio: number | null
  desc: string
  /** The token's group can no longer be used. */
  isGone: boolean
}

/**
 * Groups that a token's form offers: those of the account, others that are open to it, and the
 * token's own. With fewer than two there is no choice.
 */
export function groupChoices(groups: ChoosableGroups | null, stored: string): GroupChoice[] {
  if (groups === null) return []
  const named = Object.entries(groups)
  const own = named.filter(([, group]) => group.own)
  const [only] = own.length === 1 ? own : []
  const account: GroupChoice = {
    name: '',
    groups: own.map(([name]) => name).join(', '),
    ratio: only?.[1].ratio ?? null,
    desc: only?.[1].desc ?? '',
    isGone: false,
  }
  const others = named
    .filter(([name]) => name !== only?.[0] || name === stored)
    .map(([name, { ratio, desc }]) => ({ name, groups: name, ratio, desc, isGone: false }))
  const isGone = stored !== '' && !Object.hasOwn(groups, stored)
  const gone = { name: stored, groups: stored, ratio: null, desc: '', isGone }
  return [account, ...others, ...(isGone ? [gone] : [])]
}

/** The group whose models are offered; null if it cannot be used or is not known yet. */
export const groupToAsk = (choices: readonly GroupChoice[], chosen: string): string | null =>
  chosen === '' || choices.some(({ name, isGone }) => name === chosen && !isGone) ? chosen : null
