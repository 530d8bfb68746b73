import { type FormEvent, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import {
  ACCESS_SCOPES,
  ACCESS_TOKEN_NAME_LENGTH_MAX,
  type AccessScope,
} from '../../../contract/access-token.ts'
import { isAdmin, Role } from '../../../contract/user.ts'
import { SCOPE_TEXTS } from '../../app/access-token/access-scope.ts'
import { CallFailure } from '../../app/call-client.ts'
import { call } from '../../app/call.ts'
import { mark } from '../../app/i18n.ts'
import { sessionUser } from '../../app/session.ts'
import { nowSeconds } from '../../app/time.ts'
import { CodeBlock } from '../../ui/copy/copy-button.tsx'
import { CheckBox } from '../../ui/field/check-box.tsx'
import { PlainField, PlainSubmit } from '../../ui/field/plain-field.tsx'
import { PlainDialog } from '../../ui/float/plain-dialog.tsx'
import styles from './personal.module.css'

const DAY_SECONDS = 86_400
/** Days of life; 0 never expires. */
const LIVES = [
  { days: 30, text: mark('30 天') },
  { days: 90, text: mark('90 天') },
  { days: 365, text: mark('一年') },
  { days: 0, text: mark('永不过期') },
]

interface AccessTokenDialogProps {
  onClose: () => void
  onMade: () => Promise<unknown>
}

/** Creates a system access token and shows it, this once. */
export function AccessTokenDialog({ onClose, onMade }: AccessTokenDialogProps) {
  const { t } = useTranslation()
  const [token, setToken] = useState('')
  return (
    <PlainDialog
      // The form is gone with its focus: the dialog starts anew.
      key={token}
      title={token === '' ? t('新建系统访问令牌') : t('系统访问令牌已新建')}
      onClose={onClose}
    >
      {token === '' ? (
        <NewToken
          onToken={async (made) => {
            setToken(made)
            await onMade()
          }}
        />
      ) : (
        <div className={styles['dialogForm']}>
          <p role="note">{t('请立即复制保存，关闭后不再显示')}</p>
          <CodeBlock code={token} />
          <p className={styles['hint']}>{t('程序把它放在请求头 Authorization 中')}</p>
        </div>
      )}
    </PlainDialog>
  )
}

/** `all` includes every other scope, so it is chosen alone. */
const withScope = (scopes: readonly AccessScope[], scope: AccessScope): AccessScope[] =>
  scope === 'all' ? ['all'] : [...scopes.filter((one) => one !== 'all'), scope]

function NewToken({ onToken }: { onToken: (token: string) => Promise<void> }) {
  const { t } = useTranslation()
  const id = useId()
  const role = sessionUser()?.role ?? Role.user
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly AccessScope[]>(['read'])
  const [days, setDays] = useState(90)
  const [unnamed, setUnnamed] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const offered = ACCESS_SCOPES.filter((scope) => scope !== 'channels' || isAdmin(role))
  async function create(event: FormEvent) {
    event.preventDefault()
    if (name.trim() === '') return setUnnamed(t('请输入名称'))
    setIsBusy(true)
    try {
      const expires_at = days === 0 ? 0 : nowSeconds() + days * DAY_SECONDS
      const body = { name: name.trim(), scopes: [...scopes], expires_at }
      await onToken((await call('POST /api/user/access_tokens', { body }, { quiet: true })).token)
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setProblem(error.message)
    } finally {
      setIsBusy(false)
    }
  }
  return (
    <form className={styles['dialogForm']} onSubmit={(event) => void create(event)} noValidate>
      <PlainField
        label={t('名称')}
        name="name"
        autoComplete="off"
        placeholder={t('用它的程序，例如 grafana')}
        maxLength={ACCESS_TOKEN_NAME_LENGTH_MAX}
        value={name}
        error={unnamed === '' ? undefined : unnamed}
        onChange={(event) => {
          setName(event.currentTarget.value)
          setUnnamed('')
          setProblem('')
        }}
      />
      <fieldset className={styles['choices']}>
        <legend>{t('权限范围（可多选，权限相加）')}</legend>
        {offered.map((scope) => (
          <label key={scope}>
            <CheckBox
              isOn={scopes.includes(scope)}
              onChange={(isOn) => {
                setScopes(isOn ? withScope(scopes, scope) : scopes.filter((one) => one !== scope))
                setProblem('')
              }}
            />
            {t(SCOPE_TEXTS[scope])}
          </label>
        ))}
      </fieldset>
      <div className={styles['choice']}>
        <label htmlFor={id}>{t('有效期')}</label>
        <select
          id={id}
          value={days}
          onChange={(event) => setDays(Number(event.currentTarget.value))}
        >
          {LIVES.map((life) => (
            <option key={life.days} value={life.days}>
              {t(life.text)}
            </option>
          ))}
        </select>
      </div>
      {problem !== '' && (
        <p role="alert" className={styles['danger']}>
          {problem}
        </p>
      )}
      <PlainSubmit label={t('新建')} isBusy={isBusy} />
    </form>
  )
}
