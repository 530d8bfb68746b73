import { Navigate, useLocation } from '@tanstack/react-router'
import { type ReactNode, useRef } from 'react'
import { paths } from '../../paths.ts'
import { mayOpen, type PageAccess, useSessionUser } from '../session.ts'
import { ForbiddenPage } from './error-pages.tsx'

/** Shows a page to those who may see it, and follows sign-out and role as they change. */
export function Gate({ access, children }: { access: PageAccess; children: ReactNode }) {
  const user = useSessionUser()
  const { pathname, href } = useLocation()
  // Somebody who was signed in when this page opened and is not any more has lost the session.
  const wasSignedIn = useRef(false)
  if (user !== null) wasSignedIn.current = true
  if (access === 'anyone') return children
  if (user === null) {
    const search = wasSignedIn.current ? { expired: 'true' } : {}
    return <Navigate to={paths.login} search={search} state={{ from: href }} replace />
  }
  if (user.must_change_password && pathname !== paths.profile) {
    return <Navigate to={paths.profile} replace />
  }
  return mayOpen(access, user) ? children : <ForbiddenPage />
}
