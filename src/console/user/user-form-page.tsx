import '@mantine/core/styles/ActionIcon.layer.css'
import '@mantine/core/styles/Input.layer.css'
import '@mantine/core/styles/PasswordInput.layer.css'
import { PasswordInput, TextInput } from '@mantine/core'
import { useForm, type UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { User } from '../../contract/user-api.ts'
import { DISPLAY_NAME_LENGTH_MAX, USERNAME_LENGTH_MAX } from '../../contract/user.ts'
import { call } from '../app/call.ts'
import { shownErrors } from '../app/form/form-errors.ts'
import { FormPage } from '../app/form/form-page.tsx'
import { submitOf, useFormSave } from '../app/form/form-save.ts'
import { NameRow } from '../app/form/name-row.tsx'
import { mergeEdits } from '../app/form/merge-edits.ts'
import { QuotaInput } from '../app/form/quota-input.tsx'
import { OwedNote } from '../app/label/owed.tsx'
import { StoredRecord } from '../app/form/stored-record.tsx'
import { areLimitsChanged } from '../app/limit/limit-form.ts'
import { LimitRows } from '../app/limit/limit-rows.tsx'
import { sessionUser } from '../app/session.ts'
import { useQuotaText } from '../app/status.ts'
import { paths } from '../paths.ts'
import { focusFirst } from '../ui/field/focus-first.ts'
import { type Change, FactRow, FormRow } from '../ui/form.tsx'
import { TagInput } from '../ui/tag-input.tsx'
import {
  formErrors,
  newUserForm,
  toCreation,
  toForm,
  toUpdate,
  type UserForm,
} from './user-form.ts'
import { AccessTokenRow } from './access-token-row.tsx'
import { IdentityRows, useManagesIdentities } from './identity-rows.tsx'
import { SecondFactorRow } from './second-factor-row.tsx'
import { SessionRow } from './session-row.tsx'
import styles from './user.module.css'

type UserFormApi = UseFormReturnType<UserForm>
const errorOf = (form: UserFormApi, field: keyof UserForm) => String(form.errors[field] ?? '')

function useSave(before: User | null) {
  const { t } = useTranslation()
  return useFormSave({
    send: async (form: UserForm, mayBeDone) => {
      if (before === null) {
        await call('POST /api/user/', { body: toCreation(form) })
        return
      }
      const params = { id: before.id }
      // A request without a response may have been stored, and a retry must not store it twice.
      const stored = mayBeDone ? await call('GET /api/user/:id', { params }) : before
      const wanted = mergeEdits(form, toForm(before), toForm(stored))
      await call('PUT /api/user/', { body: toUpdate(wanted, stored) })
    },
    isNew: before === null,
    list: 'users',
    message: before === null ? t('用户账户创建成功！') : t('用户信息更新成功！'),
    to: paths.user,
  })
}

interface NameRowsProps {
  form: UserFormApi
  isNew: boolean
  /** The signed-in user's own record: a new password requires the current one, on another page. */
  isOwn: boolean
}

function NameRows({ form, isNew, isOwn }: NameRowsProps) {
  const { t } = useTranslation()
  return (
    <>
      <NameRow
        label={t('用户名')}
        isNew={isNew}
        fieldRef={isNew ? focusFirst : null}
        placeholder={t('最多 {{max}} 个字符', { max: USERNAME_LENGTH_MAX })}
        input={form.getInputProps('username')}
      />
      <FormRow label={t('显示名称')} hint={isNew ? t('留空则与用户名相同') : undefined}>
        {(field) => (
          <TextInput
            {...field}
            autoComplete="off"
            maxLength={DISPLAY_NAME_LENGTH_MAX}
            {...form.getInputProps('display_name')}
            error={field.error}
          />
        )}
      </FormRow>
      {isOwn ? (
        <FactRow label={t('密码')}>
          <Link to={paths.profile}>{t('自己的密码在「个人信息」中修改')}</Link>
        </FactRow>
      ) : (
        <FormRow
          label={t('密码')}
          hint={isNew ? t('至少 8 位') : t('至少 8 位，留空则不修改')}
          error={errorOf(form, 'password')}
          isRequired={isNew}
        >
          {(field) => (
            <PasswordInput
              {...field}
              className={styles['secret'] ?? ''}
              autoComplete="new-password"
              visibilityToggleButtonProps={{ 'aria-label': t('显示密码') }}
              visibilityToggleFocusable
              {...form.getInputProps('password')}
              error={field.error}
            />
          )}
        </FormRow>
      )}
    </>
  )
}

/** Fields that only administrators can set. */
function StandingRows({ form }: { form: UserFormApi }) {
  const { t } = useTranslation()
  const { data: groups = [] } = useQuery({
    queryKey: ['groups'],
    queryFn: ({ signal }) => call('GET /api/group/', {}, { signal }),
  })
  const quota = form.getInputProps('quota')
  return (
    <>
      <FormRow label={t('分组')} hint={t('依次尝试；留空则为 default')}>
        {(field) => (
          <TagInput
            field={field}
            value={form.values.groups}
            onChange={(value) => form.setFieldValue('groups', value)}
            options={groups}
            placeholder={t('选择或输入分组')}
          />
        )}
      </FormRow>
      <FormRow label={t('剩余额度')} error={errorOf(form, 'quota')}>
        {(field) => (
          <QuotaInput
            field={field}
            value={form.values.quota}
            onChange={(value) => form.setFieldValue('quota', value)}
            onBlur={quota.onBlur}
          />
        )}
      </FormRow>
      <OwedNote quota={Number(form.values.quota)} />
    </>
  )
}

/** The user's linked sign-in methods besides the password. */
function BoundRows({ user }: { user: User }) {
  const { t } = useTranslation()
  const isManaged = useManagesIdentities(user)
  const external = [
    { label: 'GitHub', value: user.github_id },
    { label: t('微信'), value: user.wechat_id },
    { label: t('飞书'), value: user.lark_id },
    { label: 'OIDC', value: user.oidc_id },
  ]
  const bound = [{ label: t('邮箱'), value: user.email }, ...(isManaged ? [] : external)]
  return (
    <>
      {bound
        .filter(({ value }) => value !== '')
        .map(({ label, value }) => (
          <FactRow key={label} label={label}>
            {value}
          </FactRow>
        ))}
      {isManaged && <IdentityRows user={user} />}
    </>
  )
}

/** Differences from the stored user, for the save bar. */
function useChanges(form: UserFormApi, initial: UserForm): Change[] {
  const { t } = useTranslation()
  const now = form.values
  const list = (names: readonly string[]) => names.join(',') || 'default'
  const texts: { label: string; from: string; to: string }[] = [
    { label: t('用户名'), from: initial.username, to: now.username },
    { label: t('显示名称'), from: initial.display_name, to: now.display_name },
    { label: t('分组'), from: list(initial.groups), to: list(now.groups) },
    { label: t('剩余额度'), from: initial.quota, to: now.quota },
  ]
  return [
    ...texts.filter(({ from, to }) => from !== to),
    ...(now.password === '' ? [] : [{ label: t('密码') }]),
    ...(areLimitsChanged(initial.limits, now.limits) ? [{ label: t('限制与预算') }] : []),
  ]
}

function UserFormPage({ before }: { before: User | null }) {
  const { t } = useTranslation()
  const quotaText = useQuotaText()
  const isNew = before === null
  const [initial] = useState(isNew ? newUserForm : toForm(before))
  const form = useForm<UserForm>({
    initialValues: initial,
    validateInputOnBlur: ['quota'],
    validate: (values) => shownErrors(formErrors(values, before), t),
  })
  const { save, ...saving } = useSave(before)
  const changes = useChanges(form, initial)
  const submit = submitOf(form, save)
  return (
    <FormPage
      title={isNew ? t('添加用户') : t('编辑用户')}
      name={before?.username}
      onSubmit={submit}
      saving={saving}
      typed={{
        values: { ...form.values, password: '' },
        initial,
        isDirty: form.isDirty(),
        restore: form.setValues,
      }}
      changes={changes}
      note={isNew ? t('新用户是普通用户，额度和分组可在创建后修改') : ''}
      list={paths.user}
    >
      <NameRows form={form} isNew={isNew} isOwn={before?.id === sessionUser()?.id} />
      {before !== null && (
        <>
          <StandingRows form={form} />
          {before.limits !== undefined && (
            <LimitRows
              value={form.values.limits}
              onChange={(limits) => form.setFieldValue('limits', limits)}
              standing={before.limits}
              isChecked={errorOf(form, 'limits') !== ''}
            />
          )}
          <FactRow label={t('已用额度')}>{quotaText(before.used_quota)}</FactRow>
          <BoundRows user={before} />
          {before.second_factor === true && <SecondFactorRow user={before} />}
          <SessionRow user={before} />
          <AccessTokenRow user={before} />
        </>
      )}
    </FormPage>
  )
}

export function UserAddPage() {
  return <UserFormPage before={null} />
}

export function UserEditPage() {
  const { t } = useTranslation()
  const { id = '' } = useParams({ strict: false })
  return (
    <StoredRecord
      title={t('编辑用户')}
      what={t('这个用户')}
      queryKey={['user', id]}
      list={paths.user}
      load={(wanted, signal) => call('GET /api/user/:id', { params: { id: wanted } }, { signal })}
      nameOf={({ username }) => username}
    >
      {(user) => <UserFormPage before={user} key={user.id} />}
    </StoredRecord>
  )
}
