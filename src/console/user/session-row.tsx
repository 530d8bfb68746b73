import { useTranslation } from 'react-i18next'
import type { User } from '../../contract/user-api.ts'
import { call } from '../app/call.ts'
import { sessionUser } from '../app/session.ts'
import { useHasFeature } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { ConfirmAction } from '../ui/actions.tsx'
import { FactRow } from '../ui/form.tsx'

/** Ends the sessions of another user. Users end their own in the personal settings. */
export function SessionRow({ user }: { user: User }) {
  const { t } = useTranslation()
  const hasFeature = useHasFeature()
  if (user.id === sessionUser()?.id || !hasFeature('user-sessions')) return null
  async function end() {
    await call('DELETE /api/user/:id/sessions', { params: { id: user.id } })
    toast.success(t('已退出该用户的全部登录'))
  }
  return (
    <FactRow label={t('登录设备')}>
      <ConfirmAction
        label={t('退出全部登录')}
        question={t('退出 {{name}} 在所有设备上的登录？令牌和系统访问令牌不受影响', {
          name: user.username,
        })}
        confirmLabel={t('退出')}
        onClick={end}
      />
    </FactRow>
  )
}
