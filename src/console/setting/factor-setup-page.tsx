import { useQueryClient } from '@tanstack/react-query'
import { useLocation, useNavigate } from '@tanstack/react-router'
import { useTranslation } from 'react-i18next'
import { selfQuery } from '../app/self.ts'
import { parseSearch } from '../app/routing/search-params.ts'
import { sessionUser, setSessionUser } from '../app/session.ts'
import { paths } from '../paths.ts'
import { Page } from '../ui/page.tsx'
import { PasskeyPanel } from './personal/passkey-panel.tsx'
import styles from './personal/personal.module.css'
import { SecondFactorPanel } from './personal/second-factor-panel.tsx'

/** Where an account must set up a second factor before it can do anything else. */
export function FactorSetupPage() {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const client = useQueryClient()
  const from = useLocation({ select: (location) => location.state.from ?? paths.token })
  async function goOn() {
    const user = sessionUser()
    if (user !== null) setSessionUser({ ...user, must_set_up_second_factor: false })
    await client.invalidateQueries({ queryKey: selfQuery.queryKey })
    const [path = '', query = ''] = from.split('?')
    await navigate({ to: path, search: parseSearch(query), replace: true })
  }
  return (
    <Page title={t('启用两步验证')}>
      <p role="note" className={styles['required']}>
        {t(
          '管理员要求您的账户启用两步验证。请任选一种：启用身份验证器应用，或添加通行密钥。之后即可使用控制台',
        )}
      </p>
      <div className={styles['panels']}>
        <SecondFactorPanel onEnabled={() => void goOn()} />
        <PasskeyPanel onAdded={() => void goOn()} />
      </div>
    </Page>
  )
}
