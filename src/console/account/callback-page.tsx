import { useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { BOUND_MESSAGE, type RedirectingProvider } from '../../contract/oauth.ts'
import { CallFailure } from '../app/call-client.ts'
import { callWhole } from '../app/call.ts'
import { setSessionUser, toSessionUser } from '../app/session.ts'
import { useStatus } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import styles from './account.module.css'
import { secondStep } from './code-form.tsx'
import { mayRetry, RETRIES_MAX, waitMs } from './callback-retry.ts'

/** Sends the request of a provider's callback. */
function finish(provider: RedirectingProvider, query: Required<CallbackQuery>) {
  if (!provider.startsWith('oidc/')) {
    // All names without the prefix `oidc/` have a path of their own.
    return callWhole(`GET /api/oauth/${provider as UnnamedProvider}`, { query })
  }
  const params = { name: provider.slice('oidc/'.length) }
  return callWhole('GET /api/oauth/oidc/:name', { params, query })
}

type UnnamedProvider = Exclude<RedirectingProvider, `oidc/${string}`>

const NAMES: Readonly<Record<string, string>> = { github: 'GitHub', oidc: 'OIDC' }

/** Name of a provider, as the status shows it. */
function useProviderName(provider: RedirectingProvider): string {
  const { t } = useTranslation()
  const { gatehouse } = useStatus()
  const listed = gatehouse?.sign_in_providers?.find((entry) => entry.provider === provider)
  if (listed !== undefined) return listed.title
  return provider === 'lark' ? t('飞书') : (NAMES[provider] ?? provider.replace('oidc/', ''))
}

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
        const { data, message } = await finish(provider, query)
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

  const name = useProviderName(provider)
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
export const LinuxdoCallbackPage = () => <Callback provider="linuxdo" />
export const DiscordCallbackPage = () => <Callback provider="discord" />

export function NamedCallbackPage() {
  const { name = '' }: { name?: string } = useParams({ strict: false })
  return <Callback provider={`oidc/${name}`} />
}
