import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { encode } from 'uqr'
import { call } from '../../app/call.ts'
import { useSubmit } from '../../app/form/use-submit.ts'
import { systemName, useStatus } from '../../app/status.ts'
import { Action } from '../../ui/actions.tsx'
import { CopyButton } from '../../ui/copy/copy-button.tsx'
import { PlainField, PlainSubmit } from '../../ui/field/plain-field.tsx'
import { downloadText } from '../../ui/file/download.ts'
import { PlainDialog } from '../../ui/float/plain-dialog.tsx'
import styles from './personal.module.css'

export interface Setup {
  secret: string
  qr_code_data: string
  backup_codes: string[]
}

interface CodeDialogProps {
  title: string
  submitLabel: string
  /** Rejects with a `CallFailure` when the code was refused. */
  onCode: (code: string) => Promise<void>
  onClose: () => void
}

/** Asks for a code of the app, or a recovery code, before something is changed. */
export function CodeDialog({ title, submitLabel, onCode, onClose }: CodeDialogProps) {
  const { t } = useTranslation()
  return (
    <PlainDialog title={title} onClose={onClose}>
      <CodeForm label={t('验证码或恢复码')} submitLabel={submitLabel} onCode={onCode} />
    </PlainDialog>
  )
}

interface CodeFormProps extends Pick<CodeDialogProps, 'submitLabel' | 'onCode'> {
  label: string
}

function CodeForm({ label, submitLabel, onCode }: CodeFormProps) {
  const { t } = useTranslation()
  const [code, setCode] = useState('')
  const { problem, setProblem, isBusy, submit } = useSubmit(async (fail) => {
    if (code.trim() === '') return fail(t('请输入验证码'))
    await onCode(code.trim())
  })
  return (
    <form className={styles['dialogForm']} onSubmit={submit} noValidate>
      <PlainField
        label={label}
        name="code"
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
  )
}

/** Shows secret and recovery codes, and turns the factor on by a first code. */
export function EnrolDialog({
  setup,
  onClose,
  onEnabled,
}: {
  setup: Setup
  onClose: () => void
  onEnabled: () => Promise<void>
}) {
  const { t } = useTranslation()
  async function enable(code: string) {
    await call('POST /api/user/2fa/enable', { body: { code } }, { quiet: true })
    await onEnabled()
  }
  return (
    <PlainDialog title={t('启用两步验证')} onClose={onClose}>
      <ol className={styles['steps']}>
        <li>
          {t('用身份验证器应用扫描二维码，或手动输入密钥')}
          <QrCode text={setup.qr_code_data} />
          <p className={styles['inApp']}>
            <a href={setup.qr_code_data}>{t('应用在这台手机上？直接打开')}</a>
          </p>
          <p className={styles['secretKey']}>
            <code>{setup.secret}</code>
            <CopyButton text={setup.secret} label={t('复制')} />
          </p>
        </li>
        <li>
          {t('保存恢复码。手机丢失时，用一个恢复码代替验证码登录，每个只能用一次；关闭后不再显示')}
          <RecoveryCodes codes={setup.backup_codes} />
        </li>
        <li>{t('输入应用显示的六位验证码')}</li>
      </ol>
      <CodeForm label={t('验证码')} submitLabel={t('启用')} onCode={enable} />
    </PlainDialog>
  )
}

/** The ten codes, to be copied or saved as a file. */
export function RecoveryCodes({ codes }: { codes: readonly string[] }) {
  const { t } = useTranslation()
  const name = systemName(useStatus())
  const text = codes.join('\n')
  return (
    <>
      <ul className={styles['recoveryCodes']}>
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
      <div className={styles['actions']}>
        <CopyButton text={text} label={t('复制恢复码')} />
        <Action
          label={t('保存为文件')}
          onClick={() => downloadText('recovery-codes.txt', `${name}\n\n${text}\n`)}
        />
      </div>
    </>
  )
}

/** Dark on white in both themes: not every camera reads the reverse. */
function QrCode({ text }: { text: string }) {
  const { t } = useTranslation()
  const { data, size } = encode(text, { border: 2, ecc: 'M' })
  const path = data
    .flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : '')))
    .join('')
  return (
    <figure className={styles['qrCode']} aria-label={t('身份验证器应用的二维码')}>
      <svg viewBox={`0 0 ${size} ${size}`} aria-hidden="true" shapeRendering="crispEdges">
        <path d={path} />
      </svg>
    </figure>
  )
}
