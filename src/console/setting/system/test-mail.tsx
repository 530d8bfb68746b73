import { TextInput } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { call } from '../../app/call.ts'
import { useStatus } from '../../app/status.ts'
import { toast } from '../../app/toast.ts'
import { Action } from '../../ui/actions.tsx'
import styles from '../option/option.module.css'

/** Sends an email with the saved settings, and reports the mail server's error. */
export function TestMail() {
  const { t } = useTranslation()
  const [email, setEmail] = useState('')
  // A One API server has no such endpoint.
  if (useStatus().gatehouse === undefined) return null
  async function send() {
    await call('POST /api/mail/test', { body: { email: email.trim() || undefined } })
    toast.success(t('测试邮件已发送'))
  }
  return (
    <div className={styles['panel']}>
      <div className={styles['line']}>
        <TextInput
          type="email"
          aria-label={t('测试邮件的收件人')}
          placeholder={t('留空则发给自己')}
          autoComplete="off"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <Action size="sm" label={t('发送测试邮件')} onClick={send} />
      </div>
      <p>{t('使用已保存的 SMTP 设置')}</p>
    </div>
  )
}
