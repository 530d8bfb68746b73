import { useLocation, useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { usePages } from '../app/routing/pages.ts'
import { sessionUser } from '../app/session.ts'
import { targetAfterLogin } from './after-login.ts'

/** Redirects a user who is already signed in away from pages such as sign-in and registration. */
export function useRedirectSignedIn(from?: string) {
  const navigate = useNavigate()
  const pages = usePages()
  const isLeaving = useLocation({ select: ({ state }) => state.isSigningOut === true })
  // Read once: signing in on this page redirects by itself.
  const [user] = useState(sessionUser)
  useEffect(() => {
    if (user === null || isLeaving) return
    void navigate({ ...targetAfterLogin(from, user, pages), replace: true })
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- once, when the page opens
  }, [])
}
