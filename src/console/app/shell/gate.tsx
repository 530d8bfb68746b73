import { useLocation, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { paths } from '../../paths.ts'
import { mayOpen, type PageAccess, useSessionUser } from '../session.ts'
import { goToSignIn } from '../routing/sign-in-again.ts'
import { ForbiddenPage } from './error-pages.tsx'

/** Shows a page to those who may see it, and follows sign-out and role as they change. */
export function Gate({ access, children }: { access: PageAccess; children: ReactNode }) {
  const user = useSessionUser()
  const navigate = useNavigate()
  const pathname = useLocation({ select: (location) => location.pathname })
  // Somebody who was signed in when this page opened and is not any more has lost the session.
  const wasSignedIn = useRef(false)
  const isGuarded = access !== 'anyone'
  const needsSignIn = isGuarded && user === null
  const needsPassword =
    isGuarded && user?.must_change_password === true && pathname !== paths.profile
  useEffect(() => {
    if (user !== null) wasSignedIn.current = true
    if (needsSignIn) goToSignIn(wasSignedIn.current)
    if (needsPassword) void navigate({ to: paths.profile, replace: true })
  }, [user, needsSignIn, needsPassword, navigate])

  if (needsSignIn || needsPassword) return null
  return mayOpen(access, user) ? children : <ForbiddenPage access={access} />
}
