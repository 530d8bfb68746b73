import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router'
import { paths } from '../../paths.ts'
import { basePath } from '../base.ts'
import { loadMissingSheets } from './missing-files.ts'
import { type PageRoute } from './pages.ts'
import { parseSearch, stringifySearch } from './search-params.ts'
import { mayOpen, sessionUser } from '../session.ts'
import { onSignInRequired } from './sign-in-redirect.ts'
import { BrokenPage, NotFoundPage } from '../shell/error-pages.tsx'
import { Layout } from '../shell/layout.tsx'
import { Loading } from '../../ui/loading.tsx'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Address to return to after sign-in. */
    from?: string
  }
  interface StaticDataRouteOption {
    page?: PageRoute
  }
}

/** Creates the router for the route table. */
export function createConsoleRouter(pages: readonly PageRoute[]) {
  const root = createRootRoute({ component: Layout, notFoundComponent: NotFoundPage })
  const withQueries = createRoute({
    getParentRoute: () => root,
    id: 'with-queries',
    component: lazyRouteComponent(() => import('../queries.tsx'), 'WithQueries'),
  })
  const toRoute = (page: PageRoute) =>
    createRoute({
      getParentRoute: () => (page.isLight ? root : withQueries),
      path: page.path,
      component: page.component,
      staticData: { page },
      beforeLoad: async ({ location, preload }) => {
        if (!preload && page.access !== 'anyone' && !mayOpen('user', sessionUser())) {
          throw redirect({ to: paths.login, state: { from: location.href }, replace: true })
        }
        await loadMissingSheets()
      },
    })
  const router = createRouter({
    routeTree: root.addChildren([
      ...pages.filter((page) => page.isLight).map(toRoute),
      withQueries.addChildren(pages.filter((page) => !page.isLight).map(toRoute)),
    ]),
    basepath: basePath(),
    parseSearch,
    stringifySearch,
    defaultPreload: 'intent',
    defaultPendingMs: 150,
    defaultPendingMinMs: 200,
    defaultPendingComponent: Loading,
    defaultErrorComponent: BrokenPage,
    defaultNotFoundComponent: NotFoundPage,
    scrollRestoration: true,
  })
  onSignInRequired((isExpired) => {
    // The target of a navigation in progress, not the page that is still visible.
    const { pathname, href } = router.latestLocation
    if (pathname === paths.login) return
    void router.navigate({
      to: paths.login,
      search: isExpired ? { expired: 'true' } : {},
      state: { from: href },
      replace: true,
    })
  })
  return router
}
