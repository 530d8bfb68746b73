import { queryOptions, useQuery } from '@tanstack/react-query'
import { call } from '../call.ts'
import { useHasFeature } from '../status.ts'

/** The reader's accounts at providers of the option `SignInProviders`. */
export const externalAccountsQuery = queryOptions({
  queryKey: ['external-accounts'],
  queryFn: ({ signal }) => call('GET /api/oauth/accounts', {}, { signal }),
  // The account is linked in another window.
  staleTime: 0,
})

/** Empty until they are loaded, and on a server without such providers. */
export function useExternalAccounts() {
  const hasFeature = useHasFeature()
  const { data } = useQuery({ ...externalAccountsQuery, enabled: hasFeature('sign-in-providers') })
  return data ?? []
}
