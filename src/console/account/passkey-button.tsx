import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { SignedIn } from '../../contract/user-api.ts'
import { CallFailure } from '../app/call-client.ts'
import { hasPasskeys, signInWithPasskey } from '../app/passkey.ts'
import { useHasFeature } from '../app/status.ts'
import styles from './account.module.css'

/** Signs in with a passkey; absent if browser or server does not support passkeys. */
export function PasskeyButton({ onSignedIn }: { onSignedIn: (user: SignedIn) => Promise<void> }) {
  const { t } = useTranslation()
  const hasFeature = useHasFeature()
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  if (!hasFeature('passkeys') || !hasPasskeys()) return null
  async function signIn() {
    setIsBusy(true)
    setProblem('')
    try {
      await onSignedIn(await signInWithPasskey())
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setProblem(error.message)
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <>
      <button
        type="button"
        className={styles['passkey']}
        aria-disabled={isBusy}
        aria-busy={isBusy}
        onClick={() => !isBusy && void signIn()}
      >
        {t('使用通行密钥登录')}
      </button>
      {problem !== '' && <p className={styles['failure']}>{problem}</p>}
    </>
  )
}
