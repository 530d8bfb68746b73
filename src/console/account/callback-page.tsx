import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { BOUND_MESSAGE, type RedirectingProvider } from '../../contract/oauth.ts'
import { CallFailure } from '../app/call-client.ts'
import { callWhole } from '../app/call.ts'
import { setSessionUser, toSessionUser } from '../app/session.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import styles from './account.module.css'
import { secondStep } from './code-form.tsx'
import { mayRetry, RETRIES_MAX, waitMs } from './callback-retry.ts'

const PROVIDERS: Record<RedirectingProvider, string> = { github: 'GitHub', lark: '', oidc: 'OIDC' }

interface CallbackQuery {
  code?: string
  state?: string
  error?: string
  iss?: string
}

const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Redirect target of external providers. An error response shows its message and leads to the
 * settings; a request without a response is retried a few times.
 */
function Callback({ provider }: { provider: RedirectingProvider }) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  // The query is untrusted: any text is possible.
  const {
    code = '',
    state = '',
    error = '',
    iss = '',
  }: CallbackQuery = useSearch({ strict: false })
  const [attempt, setAttempt] = useState(0)
  // The code can be used once, so only the first effect sends it.
  const isSent = useRef(false)

  useEffect(() => {
    if (isSent.current) return
    isSent.current = true
    const query = { code, state, error, iss }

    async function comeBack(made: number): Promise<void> {
      try {
        const { data, message } = await callWhole(`GET /api/oauth/${provider}`, { query })
        if (message === BOUND_MESSAGE) {
          toast.success(t('绑定成功！'))
          await navigate({ to: paths.setting, replace: true })
          return
        }
        if (data?.require_2fa === true) {
          await navigate({ to: paths.login, search: secondStep(data), replace: true })
          return
        }
        const user = toSessionUser(data ?? null)
        if (user !== null) setSessionUser(user)
        toast.success(t('登录成功！'))
        await navigate({ to: paths.home, replace: true })
      } catch (failure) {
        if (!(failure instanceof CallFailure)) throw failure
        if (!mayRetry(failure, made)) {
          await navigate({ to: paths.setting, replace: true })
          return
        }
        setAttempt(made + 1)
        await delay(waitMs(made + 1))
        await comeBack(made + 1)
      }
    }
    void comeBack(0)
  }, [provider, code, state, error, iss, navigate, t])

  const name = PROVIDERS[provider] || t('飞书')
  return (
    <section className={styles['trip']}>
      <h1>{t('{{name}} 登录', { name })}</h1>
      <output>
        {attempt === 0
          ? t('处理中…')
          : t('出现错误，第 {{attempt}} 次重试中（最多 {{max}} 次）…', {
              attempt,
              max: RETRIES_MAX,
            })}
      </output>
    </section>
  )
}

export const GithubCallbackPage = () => <Callback provider="github" />
export const LarkCallbackPage = () => <Callback provider="lark" />
export const OidcCallbackPage = () => <Callback provider="oidc" />
