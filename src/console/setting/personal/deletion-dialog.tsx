import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallFailure } from '../../app/call-client.ts'
import { call } from '../../app/call.ts'
import { setSessionUser } from '../../app/session.ts'
import { toast } from '../../app/toast.ts'
import { paths } from '../../paths.ts'
import { PlainField } from '../../ui/field/plain-field.tsx'
import { PlainDialog } from '../../ui/float/plain-dialog.tsx'
import styles from './personal.module.css'

interface DeletionDialogProps {
  username: string
  onClose: () => void
}

/** Deletes the user's account after the username was entered. */
export function DeletionDialog({ username, onClose }: DeletionDialogProps) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const [typed, setTyped] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  async function remove(event: FormEvent) {
    event.preventDefault()
    if (typed !== username) {
      const sentence = t('请输入您的账户名以确认删除！')
      setProblem(sentence)
      toast.error(sentence)
      return
    }
    setIsBusy(true)
    try {
      await call('DELETE /api/user/self')
      // Gatehouse has already ended the session; other servers need the request.
      await call('GET /api/user/logout', {}, { background: true }).catch(() => undefined)
      toast.success(t('账户已删除！'))
      await navigate({ to: paths.login, state: { isSigningOut: true } })
      setSessionUser(null)
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setProblem(error.message)
      setIsBusy(false)
    }
  }
  return (
    <PlainDialog title={t('删除个人账户')} onClose={onClose}>
      <p role="note" className={styles['danger']}>
        {t('账户、令牌和余额将不可恢复，正在进行的调用会停止')}
      </p>
      <form className={styles['dialogForm']} onSubmit={(event) => void remove(event)} noValidate>
        <PlainField
          label={t('输入您的账户名 {{username}} 以确认删除', { username })}
          name="confirm_username"
          autoComplete="off"
          value={typed}
          error={problem === '' ? undefined : problem}
          onChange={(event) => {
            setTyped(event.currentTarget.value)
            setProblem('')
          }}
        />
        <div className={styles['answers']}>
          <button type="button" className={styles['plain']} onClick={onClose}>
            {t('取消')}
          </button>
          <button
            type="submit"
            className={styles['remove']}
            aria-disabled={isBusy}
            aria-busy={isBusy}
            onClick={(event) => isBusy && event.preventDefault()}
          >
            {t('确认删除')}
          </button>
        </div>
      </form>
    </PlainDialog>
  )
}
