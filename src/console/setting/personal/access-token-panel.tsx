import { useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { AccessToken } from '../../../contract/access-token-api.ts'
import { AccessTokenList } from '../../app/access-token/access-token-list.tsx'
import { call } from '../../app/call.ts'
import { useHasFeature } from '../../app/status.ts'
import { toast } from '../../app/toast.ts'
import { Action } from '../../ui/actions.tsx'
import { Panel } from '../../ui/page.tsx'
import { LoadError } from '../../ui/states.tsx'
import styles from './personal.module.css'

const AccessTokenDialog = lazy(async () => ({
  default: (await import('./access-token-dialog.tsx')).AccessTokenDialog,
}))

const LIST = ['access-tokens', 'self']

/** System access tokens of the own account: list, create, revoke. */
export function AccessTokenPanel() {
  const hasFeature = useHasFeature()
  return hasFeature('access-tokens') ? <AccessTokens /> : null
}

function AccessTokens() {
  const { t } = useTranslation()
  const client = useQueryClient()
  const [isOpen, setIsOpen] = useState(false)
  const { data, error, refetch } = useQuery({
    queryKey: LIST,
    queryFn: ({ signal }) => call('GET /api/user/access_tokens', {}, { signal }),
  })
  // The panel of the account shows whether the token of the wire exists.
  const refresh = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: LIST }),
      client.invalidateQueries({ queryKey: ['self'] }),
    ])
  async function revoke({ id }: AccessToken) {
    // Refreshed in any case: it may have been revoked elsewhere.
    await call('DELETE /api/user/access_tokens/:token', { params: { token: id } }).finally(refresh)
    toast.success(t('系统访问令牌已撤销'))
  }
  return (
    <Panel title={t('系统访问令牌')}>
      {error !== null && data === undefined && (
        <LoadError what={t('系统访问令牌')} error={error} onRetry={() => void refetch()} />
      )}
      <p className={styles['hint']}>
        {t('程序凭它调用管理接口。为每个程序单独建一个，只给所需的权限')}
      </p>
      {data !== undefined && <AccessTokenList tokens={data} onRevoke={revoke} />}
      <div className={styles['actions']}>
        <Action label={t('新建系统访问令牌')} onClick={() => setIsOpen(true)} />
      </div>
      <Suspense>
        {isOpen && <AccessTokenDialog onClose={() => setIsOpen(false)} onMade={refresh} />}
      </Suspense>
    </Panel>
  )
}
