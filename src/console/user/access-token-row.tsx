import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import type { User } from '../../contract/user-api.ts'
import { AccessTokenList } from '../app/access-token/access-token-list.tsx'
import { call } from '../app/call.ts'
import { sessionUser } from '../app/session.ts'
import { useHasFeature } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { FactRow } from '../ui/form.tsx'

/** Access tokens of another user, which can be revoked. Users manage their own in the settings. */
export function AccessTokenRow({ user }: { user: User }) {
  const hasFeature = useHasFeature()
  const isOwn = user.id === sessionUser()?.id
  return !isOwn && hasFeature('access-tokens') ? <AccessTokens user={user} /> : null
}

function AccessTokens({ user: { id } }: { user: User }) {
  const { t } = useTranslation()
  const client = useQueryClient()
  const queryKey = ['access-tokens', id]
  const { data = [] } = useQuery({
    queryKey,
    queryFn: ({ signal }) =>
      call('GET /api/user/:id/access_tokens', { params: { id } }, { signal }),
  })
  if (data.length === 0) return null
  return (
    <FactRow label={t('系统访问令牌')}>
      <AccessTokenList
        tokens={data}
        onRevoke={async ({ id: token }) => {
          await call('DELETE /api/user/:id/access_tokens/:token', {
            params: { id, token },
          }).finally(() => client.invalidateQueries({ queryKey }))
          toast.success(t('系统访问令牌已撤销'))
        }}
      />
    </FactRow>
  )
}
