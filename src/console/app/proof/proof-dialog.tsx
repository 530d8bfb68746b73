import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { ProofMethod } from '../../../contract/second-factor-api.ts'
import { focusFirst } from '../../ui/field/focus-first.ts'
import { PlainField, PlainSubmit } from '../../ui/field/plain-field.tsx'
import { PlainDialog } from '../../ui/float/plain-dialog.tsx'
import { Loading } from '../../ui/loading.tsx'
import { LoadError } from '../../ui/states.tsx'
import { call } from '../call.ts'
import { useSubmit } from '../form/use-submit.ts'
import { hasPasskeys, proveByPasskey } from '../passkey.ts'
import { queryClient } from '../queries.tsx'
import { useSignOut } from '../shell/sign-out.ts'
import styles from './proof.module.css'

interface ProofDialogProps {
  onAnswer: (isProven: boolean) => void
}

/** Asks for the password or the second factor, before something that needs a proof of identity. */
export function ProofDialog({ onAnswer }: ProofDialogProps) {
  const { t } = useTranslation()
  // Not cached: a factor may have been turned on since.
  const { data, error, refetch } = useQuery(
    {
      queryKey: ['second-factor', 'proof'],
      queryFn: ({ signal }) => call('GET /api/user/2fa/status', {}, { signal, background: true }),
      gcTime: 0,
      staleTime: 0,
    },
    queryClient,
  )
  return (
    <PlainDialog title={t('验证身份')} onClose={() => onAnswer(false)}>
      <p className={styles['hint']}>{t('此操作需要确认是您本人；之后五分钟内不再询问')}</p>
      {error !== null && (
        <LoadError what={t('验证方式')} error={error} onRetry={() => void refetch()} />
      )}
      {error === null && data === undefined && <Loading prompt={t('验证方式')} />}
      {data !== undefined && (
        <Methods methods={data.proof_methods} onProven={() => onAnswer(true)} />
      )}
    </PlainDialog>
  )
}

function Methods({ methods, onProven }: { methods: readonly ProofMethod[]; onProven: () => void }) {
  const member = methods.includes('code') ? 'code' : 'password'
  const hasText = methods.includes(member)
  const hasKey = methods.includes('passkey')
  if (!hasText && !hasKey) return <SignInAgain />
  return (
    <>
      {hasText && <TextProof member={member} onProven={onProven} />}
      {hasKey && <PasskeyProof onProven={onProven} />}
    </>
  )
}

function PasskeyProof({ onProven }: { onProven: () => void }) {
  const { t } = useTranslation()
  const { problem, isBusy, submit } = useSubmit(async (fail) => {
    fail('')
    await proveByPasskey()
    onProven()
  })
  const isOff = isBusy || !hasPasskeys()
  return (
    <div className={styles['form']}>
      <button
        type="button"
        className={styles['passkey']}
        aria-disabled={isOff}
        aria-busy={isBusy}
        onClick={() => !isOff && submit()}
      >
        {t('使用通行密钥验证')}
      </button>
      {problem !== '' && <p className={styles['failure']}>{problem}</p>}
    </div>
  )
}

/** A field for the password or the code. */
function TextProof({ member, onProven }: { member: 'password' | 'code'; onProven: () => void }) {
  const { t } = useTranslation()
  const [text, setText] = useState('')
  const isCode = member === 'code'
  const { problem, setProblem, isBusy, submit } = useSubmit(async (fail) => {
    const value = isCode ? text.trim() : text
    if (value === '') return fail(isCode ? t('请输入验证码') : t('请输入密码'))
    await call('POST /api/verify', { body: { [member]: value } }, { quiet: true })
    onProven()
  })
  return (
    <form className={styles['form']} onSubmit={submit} noValidate>
      <PlainField
        label={isCode ? t('验证码或恢复码') : t('当前密码')}
        type={isCode ? 'text' : 'password'}
        name={isCode ? 'proof_code' : 'proof_password'}
        autoComplete={isCode ? 'one-time-code' : 'current-password'}
        value={text}
        // The field appears after the dialog, which has looked for its first input by then.
        ref={focusFirst}
        error={problem === '' ? undefined : problem}
        onChange={(event) => {
          setText(event.currentTarget.value)
          setProblem('')
        }}
      />
      <PlainSubmit label={t('验证')} isBusy={isBusy} />
    </form>
  )
}

/** Accounts of external providers without a password sign in again. */
function SignInAgain() {
  const { t } = useTranslation()
  const signOut = useSignOut()
  return (
    <div className={styles['form']}>
      <p>{t('您的账户没有密码，请重新登录，再在五分钟内操作')}</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void signOut()
        }}
      >
        <PlainSubmit label={t('重新登录')} isBusy={false} />
      </form>
    </div>
  )
}
