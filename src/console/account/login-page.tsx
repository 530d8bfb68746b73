import { Link, useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { SignedIn } from '../../contract/user-api.ts'
import { CallFailure } from '../app/call-client.ts'
import { call } from '../app/call.ts'
import { translateErrors, useFieldErrors } from '../app/sign-in/field-errors.ts'
import { mark } from '../app/i18n.ts'
import { type PageRoute, useHasPage, usePages } from '../app/routing/pages.ts'
import { sessionUser, setSessionUser, toSessionUser } from '../app/session.ts'
import { systemName, useMayRegister, useStatus } from '../app/status.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import { focusFirst } from '../ui/field/focus-first.ts'
import { PlainField, PlainSubmit } from '../ui/field/plain-field.tsx'
import styles from './account.module.css'
import { targetAfterLogin, hasDefaultPassword } from './after-login.ts'
import { CodeForm, OtherAccount, secondStep } from './code-form.tsx'
import { PasskeyButton } from './passkey-button.tsx'
import { useRedirectSignedIn } from './redirect-signed-in.ts'
import { ExternalSignIn } from './external-sign-in.tsx'

type Fields = Record<'username' | 'password', string>

function missingFields({ username, password }: Fields): Map<keyof Fields, string> {
  const missing = new Map<keyof Fields, string>()
  if (username === '') missing.set('username', mark('请输入用户名或邮箱'))
  if (password === '') missing.set('password', mark('请输入密码'))
  return missing
}

function useSignIn(pages: readonly PageRoute[]) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const from = useLocation({ select: (location) => location.state.from })
  return async (signedIn: SignedIn, fields: Fields) => {
    if (signedIn.require_2fa === true) {
      const state = from === undefined ? {} : { from }
      await navigate({ to: paths.login, search: secondStep(signedIn), state })
      return
    }
    const mustChange = hasDefaultPassword(fields, signedIn.must_change_password)
    const user = toSessionUser({ ...signedIn, must_change_password: mustChange })
    if (user === null) return
    setSessionUser(user)
    if (mustChange) {
      toast.warning(t('请立刻修改默认密码！'))
      await navigate({ to: paths.profile, replace: true })
      return
    }
    toast.success(t('登录成功！'))
    await navigate({ ...targetAfterLogin(from, user, pages), replace: true })
  }
}

/** A provider's window signs in for all tabs: continues here when another tab has signed in. */
function useSignInElsewhere(from: string | undefined) {
  const navigate = useNavigate()
  const pages = usePages()
  useEffect(() => {
    const onStorage = (event: StorageEvent) => {
      const user = sessionUser()
      if (event.key !== 'user' || user === null) return
      void navigate({ ...targetAfterLogin(from, user, pages), replace: true })
    }
    window.addEventListener('storage', onStorage)
    return () => window.removeEventListener('storage', onStorage)
  }, [from, navigate, pages])
}

function LoginForm() {
  const { t } = useTranslation()
  const hasPage = useHasPage()
  const signIn = useSignIn(usePages())
  const [fields, setFields] = useState<Fields>({ username: '', password: '' })
  const missing = useFieldErrors<Fields>((form) => translateErrors(missingFields(form), t))
  const [failure, setFailure] = useState('')
  const [isBusy, setIsBusy] = useState(false)

  async function submit(event: FormEvent) {
    event.preventDefault()
    const first = missing.checkAll(fields)
    setFailure('')
    if (first !== undefined) {
      toast.warning(first)
      return
    }
    setIsBusy(true)
    try {
      await signIn(await call('POST /api/user/login', { body: fields }), fields)
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setFailure(error.message)
    } finally {
      setIsBusy(false)
    }
  }

  function change(field: keyof Fields, text: string) {
    setFields({ ...fields, [field]: text })
    setFailure('')
    missing.changed(field)
  }
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className={styles['form']}>
      <PlainField
        label={t('用户名或邮箱')}
        name="username"
        autoComplete="username"
        ref={focusFirst}
        value={fields.username}
        error={missing.errors.username}
        onChange={(event) => change('username', event.currentTarget.value)}
      />
      <div className={styles['withCorner']}>
        {hasPage(paths.reset) && (
          <Link to={paths.reset} className={styles['corner']}>
            {t('忘记密码')}
          </Link>
        )}
        <PlainField
          label={t('密码')}
          type="password"
          name="password"
          autoComplete="current-password"
          value={fields.password}
          error={missing.errors.password}
          onChange={(event) => change('password', event.currentTarget.value)}
        />
      </div>
      {failure !== '' && <p className={styles['failure']}>{failure}</p>}
      <PlainSubmit label={t('登录')} isBusy={isBusy} />
    </form>
  )
}

export function LoginPage() {
  const { t } = useTranslation()
  const hasPage = useHasPage()
  const mayRegister = useMayRegister()
  const name = systemName(useStatus())
  // The query is untrusted: any text is possible.
  const { expired, step }: { expired?: string; step?: string } = useSearch({ strict: false })
  const signIn = useSignIn(usePages())
  const from = useLocation({ select: (location) => location.state.from })
  useSignInElsewhere(from)
  useRedirectSignedIn(from)
  const signInAlone = (user: SignedIn) => signIn(user, { username: '', password: '' })
  if (step === 'code' || step === 'passkey' || step === 'either') {
    return (
      <section className={styles['card']}>
        <h1>{t('两步验证')}</h1>
        {step === 'passkey' ? (
          <p className={styles['aside']}>{t('请使用您的通行密钥完成登录')}</p>
        ) : (
          <CodeForm onSignedIn={signInAlone} />
        )}
        {step !== 'code' && <PasskeyButton onSignedIn={signInAlone} />}
        <OtherAccount />
      </section>
    )
  }
  return (
    <section className={styles['card']}>
      <h1>{t('登录 {{name}}', { name })}</h1>
      {mayRegister && hasPage(paths.register) && (
        <p className={styles['aside']}>
          {t('还没有账户？')}
          <Link to={paths.register}>{t('注册')}</Link>
        </p>
      )}
      {expired === 'true' && (
        <p role="alert" className={styles['note']}>
          {t('未登录或登录已过期，请重新登录！')}
        </p>
      )}
      <LoginForm />
      <PasskeyButton onSignedIn={signInAlone} />
      <ExternalSignIn from={from} />
    </section>
  )
}
