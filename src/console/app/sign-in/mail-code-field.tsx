import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { PlainField } from '../../ui/field/plain-field.tsx'
import { CallFailure } from '../call-client.ts'
import { call } from '../call.ts'
import { toast } from '../toast.ts'
import { useCountdown } from './countdown.ts'
import type { HumanCheck } from './human-check.tsx'
import styles from './sign-in.module.css'

export interface MailCode {
  email: string
  code: string
}

interface MailCodeFieldsProps {
  value: MailCode
  errors: Partial<MailCode>
  check: HumanCheck
  onChange: (value: MailCode) => void
}

/** An email address, a button that mails a code to it, and a field for the code. */
export function MailCodeFields({ value, errors, check, onChange }: MailCodeFieldsProps) {
  const { t } = useTranslation()
  const [secondsLeft, startCountdown] = useCountdown('code')
  const [isSent, setIsSent] = useState(false)
  // Repeated here because toasts are behind a dialog.
  const [failure, setFailure] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const isWaiting = isBusy || secondsLeft > 0
  async function send() {
    const email = value.email.trim()
    setIsSent(false)
    // The specification requires an address before anything is sent.
    setFailure(email === '' ? t('请输入邮箱地址') : '')
    if (email === '' || !check.isPassed()) return
    setIsBusy(true)
    try {
      await call('GET /api/verification', { query: { email, turnstile: check.answer } })
      // After an error there is no countdown: the user can correct the address and retry.
      startCountdown()
      setIsSent(true)
      toast.instruction(t('验证码发送成功，请检查您的邮箱！'))
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setFailure(error.message)
      check.again()
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <>
      <div className={styles['withButton']}>
        <PlainField
          label={t('邮箱地址')}
          name="email"
          type="email"
          autoComplete="email"
          placeholder={t('输入邮箱地址')}
          value={value.email}
          error={errors.email ?? (failure === '' ? undefined : failure)}
          onChange={(event) => {
            setFailure('')
            onChange({ ...value, email: event.currentTarget.value })
          }}
        />
        <button
          type="button"
          className={styles['beside']}
          // Stays focusable while it is inactive.
          aria-disabled={isWaiting}
          onClick={() => !isWaiting && void send()}
        >
          {secondsLeft > 0
            ? t('{{seconds}} 秒后可重发', { seconds: secondsLeft })
            : t('获取验证码')}
        </button>
      </div>
      {isSent && (
        <output className={styles['sent']}>
          {t('验证码发送成功，请检查您的邮箱！')} {t('没有收到邮件时，请检查垃圾邮件')}
        </output>
      )}
      <PlainField
        label={t('验证码')}
        name="verification_code"
        autoComplete="one-time-code"
        placeholder={t('输入邮件中的验证码')}
        value={value.code}
        error={errors.code}
        onChange={(event) => onChange({ ...value, code: event.currentTarget.value })}
      />
    </>
  )
}
