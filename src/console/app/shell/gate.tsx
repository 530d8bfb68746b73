import { useLocation, useNavigate } from '@tanstack/react-router'
import { Fragment, type ReactNode, useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { paths } from '../../paths.ts'
import { toast } from '../toast.ts'
import { mayOpen, type PageAccess, useSessionUser } from '../session.ts'
import { goToSignIn } from '../routing/sign-in-redirect.ts'
import { ForbiddenPage } from './error-pages.tsx'

/** Shows a page to permitted users, and reacts to sign-out and role changes. */
export function Gate({ access, children }: { access: PageAccess; children: ReactNode }) {
  const user = useSessionUser()
  const navigate = useNavigate()
  const pathname = useLocation({ select: (location) => location.pathname })
  const href = useLocation({ select: (location) => location.href })
  // A user who was signed in when this page opened and no longer is has lost the session.
  const wasSignedIn = useRef(false)
  const lastUser = useRef(user)
  const { t } = useTranslation()
  const isGuarded = access !== 'anyone'
  const needsSignIn = isGuarded && user === null
  const needsPassword =
    isGuarded && user?.must_change_password === true && pathname !== paths.profile
  const needsFactor =
    isGuarded &&
    !needsPassword &&
    user?.must_set_up_second_factor === true &&
    pathname !== paths.factorSetup &&
    pathname !== paths.profile
  useEffect(() => {
    if (user !== null) wasSignedIn.current = true
    if (needsSignIn) goToSignIn(wasSignedIn.current)
    if (needsPassword) void navigate({ to: paths.profile, replace: true })
    if (needsFactor) {
      void navigate({ to: paths.factorSetup, state: { from: href }, replace: true })
    }
  }, [user, needsSignIn, needsPassword, needsFactor, href, navigate])

  useEffect(() => {
    const isOther = user !== null && lastUser.current !== null && lastUser.current.id !== user.id
    lastUser.current = user
    if (isOther && isGuarded) {
      toast.info(t('已在另一个标签页登录账户「{{name}}」，本页也随之切换', { name: user.username }))
    }
  }, [user, isGuarded, t])

  if (needsSignIn || needsPassword || needsFactor) return null
  if (!mayOpen(access, user)) return <ForbiddenPage access={access} />
  // Remounts for another user, so that one user's input is never sent as another user.
  return <Fragment key={isGuarded ? user?.id : undefined}>{children}</Fragment>
}
