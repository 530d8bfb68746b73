import '@mantine/core/styles/ActionIcon.layer.css'
import '@mantine/core/styles/Input.layer.css'
import '@mantine/core/styles/PasswordInput.layer.css'
import { PasswordInput, TextInput } from '@mantine/core'
import { useForm, type UseFormReturnType } from '@mantine/form'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Self } from '../../contract/user-api.ts'
import { groupNames } from '../../contract/user.ts'
import { CallFailure } from '../app/call-client.ts'
import { call } from '../app/call.ts'
import { shownErrors } from '../app/form/form-errors.ts'
import { submitOf } from '../app/form/form-save.ts'
import { LeaveQuestion } from '../app/form/leave-question.tsx'
import { selfQuery } from '../app/self.ts'
import { sessionUser, setSessionUser } from '../app/session.ts'
import { toast } from '../app/toast.ts'
import { useExternalAccounts } from '../app/sign-in/external-accounts.ts'
import { paths } from '../paths.ts'
import { focusFirst } from '../ui/field/focus-first.ts'
import { FactRow, Form, FormRow, SaveBar } from '../ui/form.tsx'
import { GroupTag } from '../app/label/group-tags.tsx'
import { Loading } from '../ui/loading.tsx'
import { Page } from '../ui/page.tsx'
import { LoadError } from '../ui/states.tsx'
import styles from './profile.module.css'
import { OwnLimits } from './own-limits.tsx'
import {
  afterSaving,
  noSecrets,
  type ProfileForm,
  profileErrors,
  savedNames,
  toSelfUpdate,
} from './profile-form.ts'

type ProfileFormApi = UseFormReturnType<ProfileForm>

function useSave(mustChange: boolean) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const client = useQueryClient()
  const [isBusy, setIsBusy] = useState(false)
  const [failure, setFailure] = useState('')
  async function save(form: ProfileForm, seen: ProfileForm): Promise<boolean> {
    setIsBusy(true)
    setFailure('')
    try {
      const update = toSelfUpdate(form, seen)
      await call('PUT /api/user/self', { body: update })
      const user = sessionUser()
      if (user !== null)
        setSessionUser({ ...user, ...namesOf(update), must_change_password: false })
      toast.success(t('用户信息更新成功！'))
      await client.invalidateQueries({ queryKey: selfQuery.queryKey })
      if (mustChange) await navigate({ to: paths.token })
      return true
    } catch (error) {
      if (!(error instanceof CallFailure)) throw error
      setFailure(error.message)
      return false
    } finally {
      setIsBusy(false)
    }
  }
  return { save, isBusy, failure }
}

const namesOf = ({ username, display_name }: Partial<ProfileForm>) => ({
  ...(username ? { username } : {}),
  ...(display_name ? { display_name } : {}),
})

interface SecretRowProps {
  form: ProfileFormApi
  name: 'password' | 'password2' | 'old_password'
  label: string
  hint?: string
  autoComplete: string
  isFirst?: boolean
}

function SecretRow({ form, name, label, hint, autoComplete, isFirst = false }: SecretRowProps) {
  const { t } = useTranslation()
  return (
    <FormRow label={label} hint={hint} error={String(form.errors[name] ?? '')}>
      {(field) => (
        <PasswordInput
          {...field}
          className={styles['secret'] ?? ''}
          autoComplete={autoComplete}
          ref={isFirst ? focusFirst : null}
          visibilityToggleButtonProps={{ 'aria-label': t('显示密码') }}
          visibilityToggleFocusable
          {...form.getInputProps(name)}
          error={field.error}
        />
      )}
    </FormRow>
  )
}

function NameRow({
  form,
  name,
  label,
}: {
  form: ProfileFormApi
  name: 'username' | 'display_name'
  label: string
}) {
  return (
    <FormRow label={label} error={String(form.errors[name] ?? '')}>
      {(field) => (
        <TextInput
          {...field}
          autoComplete={name === 'username' ? 'username' : 'nickname'}
          {...form.getInputProps(name)}
          error={field.error}
        />
      )}
    </FormRow>
  )
}

function ProfileFields({ self }: { self: Self }) {
  const { t } = useTranslation()
  const navigate = useNavigate()
  const mustChange = sessionUser()?.must_change_password === true
  const accounts = useExternalAccounts()
  const hasExternalSignIn =
    accounts.length > 0 ||
    [self.github_id, self.wechat_id, self.lark_id, self.oidc_id].some(Boolean)
  const { save, isBusy, failure } = useSave(mustChange)
  const isGivenUp = useRef(false)
  const form = useForm<ProfileForm>({
    initialValues: {
      username: self.username,
      display_name: self.display_name,
      ...noSecrets,
    },
    validate: (values) => shownErrors(profileErrors(values, { mustChange, hasExternalSignIn }), t),
  })
  const wantsPassword = mustChange || form.values.password !== ''
  const submit = submitOf(form, async (values) => {
    const seen = form.getInitialValues()
    const isSaved = await save(values, seen)
    if (!isSaved) return
    form.setInitialValues({ ...savedNames(values, seen), ...noSecrets })
    form.setValues(afterSaving(values, form.getValues(), seen))
  })
  const changes = [
    ...(form.isDirty('username') ? [{ label: t('用户名') }] : []),
    ...(form.isDirty('display_name') ? [{ label: t('显示名称') }] : []),
    ...(form.isDirty('password') ? [{ label: t('密码') }] : []),
  ]
  return (
    <Form label={t('个人信息')} onSubmit={submit}>
      <NameRow form={form} name="username" label={t('用户名')} />
      <NameRow form={form} name="display_name" label={t('显示名称')} />
      <FactRow label={t('分组')}>
        <span className={styles['groups']}>
          {groupNames(self.group).map((name) => (
            <GroupTag key={name} name={name} />
          ))}
        </span>
      </FactRow>
      <OwnLimits />
      <SecretRow
        form={form}
        name="password"
        label={t('新密码')}
        hint={mustChange ? t('至少 8 位') : t('至少 8 位，留空则不修改')}
        autoComplete="new-password"
        isFirst={mustChange}
      />
      {wantsPassword && (
        <>
          <SecretRow
            form={form}
            name="password2"
            label={t('再次输入新密码')}
            autoComplete="new-password"
          />
          <SecretRow
            form={form}
            name="old_password"
            label={t('当前密码')}
            {...(hasExternalSignIn ? { hint: t('从未设置过密码可留空') } : {})}
            autoComplete="current-password"
          />
        </>
      )}
      <SaveBar
        label={t('保存')}
        isBusy={isBusy}
        failure={failure}
        note={wantsPassword ? t('修改密码后，其他设备上的登录和系统访问令牌会失效') : ''}
        changes={changes}
        needsChanges
        cancelLabel={t('取消')}
        onCancel={() => {
          if (mustChange) return form.reset()
          isGivenUp.current = true
          void navigate({ to: paths.token })
        }}
      />
      <LeaveQuestion isNeeded={() => changes.length > 0 && !isBusy && !isGivenUp.current} />
    </Form>
  )
}

export function ProfilePage() {
  const { t } = useTranslation()
  const { data, error, refetch } = useQuery(selfQuery)
  if (error !== null && data === undefined) {
    return (
      <Page title={t('个人信息')}>
        <LoadError what={t('个人信息')} error={error} onRetry={() => void refetch()} />
      </Page>
    )
  }
  if (data === undefined) return <Loading prompt={t('个人信息')} />
  return (
    <Page title={t('个人信息')}>
      {sessionUser()?.must_change_password === true && (
        <p role="note" className={styles['mustChange']}>
          {t('您正在使用默认密码，任何人都可能猜到它。设置新密码之前，其他功能不可用')}
        </p>
      )}
      <ProfileFields self={data} key={data.id} />
    </Page>
  )
}
