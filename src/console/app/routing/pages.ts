import { type AsyncRouteComponent, useMatch, useRouter } from '@tanstack/react-router'
import { createContext, use } from 'react'
import type { PageAccess } from '../session.ts'
import { withoutTrailing } from '../../../contract/text.ts'

/** A row of the route table. */
export interface PageRoute {
  /** Pattern; `$id` matches one segment. */
  path: string
  access: PageAccess
  /** Chinese; translated where displayed. */
  title: string
  component: AsyncRouteComponent<object>
  /** Listed in the top bar by its title. */
  inMenu?: boolean
  /** Path of the menu entry for this page; its own if not set. */
  under?: string
  /** Loads without the query cache: its only request is the one that its button sends. */
  isLight?: boolean
}

/** The route table, for components that render links: a link must lead to an existing page. */
export const PagesContext = createContext<readonly PageRoute[]>([])

export const usePages = (): readonly PageRoute[] => use(PagesContext)

export function useHasPage(): (path: string) => boolean {
  const pages = usePages()
  return (path) => pages.some((page) => page.path === path)
}

/** Returns the page of a path, static segments before `$id`; null for an unknown path. */
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
 * Returns a function that checks whether the caller's page is still the current location. A page
 * stays visible while the next one loads, and must not navigate then.
 */
export function useIsHere(): () => boolean {
  const router = useRouter()
  const path = useMatch({ strict: false, select: ({ pathname }) => pathname })
  return () => withoutSlash(router.latestLocation.pathname) === withoutSlash(path)
}
