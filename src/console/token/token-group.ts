import { queryOptions, useQuery } from '@tanstack/react-query'
import type { ChoosableGroup } from '../../contract/token-api.ts'
import { call } from '../app/call.ts'
import { useHasFeature } from '../app/status.ts'

/** Groups that this person may give to tokens, by name. */
export type ChoosableGroups = Readonly<Record<string, ChoosableGroup>>

const groupsQuery = queryOptions({
  queryKey: ['token-groups'],
  queryFn: ({ signal }): Promise<ChoosableGroups> =>
    call('GET /api/user/self/groups', {}, { signal }),
  staleTime: 0,
})

/** Null until the answer comes, and with a server that has no such thing. */
export function useChoosableGroups(): ChoosableGroups | null {
  const { data } = useQuery({ ...groupsQuery, enabled: useHasFeature()('token-groups') })
  return data ?? null
}

/** A group that a form offers; an empty name stands for those of the account. */
export interface GroupChoice {
  name: string
  /** Names of the groups, joined; the account can have several. */
  groups: string
  /** Null: calls are priced by whichever group serves them, or the group is none any more. */
  ratio: number | null
  desc: string
  /** It was given to the token and may not be used any more. */
  isGone: boolean
}

/**
 * What a token's form offers: the account's own groups, each of several, those that are open to it,
 * and the one that the token has. Fewer than two: there is nothing to choose.
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

/** Whose models are offered; null: the group may not be used, or nobody knows yet. */
export const groupToAsk = (choices: readonly GroupChoice[], chosen: string): string | null =>
  chosen === '' || choices.some(({ name, isGone }) => name === chosen && !isGone) ? chosen : null
