import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { SignedIn } from '../../contract/user-api.ts'
import { CallFailure } from '../app/call-client.ts'
import { call } from '../app/call.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import { focusFirst } from '../ui/field/focus-first.ts'
import { PlainField, PlainSubmit } from '../ui/field/plain-field.tsx'
import styles from './account.module.css'

/** Kinds of proof that the second step of a sign-in offers, as a search member of the page. */
export type SecondStep = 'code' | 'passkey' | 'either'

export function secondStep({ second_factor_methods: methods = [] }: SignedIn): {
  step: SecondStep
} {
  if (!methods.includes('passkey')) return { step: 'code' }
  return { step: methods.includes('code') ? 'either' : 'passkey' }
}

/** The second step of a sign-in. A cookie of the server holds which one. */
export function CodeForm({ onSignedIn }: { onSignedIn: (user: SignedIn) => Promise<void> }) {
  const { t } = useTranslation()
  const [code, setCode] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  async function submit(event: FormEvent) {
    event.preventDefault()
    if (code.trim() === '') {
      setProblem(t('请输入验证码'))
      toast.warning(t('请输入验证码'))
      return
    }
    setIsBusy(true)
    try {
      await onSignedIn(await call('POST /api/user/login/2fa', { body: { code: code.trim() } }))
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setProblem(error.message)
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)} noValidate className={styles['form']}>
      <p className={styles['aside']}>
        {t('请输入身份验证器应用中的六位验证码；设备不在手边时，输入一个恢复码')}
      </p>
      <PlainField
        label={t('验证码或恢复码')}
        name="code"
        autoComplete="one-time-code"
        ref={focusFirst}
        value={code}
        error={problem === '' ? undefined : problem}
        onChange={(event) => {
          setCode(event.currentTarget.value)
          setProblem('')
        }}
      />
      <PlainSubmit label={t('登录')} isBusy={isBusy} />
    </form>
  )
}

/** Leads back to the name and password. */
export function OtherAccount() {
  const { t } = useTranslation()
  const navigate = useNavigate()
  return (
    <p className={styles['instead']}>
      <button
        type="button"
        className={styles['link']}
        onClick={() => void navigate({ to: paths.login, replace: true })}
      >
        {t('使用其他账户登录')}
      </button>
    </p>
  )
}
