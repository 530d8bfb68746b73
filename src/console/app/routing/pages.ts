import { type AsyncRouteComponent, useMatch, useRouter } from '@tanstack/react-router'
import { createContext, use } from 'react'
import type { PageAccess } from '../session.ts'
import { withoutTrailing } from '../../../contract/text.ts'

/** One row of the route table. */
export interface PageRoute {
  /** Pattern; `$id` stands for one segment. */
  path: string
  access: PageAccess
  /** Chinese; translated where shown. */
  title: string
  component: AsyncRouteComponent<object>
  /** Shown in the top bar under its title. */
  inMenu?: boolean
  /** The menu entry this page belongs to; absent: itself. */
  under?: string
  /** Asks nothing of the server but the call its own button makes: loads without the query cache. */
  isLight?: boolean
}

/** The route table, for whoever shows links: nothing may link to a page that is not there. */
export const PagesContext = createContext<readonly PageRoute[]>([])

export const usePages = (): readonly PageRoute[] => use(PagesContext)

export function useHasPage(): (path: string) => boolean {
  const pages = usePages()
  return (path) => pages.some((page) => page.path === path)
}

/** The page a path leads to, static segments before `$id`; null when there is none. */
export function pageAt(path: string, pages: readonly PageRoute[]): PageRoute | null {
  const segments = path.split('/').filter((segment) => segment !== '')
  const fits = (page: PageRoute) => {
    const wanted = page.path.split('/').filter((segment) => segment !== '')
    return (
      wanted.length === segments.length &&
      wanted.every((segment, i) => segment.startsWith('$') || segment === segments[i])
    )
  }
  return pages.find((page) => page.path === path) ?? pages.find(fits) ?? null
}

const withoutSlash = (path: string): string => withoutTrailing(path, '/')

/**
 * Asks whether the reader is still at the page that calls this. It stays in view while the next one
 * is on its way, and must not lead elsewhere whoever has left it.
 */
export function useIsHere(): () => boolean {
  const router = useRouter()
  const path = useMatch({ strict: false, select: ({ pathname }) => pathname })
  return () => withoutSlash(router.latestLocation.pathname) === withoutSlash(path)
}
