import { Link, useLocation, useNavigate, useSearch } from '@tanstack/react-router'
import { type FormEvent, useEffect, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { CallFailure } from '../app/call-client.ts'
import { call } from '../app/call.ts'
import { toast } from '../app/toast.ts'
import { paths } from '../paths.ts'
import { copyText } from '../ui/copy/copy-text.ts'
import { PlainField, PlainSubmit } from '../ui/field/plain-field.tsx'
import styles from './account.module.css'

interface ResetLink {
  email: string
  token: string
}

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** The reset link after it was removed from the address. */
    resetLink?: ResetLink
  }
}

/**
 * Reads the link from the mail and removes it from the address bar immediately, because it grants
 * access like a password. The history entry keeps it for reloads.
 */
function useResetLink(): ResetLink {
  // The query is untrusted: any text is possible.
  const search: Partial<ResetLink> = useSearch({ strict: false })
  const navigate = useNavigate()
  const kept = useLocation({ select: ({ state }) => state.resetLink })
  const [link] = useState<ResetLink>({
    email: search.email ?? kept?.email ?? '',
    token: search.token ?? kept?.token ?? '',
  })
  useEffect(() => {
    if (!search.token) return
    const state = { resetLink: link }
    void navigate({ to: paths.resetConfirm, search: {}, state, replace: true })
  }, [search.token, navigate, link])
  return link
}

export function ResetConfirmPage() {
  const { t } = useTranslation()
  const link = useResetLink()
  const [password, setPassword] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const isWhole = link.email !== '' && link.token !== ''

  async function reset(event: FormEvent) {
    event.preventDefault()
    setProblem('')
    setIsBusy(true)
    try {
      const fresh = await call('POST /api/user/reset', { body: link })
      setPassword(fresh)
      if (await copyText(fresh)) toast.success(t('新密码已复制到剪贴板'))
      else toast.warning(t('无法复制到剪贴板，请手动复制'))
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setProblem(error.message)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <section className={styles['card']}>
      <h1>{t('密码重置确认')}</h1>
      <p className={styles['aside']}>
        <Link to={paths.login}>{t('返回登录')}</Link>{' '}
        {password === '' && <Link to={paths.reset}>{t('重新申请重置')}</Link>}
      </p>
      {!isWhole && (
        <p role="alert" className={styles['note']}>
          {t('链接不完整，请完整打开邮件中的链接，或重新申请重置')}
        </p>
      )}
      <form onSubmit={(event) => void reset(event)} className={styles['form']}>
        <PlainField label={t('邮箱地址')} name="email" readOnly value={link.email} />
        {password !== '' && (
          <PlainField label={t('新密码')} name="new_password" readOnly value={password} />
        )}
        {problem !== '' && <p className={styles['failure']}>{problem}</p>}
        <PlainSubmit
          label={password === '' ? t('提交') : t('密码重置完成')}
          isBusy={isBusy}
          isDisabled={!isWhole || password !== ''}
        />
      </form>
      {password !== '' && (
        <output className={styles['done']}>
          {t('请用新密码登录，并在个人设置中换成自己的密码')}
        </output>
      )}
    </section>
  )
}
