import { DEFAULT_PASSWORD, ROOT_USERNAME } from '../../contract/user.ts'
import { type PageRoute, pageAt } from '../app/routing/pages.ts'
import { parseSearch } from '../app/routing/search-params.ts'
import { mayOpen, type SessionUser } from '../app/session.ts'
import { paths } from '../paths.ts'

/**
 * Whether the password must be changed before anything else. Gatehouse reports this; for a One API
 * server it is derived from the credentials that were just entered.
 */
export function hasDefaultPassword(
  typed: { username: string; password: string },
  serverSays: boolean | undefined,
): boolean {
  return (
    serverSays === true || (typed.username === ROOT_USERNAME && typed.password === DEFAULT_PASSWORD)
  )
}

export interface Place {
  to: string
  search: Record<string, string>
}

/**
 * Returns the redirect target after sign-in: `from` if the user may open that page, else the tokens
 * page. `from` is a path with query within the console.
 */
export function targetAfterLogin(
  from: string | undefined,
  user: SessionUser,
  pages: readonly PageRoute[],
): Place {
  const [path = '', query = ''] = (from ?? '').split('#', 1).join().split('?')
  const page = /^\/(?!\/)/.test(path) ? pageAt(path, pages) : null
  const isWelcome = page !== null && page.path !== paths.login && mayOpen(page.access, user)
  return isWelcome ? { to: path, search: parseSearch(query) } : { to: paths.token, search: {} }
}
