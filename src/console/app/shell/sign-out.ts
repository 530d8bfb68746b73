import { useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { paths } from '../../paths.ts'
import { call } from '../call.ts'
import { setSessionUser } from '../session.ts'
import { toast } from '../toast.ts'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** The sign-in page opens while the session is still being ended. */
    isSigningOut?: boolean
  }
}

/**
 * Ends the session on the server and in the browser. If the server cannot be reached, this is
 * reported and the session stays.
 */
export function useSignOut(): () => Promise<void> {
  const navigate = useNavigate()
  const { t } = useTranslation()
  return async () => {
    try {
      await call('GET /api/user/logout')
    } catch {
      return
    }
    await navigate({ to: paths.login, state: { isSigningOut: true } })
    setSessionUser(null)
    toast.success(t('已退出登录'))
  }
}
