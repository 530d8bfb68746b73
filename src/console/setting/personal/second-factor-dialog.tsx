import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { encode } from 'uqr'
import { CallFailure } from '../../app/call-client.ts'
import { call } from '../../app/call.ts'
import { systemName, useStatus } from '../../app/status.ts'
import { toast } from '../../app/toast.ts'
import { Action } from '../../ui/actions.tsx'
import { CopyButton } from '../../ui/copy/copy-button.tsx'
import { PlainField, PlainSubmit } from '../../ui/field/plain-field.tsx'
import { downloadText } from '../../ui/file/download.ts'
import { PlainDialog } from '../../ui/float/plain-dialog.tsx'
import styles from './personal.module.css'

interface Setup {
  secret: string
  qr_code_data: string
  backup_codes: string[]
}

/** Runs the work of a form; a refused call becomes the sentence under its field. */
function useSubmit(work: (fail: (problem: string) => void) => Promise<void>) {
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  async function submit(event: FormEvent) {
    event.preventDefault()
    setIsBusy(true)
    try {
      await work(setProblem)
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setProblem(error.message)
    } finally {
      setIsBusy(false)
    }
  }
  return { problem, setProblem, isBusy, submit: (event: FormEvent) => void submit(event) }
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
  return (
    <PlainDialog title={title} onClose={onClose}>
      <CodeForm submitLabel={submitLabel} onCode={onCode} />
    </PlainDialog>
  )
}

function CodeForm({ submitLabel, onCode }: Pick<CodeDialogProps, 'submitLabel' | 'onCode'>) {
  const { t } = useTranslation()
  const [code, setCode] = useState('')
  const { problem, setProblem, isBusy, submit } = useSubmit(async (fail) => {
    if (code.trim() !== '') return onCode(code.trim())
    fail(t('请输入验证码'))
    toast.warning(t('请输入验证码'))
  })
  return (
    <form className={styles['dialogForm']} onSubmit={submit} noValidate>
      <PlainField
        label={t('验证码')}
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

/** Proves who is there, shows secret and recovery codes, and turns the factor on by a first code. */
export function EnrolDialog({
  onClose,
  onEnabled,
}: {
  onClose: () => void
  onEnabled: () => Promise<void>
}) {
  const { t } = useTranslation()
  const [setup, setSetup] = useState<Setup | null>(null)
  async function enable(code: string) {
    await call('POST /api/user/2fa/enable', { body: { code } })
    await onEnabled()
  }
  return (
    <PlainDialog title={t('启用两步验证')} onClose={onClose}>
      {setup === null ? (
        <ProofForm onSetup={setSetup} />
      ) : (
        <>
          <ol className={styles['steps']}>
            <li>
              {t('用身份验证器应用扫描二维码，或手动输入密钥')}
              <QrCode text={setup.qr_code_data} />
              <p className={styles['secretKey']}>
                <code>{setup.secret}</code>
                <CopyButton text={setup.secret} label={t('复制')} />
              </p>
            </li>
            <li>
              {t('保存恢复码。手机丢失时，每个恢复码可以登录一次；关闭后不再显示')}
              <RecoveryCodes codes={setup.backup_codes} />
            </li>
            <li>{t('输入应用显示的六位验证码')}</li>
          </ol>
          <CodeForm submitLabel={t('启用')} onCode={enable} />
        </>
      )}
    </PlainDialog>
  )
}

function ProofForm({ onSetup }: { onSetup: (setup: Setup) => void }) {
  const { t } = useTranslation()
  const [password, setPassword] = useState('')
  const { problem, setProblem, isBusy, submit } = useSubmit(async () => {
    if (password !== '') await call('POST /api/verify', { body: { password } })
    onSetup(await call('POST /api/user/2fa/setup'))
  })
  return (
    <form className={styles['dialogForm']} onSubmit={submit} noValidate>
      <p className={styles['hint']}>
        {t('请先输入当前密码。没有密码的账户请留空，并在登录后五分钟内操作')}
      </p>
      <PlainField
        label={t('当前密码')}
        type="password"
        name="current_password"
        autoComplete="current-password"
        value={password}
        error={problem === '' ? undefined : problem}
        onChange={(event) => {
          setPassword(event.currentTarget.value)
          setProblem('')
        }}
      />
      <PlainSubmit label={t('继续')} isBusy={isBusy} />
    </form>
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
