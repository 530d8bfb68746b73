import { useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import type { User } from '../../contract/user-api.ts'
import { call } from '../app/call.ts'
import { sessionUser } from '../app/session.ts'
import { toast } from '../app/toast.ts'
import { ConfirmAction } from '../ui/actions.tsx'
import { FactRow } from '../ui/form.tsx'

/** Removes the second factor of a user who has lost it. Users turn off their own by a code. */
export function SecondFactorRow({ user }: { user: User }) {
  const { t } = useTranslation()
  const client = useQueryClient()
  async function reset() {
    await call('DELETE /api/user/:id/2fa', { params: { id: user.id } })
    toast.success(t('两步验证已重置'))
    await client.invalidateQueries({ queryKey: ['user', String(user.id)] })
  }
  return (
    <FactRow label={t('两步验证')}>
      {user.id === sessionUser()?.id ? (
        t('已启用')
      ) : (
        <ConfirmAction
          label={t('重置两步验证')}
          question={t(
            '重置 {{name}} 的两步验证并删除通行密钥？之后凭密码即可登录，现有登录会失效',
            {
              name: user.username,
            },
          )}
          confirmLabel={t('重置')}
          onClick={reset}
        />
      )}
    </FactRow>
  )
}
