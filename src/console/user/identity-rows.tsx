import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { TFunction } from 'i18next'
import { useTranslation } from 'react-i18next'
import type { ExternalIdentity } from '../../contract/oauth-api.ts'
import { isPreset } from '../../contract/oauth.ts'
import { presetProviders } from '../../contract/option/sign-in-providers.ts'
import type { User } from '../../contract/user-api.ts'
import { call } from '../app/call.ts'
import type { KnownStatus } from '../app/known-status.ts'
import { sessionUser } from '../app/session.ts'
import { useHasFeature, useStatus } from '../app/status.ts'
import { stampText } from '../app/time.ts'
import { toast } from '../app/toast.ts'
import { ConfirmAction } from '../ui/actions.tsx'
import { FactRow } from '../ui/form.tsx'
import styles from './user.module.css'

/**
 * Whether the reader can see and unlink this user's external accounts; false for the reader's own
 * account.
 */
export function useManagesIdentities(user: User): boolean {
  const hasFeature = useHasFeature()
  return hasFeature('user-identities') && user.id !== sessionUser()?.id
}

/** External accounts of another user, which can be unlinked. */
export function IdentityRows({ user: { id, username } }: { user: User }) {
  const { t } = useTranslation()
  const status = useStatus()
  const client = useQueryClient()
  const queryKey = ['identities', id]
  const { data = [] } = useQuery({
    queryKey,
    queryFn: ({ signal }) => call('GET /api/user/:id/identities', { params: { id } }, { signal }),
  })
  async function unlink({ provider }: ExternalIdentity) {
    await call('DELETE /api/user/:id/identities', { params: { id }, query: { provider } }).finally(
      () => client.invalidateQueries({ queryKey }),
    )
    toast.success(t('已解除绑定'))
    // The user's row shows some of the accounts too.
    await client.invalidateQueries({ queryKey: ['user', String(id)] })
  }
  return data.map((identity) => {
    const name = providerName(identity.provider, status, t)
    return (
      <FactRow key={identity.provider} label={name}>
        <span className={styles['identity']}>
          <span>{identity.label}</span>
          {identity.linked_at > 0 && (
            <span className={styles['quiet']}>
              {t('绑定于 {{time}}', { time: stampText(identity.linked_at) })}
            </span>
          )}
          <ConfirmAction
            label={t('解除绑定')}
            question={t('解除 {{name}} 的 {{provider}} 账户？之后不能再用它登录，现有登录会失效', {
              name: username,
              provider: name,
            })}
            confirmLabel={t('解除')}
            onClick={() => unlink(identity)}
          />
        </span>
      </FactRow>
    )
  })
}

/** Name of a provider for readers, also of one that was removed from the settings. */
function providerName(
  provider: ExternalIdentity['provider'],
  { gatehouse }: KnownStatus,
  t: TFunction,
): string {
  switch (provider) {
    case 'github':
      return 'GitHub'
    case 'lark':
      return t('飞书')
    case 'oidc':
      return 'OIDC'
    case 'wechat':
      return t('微信')
    default: {
      const listed = gatehouse?.sign_in_providers?.find((one) => one.provider === provider)
      if (listed !== undefined) return listed.title
      return isPreset(provider) ? presetProviders[provider].title : provider.replace('oidc/', '')
    }
  }
}
