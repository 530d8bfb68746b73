import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { selfQuery } from '../app/self.ts'
import { Loading } from '../ui/loading.tsx'
import { LoadError } from '../ui/states.tsx'
import { AccessTokenPanel } from './personal/access-token-panel.tsx'
import { AccountPanel } from './personal/account-panel.tsx'
import { BindingPanel } from './personal/binding-panel.tsx'
import { ModelPanel } from './personal/model-panel.tsx'
import { PasskeyPanel } from './personal/passkey-panel.tsx'
import { SecondFactorPanel } from './personal/second-factor-panel.tsx'
import { SessionPanel } from './personal/session-panel.tsx'
import styles from './personal/personal.module.css'

/** Settings of the signed-in user's account. */
export function PersonalSettings() {
  const { t } = useTranslation()
  const { data: self, error, refetch } = useQuery(selfQuery)
  if (error !== null && self === undefined) {
    return <LoadError what={t('个人信息')} error={error} onRetry={() => void refetch()} />
  }
  if (self === undefined) return <Loading prompt={t('个人信息')} />
  return (
    <div className={styles['panels']}>
      <AccountPanel self={self} />
      <BindingPanel self={self} />
      <SecondFactorPanel />
      <PasskeyPanel />
      <SessionPanel />
      <AccessTokenPanel />
      <ModelPanel />
    </div>
  )
}
