import { Button, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Token } from '../../contract/token-api.ts'
import { CallFailure } from '../app/call-client.ts'
import { call } from '../app/call.ts'
import { mark } from '../app/i18n.ts'
import { stampText } from '../app/time.ts'
import { toast } from '../app/toast.ts'
import { BusyButton } from '../ui/busy/busy-button.tsx'
import { CodeBlock } from '../ui/copy/copy-button.tsx'
import { PlainDialog } from '../ui/float/plain-dialog.tsx'
import { fullKey, maskedKey } from './token-copies.ts'
import { isPreviousKeyValid } from './token-state.ts'
import styles from './token.module.css'

interface TokenKeyDialogProps {
  /** As the response that created the key returned it. */
  token: Token
  onClose: () => void
}

/** Shows a new key with a copy button. */
export function TokenKeyDialog({ token, onClose }: TokenKeyDialogProps) {
  const { t } = useTranslation()
  return (
    <PlainDialog title={t('令牌「{{name}}」的密钥', { name: token.name })} onClose={onClose}>
      <div className={styles['dialog']}>
        {token.key_shown_once && <p role="note">{t('密钥只显示这一次，请立即复制保存')}</p>}
        <CodeBlock code={fullKey(token)} />
      </div>
    </PlainDialog>
  )
}

/** Hours for which the previous key can work. */
const graces = [
  { hours: 24, label: mark('再用一天') },
  { hours: 0, label: mark('立即失效') },
  { hours: 1, label: mark('再用一小时') },
  { hours: 168, label: mark('再用七天') },
  { hours: 720, label: mark('再用三十天') },
] as const

interface RotateDialogProps {
  token: Token
  /** Current time of the list, in epoch seconds. */
  nowSeconds: number
  /** Called with the token as the response returned it. */
  onChanged: (token: Token) => void
  onClose: () => void
}

/** Replaces the key of a token, then shows the new one. */
export function RotateDialog({ token, nowSeconds, onChanged, onClose }: RotateDialogProps) {
  const { t } = useTranslation()
  const [hours, setHours] = useState<number>(graces[0].hours)
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const [rotated, setRotated] = useState<Token | null>(null)
  async function change(send: () => Promise<Token>): Promise<Token | null> {
    setIsBusy(true)
    setProblem('')
    try {
      const answer = await send()
      onChanged(answer)
      return answer
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setProblem(error.message)
      return null
    } finally {
      setIsBusy(false)
    }
  }
  const params = { id: token.id }
  const body = { grace_hours: hours }
  async function rotate() {
    setRotated(await change(() => call('POST /api/token/:id/rotate', { params, body })))
  }
  async function endPrevious() {
    const changed = await change(() => call('DELETE /api/token/:id/previous_key', { params }))
    if (changed === null) return
    toast.success(t('操作成功完成！'))
    onClose()
  }
  if (rotated !== null) return <TokenKeyDialog token={rotated} onClose={onClose} />
  return (
    <PlainDialog title={t('更换密钥')} onClose={onClose}>
      <div className={styles['dialog']}>
        <p>
          {t(
            '「{{name}}」会得到新密钥，额度、限制和日志不变。让现在的密钥再用一段时间，程序就不会中断',
            {
              name: token.name || maskedKey(token),
            },
          )}
        </p>
        <NativeSelect
          label={t('更换后，现在的密钥')}
          value={String(hours)}
          onChange={({ currentTarget }) => setHours(Number(currentTarget.value))}
          data={graces.map((grace) => ({ value: String(grace.hours), label: t(grace.label) }))}
          {...(problem === '' ? {} : { error: problem })}
        />
        {isPreviousKeyValid(token, nowSeconds) && (
          <p className={styles['previous']}>
            {t('上次更换前的密钥可用到 {{stamp}}；再次更换时它立即失效', {
              stamp: stampText(token.previous_key_until),
            })}
            <BusyButton
              size="xs"
              variant="default"
              isBusy={isBusy}
              onClick={() => void endPrevious()}
            >
              {t('让旧密钥立即失效')}
            </BusyButton>
          </p>
        )}
        <div className={styles['dialogActs']}>
          <Button size="xs" variant="default" onClick={onClose}>
            {t('取消')}
          </Button>
          <BusyButton size="xs" isBusy={isBusy} onClick={() => void rotate()}>
            {t('更换密钥')}
          </BusyButton>
        </div>
      </div>
    </PlainDialog>
  )
}
