import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { useLateScroll } from './routing/late-scroll.ts'
import { onSessionChange } from './session.ts'

/** What the server answered, shared by all pages. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // A failed call has already said so; asking again by itself would say it twice.
      retry: false,
      staleTime: 30_000,
      // The server may run on this very machine: being offline says nothing about reaching it.
      networkMode: 'always',
      // A computer that wakes up has its page in view and no net yet: what failed then comes now.
      refetchOnReconnect: true,
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})

// The next person at the same screen must not see cached answers. They are cleared on sign-in and
// not on sign-out, because pages that are about to close would ask again.
onSessionChange((user) => {
  if (user !== null) queryClient.clear()
})

export function WithQueries() {
  useLateScroll()
  return (
    <QueryClientProvider client={queryClient}>
      <Outlet />
    </QueryClientProvider>
  )
}
