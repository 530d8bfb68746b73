import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { PlainField, PlainSubmit } from '../../ui/field/plain-field.tsx'
import { PlainDialog } from '../../ui/float/plain-dialog.tsx'
import { RemoteImage } from '../../ui/remote-image.tsx'
import { isOwnApi } from '../../ui/rich/own-api.ts'
import { CallFailure } from '../call-client.ts'
import { mark } from '../i18n.ts'
import { useStatus } from '../status.ts'
import { toast } from '../toast.ts'
import styles from './sign-in.module.css'

/** Keyword to which the public account replies, in every language. */
const WORD = mark('验证码')

interface WechatDialogProps {
  title: string
  submitLabel: string
  /** Rejects with a `CallFailure` if the code was rejected. */
  onCode: (code: string) => Promise<void>
  onClose: () => void
}

/** The QR code of the public account, and a field for the code that it sends. */
export function WechatDialog({ title, submitLabel, onCode, onClose }: WechatDialogProps) {
  const { t } = useTranslation()
  const { wechat_qrcode: configured = '' } = useStatus()
  const qrCode = isOwnApi(configured) ? '' : configured
  const [code, setCode] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  async function submit(event: FormEvent) {
    event.preventDefault()
    setProblem(code.trim() === '' ? t('请输入验证码') : '')
    if (code.trim() === '') {
      toast.warning(t('请输入验证码'))
      return
    }
    setIsBusy(true)
    try {
      await onCode(code.trim())
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setProblem(error.message)
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <PlainDialog title={title} onClose={onClose}>
      {qrCode !== '' && (
        <RemoteImage
          className={styles['qrCode']}
          address={qrCode}
          alt={t('微信公众号二维码')}
          failure={t('二维码加载失败')}
        />
      )}
      <p className={styles['explanation']}>{t('微信扫码，关注公众号')}</p>
      <p className={styles['explanation']}>
        {t('发送「{{word}}」获取验证码（三分钟内有效）', { word: WORD })}
      </p>
      <form className={styles['dialogForm']} onSubmit={(event) => void submit(event)} noValidate>
        <PlainField
          label={t('验证码')}
          name="wechat_verification_code"
          autoComplete="one-time-code"
          value={code}
          error={problem === '' ? undefined : problem}
          onChange={(event) => {
            setCode(event.currentTarget.value)
            setProblem('')
          }}
        />
        <PlainSubmit label={submitLabel} isBusy={isBusy} />
      </form>
    </PlainDialog>
  )
}
