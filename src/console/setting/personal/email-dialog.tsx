import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallFailure } from '../../app/call-client.ts'
import { call } from '../../app/call.ts'
import { HumanCheckField, useHumanCheck } from '../../app/sign-in/human-check.tsx'
import { type MailCode, MailCodeFields } from '../../app/sign-in/mail-code-field.tsx'
import { toast } from '../../app/toast.ts'
import { PlainSubmit } from '../../ui/field/plain-field.tsx'
import { PlainDialog } from '../../ui/float/plain-dialog.tsx'
import styles from './personal.module.css'

interface EmailDialogProps {
  onClose: () => void
  onBound: () => Promise<void>
}

/** Links an email address with the code mailed to it. */
export function EmailDialog({ onClose, onBound }: EmailDialogProps) {
  const { t } = useTranslation()
  const check = useHumanCheck()
  const [form, setForm] = useState<MailCode>({ email: '', code: '' })
  const [problems, setProblems] = useState<Partial<MailCode>>({})
  const [isBusy, setIsBusy] = useState(false)
  function change(next: MailCode) {
    setForm(next)
    setProblems(({ email, code }) => ({
      ...(email !== undefined && next.email === form.email ? { email } : {}),
      ...(code !== undefined && next.code === form.code ? { code } : {}),
    }))
  }
  async function bind(event: FormEvent) {
    event.preventDefault()
    const email = form.email.trim()
    const code = form.code.trim()
    setProblems({
      ...(email === '' ? { email: t('请输入邮箱地址') } : {}),
      ...(code === '' ? { code: t('请输入验证码') } : {}),
    })
    if (email === '' || code === '') {
      toast.warning(email === '' ? t('请输入邮箱地址') : t('请输入验证码'))
      return
    }
    setIsBusy(true)
    try {
      await call('GET /api/oauth/email/bind', { query: { email, code } })
      toast.success(t('邮箱绑定成功！'))
      onClose()
      await onBound()
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setProblems({ code: error.message })
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <PlainDialog title={t('绑定邮箱地址')} onClose={onClose}>
      <form className={styles['dialogForm']} onSubmit={(event) => void bind(event)} noValidate>
        <MailCodeFields value={form} errors={problems} check={check} onChange={change} />
        <HumanCheckField check={check} />
        <PlainSubmit label={t('确认绑定')} isBusy={isBusy} />
      </form>
    </PlainDialog>
  )
}
