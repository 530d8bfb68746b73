import { type ReactNode, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { useNavigate } from '@tanstack/react-router'
import type { RedirectingProvider } from '../../contract/oauth.ts'
import { call } from '../app/call.ts'
import { usePages } from '../app/routing/pages.ts'
import { setSessionUser, toSessionUser } from '../app/session.ts'
import { goToProvider } from '../app/sign-in/external-trip.ts'
import { WechatDialog } from '../app/sign-in/wechat-dialog.tsx'
import { useStatus } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import styles from './account.module.css'
import { targetAfterLogin } from './after-login.ts'
import { secondStep } from './code-form.tsx'

/** Sign-in methods besides the password, as far as the installation offers them. */
export function ExternalSignIn({ from }: { from: string | undefined }) {
  const { t } = useTranslation()
  const status = useStatus()
  const [asksCode, setAsksCode] = useState(false)
  const hasGithub = status.github_oauth === true
  const hasWechat = status.wechat_login === true
  const hasLark = Boolean(status.lark_client_id)
  const hasOidc = status.oidc === true
  const listed = status.gatehouse?.sign_in_providers ?? []
  if (!hasGithub && !hasWechat && !hasLark && !hasOidc && listed.length === 0) return null
  return (
    <>
      <p className={styles['or']}>{t('或')}</p>
      <div className={styles['providers']}>
        {hasGithub && (
          <ProviderButton provider="github" label={t('使用 GitHub 登录')}>
            G
          </ProviderButton>
        )}
        {hasWechat && (
          <button
            type="button"
            className={styles['provider']}
            title={t('使用微信登录')}
            aria-label={t('使用微信登录')}
            aria-haspopup="dialog"
            onClick={() => setAsksCode(true)}
          >
            {t('微')}
          </button>
        )}
        {hasLark && (
          <ProviderButton provider="lark" label={t('使用飞书登录')}>
            {t('飞')}
          </ProviderButton>
        )}
        {hasOidc && (
          <ProviderButton provider="oidc" label={t('使用 OIDC 登录')}>
            ID
          </ProviderButton>
        )}
        {listed.map(({ provider, title, icon, color }) => (
          <ProviderButton
            key={provider}
            provider={provider}
            label={t('使用 {{name}} 登录', { name: title })}
            color={color}
          >
            {icon}
          </ProviderButton>
        ))}
      </div>
      {asksCode && <WechatSignIn from={from} onClose={() => setAsksCode(false)} />}
    </>
  )
}

interface ProviderButtonProps {
  provider: RedirectingProvider
  label: string
  color?: string
  children: ReactNode
}

function ProviderButton({ provider, label, color = '', children }: ProviderButtonProps) {
  const status = useStatus()
  const [isLeaving, setIsLeaving] = useState(false)
  async function leave() {
    setIsLeaving(true)
    await goToProvider(provider, 'login', status)
    setIsLeaving(false)
  }
  return (
    <button
      type="button"
      className={styles['provider']}
      title={label}
      aria-label={label}
      data-color={color}
      aria-disabled={isLeaving}
      onClick={() => !isLeaving && void leave()}
    >
      {children}
    </button>
  )
}

function WechatSignIn({ from, onClose }: { from: string | undefined; onClose: () => void }) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const pages = usePages()
  async function signIn(code: string) {
    const signedIn = await call('GET /api/oauth/wechat', { query: { code } })
    onClose()
    if (signedIn.require_2fa === true) {
      const state = from === undefined ? {} : { from }
      await navigate({ to: paths.login, search: secondStep(signedIn), state })
      return
    }
    const user = toSessionUser(signedIn)
    if (user === null) return
    setSessionUser(user)
    toast.success(t('登录成功！'))
    await navigate({ ...targetAfterLogin(from, user, pages), replace: true })
  }
  return (
    <WechatDialog title={t('微信登录')} submitLabel={t('登录')} onCode={signIn} onClose={onClose} />
  )
}
