import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallFailure } from '../app/call-client.ts'
import { call } from '../app/call.ts'
import { translateErrors, useFieldErrors } from '../app/sign-in/field-errors.ts'
import { HumanCheckField, useHumanCheck } from '../app/sign-in/human-check.tsx'
import { MailCodeFields } from '../app/sign-in/mail-code-field.tsx'
import { systemName, useStatus } from '../app/status.ts'
import { readStored, writeStored } from '../app/local-storage.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import { focusFirst } from '../ui/field/focus-first.ts'
import { PlainField, PlainSubmit } from '../ui/field/plain-field.tsx'
import styles from './account.module.css'
import { useRedirectSignedIn } from './redirect-signed-in.ts'
import { registerErrors, type RegisterForm } from './register-form.ts'

const EMPTY: RegisterForm = { username: '', password: '', password2: '', email: '', code: '' }

function useRegister() {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const check = useHumanCheck()
  const needsEmail = useStatus().email_verification === true
  const problems = useFieldErrors<RegisterForm>((form) =>
    translateErrors(registerErrors(form, { needsEmail }), t),
  )
  const [failure, setFailure] = useState('')
  const [isBusy, setIsBusy] = useState(false)

  async function register(form: RegisterForm) {
    const first = problems.checkAll(form)
    setFailure('')
    if (first !== undefined) toast.warning(first)
    if (first !== undefined || !check.isPassed()) return
    setIsBusy(true)
    const { username, password, password2, email, code } = form
    // An invitation from an earlier visit still applies.
    const aff_code = readStored('aff') ?? undefined
    const body = { username, password, password2, email: email.trim(), aff_code }
    try {
      await call('POST /api/user/register', {
        query: { turnstile: check.answer },
        body: { ...body, verification_code: code.trim() },
      })
      toast.success(t('注册成功！'))
      await navigate({ to: paths.login })
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setFailure(error.message)
      check.again()
    } finally {
      setIsBusy(false)
    }
  }
  return { register, problems, failure, setFailure, isBusy, check, needsEmail }
}

function RegisterFields() {
  const { t } = useTranslation()
  const [form, setForm] = useState(EMPTY)
  const { register, problems, failure, setFailure, isBusy, check, needsEmail } = useRegister()
  const { errors } = problems
  function change(part: Partial<RegisterForm>) {
    setForm({ ...form, ...part })
    setFailure('')
    // A password mismatch concerns both fields.
    const fields = (Object.keys(part) as (keyof RegisterForm)[]).filter(
      (field) => part[field] !== form[field],
    )
    problems.changed(...fields, ...(fields.includes('password') ? ['password2' as const] : []))
  }
  function submit(event: FormEvent) {
    event.preventDefault()
    void register(form)
  }
  return (
    <form onSubmit={submit} noValidate className={styles['form']}>
      <PlainField
        label={t('用户名')}
        name="username"
        autoComplete="username"
        placeholder={t('输入用户名，最多 12 个字符')}
        ref={focusFirst}
        value={form.username}
        error={errors.username}
        onBlur={() => problems.left(form, 'username')}
        onChange={(event) => change({ username: event.currentTarget.value })}
      />
      <PlainField
        label={t('密码')}
        type="password"
        name="password"
        autoComplete="new-password"
        placeholder={t('输入密码，最短 8 位，最长 20 位')}
        value={form.password}
        error={errors.password}
        onBlur={() => problems.left(form, 'password')}
        onChange={(event) => change({ password: event.currentTarget.value })}
      />
      <PlainField
        label={t('确认密码')}
        type="password"
        name="password2"
        autoComplete="new-password"
        placeholder={t('再输入一次密码')}
        value={form.password2}
        error={errors.password2}
        onBlur={() => problems.left(form, 'password2')}
        onChange={(event) => change({ password2: event.currentTarget.value })}
      />
      {needsEmail && (
        <MailCodeFields
          value={form}
          errors={errors}
          check={check}
          onChange={({ email, code }) => change({ email, code })}
        />
      )}
      <HumanCheckField check={check} />
      {failure !== '' && <p className={styles['failure']}>{failure}</p>}
      <PlainSubmit label={t('注册')} isBusy={isBusy} />
    </form>
  )
}

export function RegisterPage() {
  const { t } = useTranslation()
  const name = systemName(useStatus())
  const registration = useStatus().gatehouse?.registration ?? 'open'
  useRedirectSignedIn()
  // The query is untrusted: any text is possible.
  const { aff }: { aff?: string } = useSearch({ strict: false })
  useEffect(() => {
    if (aff) writeStored('aff', aff)
  }, [aff])
  return (
    <section className={styles['card']}>
      <h1>{t('注册 {{name}} 账户', { name })}</h1>
      <p className={styles['aside']}>
        {t('已有账户？')}
        <Link to={paths.login}>{t('登录')}</Link>
      </p>
      {registration === 'open' ? (
        <RegisterFields />
      ) : (
        <p role="note" className={styles['note']}>
          {registration === 'closed'
            ? t('管理员关闭了新用户注册')
            : t('管理员关闭了通过密码注册，请在登录页使用第三方账户')}
        </p>
      )}
    </section>
  )
}
