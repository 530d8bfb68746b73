import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallFailure } from '../app/call-client.ts'
import { call } from '../app/call.ts'
import { useCountdown } from '../app/sign-in/countdown.ts'
import { HumanCheckField, useHumanCheck } from '../app/sign-in/human-check.tsx'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import { focusFirst } from '../ui/field/focus-first.ts'
import { PlainField, PlainSubmit } from '../ui/field/plain-field.tsx'
import styles from './account.module.css'

export function ResetPage() {
  const { t } = useTranslation()
  const check = useHumanCheck()
  const [email, setEmail] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const [sentTo, setSentTo] = useState('')
  const [secondsLeft, startCountdown] = useCountdown('reset')

  async function send(event: FormEvent) {
    event.preventDefault()
    const address = email.trim()
    setProblem(address === '' ? t('请输入邮箱地址') : '')
    if (address === '') toast.warning(t('请输入邮箱地址'))
    if (address === '' || !check.isPassed()) return
    setIsBusy(true)
    try {
      await call('GET /api/reset_password', { query: { email: address, turnstile: check.answer } })
      // After an error there is no countdown: the user can correct the address and retry.
      startCountdown()
      setSentTo(address)
      toast.instruction(t('重置邮件发送成功，请检查邮箱！'))
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setSentTo('')
      setProblem(error.message)
    } finally {
      setIsBusy(false)
    }
    check.again()
  }

  const label = secondsLeft > 0 ? t('重试（{{seconds}} 秒）', { seconds: secondsLeft }) : t('提交')
  return (
    <section className={styles['card']}>
      <h1>{t('重置密码')}</h1>
      <p className={styles['aside']}>
        {t('重置链接会发送到账户绑定的邮箱。')}
        <Link to={paths.login}>{t('返回登录')}</Link>
      </p>
      <form onSubmit={(event) => void send(event)} noValidate className={styles['form']}>
        <PlainField
          label={t('邮箱地址')}
          type="email"
          name="email"
          autoComplete="email"
          ref={focusFirst}
          value={email}
          error={problem === '' ? undefined : problem}
          onChange={(event) => {
            setEmail(event.currentTarget.value)
            setProblem('')
          }}
        />
        <HumanCheckField check={check} />
        <PlainSubmit label={label} isBusy={isBusy || secondsLeft > 0} />
      </form>
      {sentTo !== '' && (
        <output className={styles['done']}>
          {t('如果 {{email}} 绑定了账户，几分钟内会收到邮件；没有收到时请检查垃圾邮件', {
            email: sentTo,
          })}
        </output>
      )}
    </section>
  )
}
