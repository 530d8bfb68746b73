import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { useScrollRestoration } from './routing/scroll-restoration.ts'
import { onSessionChange } from './session.ts'

/** Cache of server responses, shared by all pages. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // A failed request has already been reported; an automatic retry would report it twice.
      retry: false,
      staleTime: 30_000,
      // The server may run on this machine, so being offline does not mean that it is unreachable.
      networkMode: 'always',
      // A computer that wakes up shows its page before the network is back; failed requests are
      // then repeated.
      refetchOnReconnect: true,
    },
    mutations: { retry: false, networkMode: 'always' },
  },
})

// The next user on the same screen must not see cached responses. Sign-out keeps those of pages
// that are about to close, because they would send their requests again; sign-in drops them.
onSessionChange((user) => {
  if (user === null) queryClient.removeQueries({ type: 'inactive' })
  else queryClient.clear()
})

export function WithQueries() {
  useScrollRestoration()
  return (
    <QueryClientProvider client={queryClient}>
      <Outlet />
    </QueryClientProvider>
  )
}
