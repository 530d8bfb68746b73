import { Button, NativeSelect, TextInput } from '@mantine/core'
import { useForm, type UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Token } from '../../contract/token-api.ts'
import { TOKEN_NAME_LENGTH_MAX, TokenStatus } from '../../contract/token.ts'
import { availableModelsOf } from '../app/available-models.ts'
import { call } from '../app/call.ts'
import { shownErrors } from '../app/form/form-errors.ts'
import { FormPage } from '../app/form/form-page.tsx'
import { submitOf, useFormSave } from '../app/form/form-save.ts'
import { NameRow } from '../app/form/name-row.tsx'
import { QuotaInput } from '../app/form/quota-input.tsx'
import { StoredRecord } from '../app/form/stored-record.tsx'
import { areLimitsChanged } from '../app/limit/limit-form.ts'
import { LimitRows } from '../app/limit/limit-rows.tsx'
import { useHasFeature } from '../app/status.ts'
import { nowSeconds, stampText } from '../app/time.ts'
import { paths } from '../paths.ts'
import { focusFirst } from '../ui/field/focus-first.ts'
import { type Change, FormRow } from '../ui/form.tsx'
import { TagInput } from '../ui/tag-input.tsx'
import { Calendar } from '../ui/field/stamp-field.tsx'
import { Toggle } from '../ui/toggle.tsx'
import {
  captureChoices,
  expiryShortcuts,
  formErrors,
  newTokenForm,
  shouldReenable,
  toForm,
  toInput,
  toUpdate,
  type TokenForm,
} from './token-form.ts'
import { GroupRow } from './group-row.tsx'
import { lastUseText } from './token-columns.tsx'
import { TokenKeyDialog } from './token-key-dialog.tsx'
import { groupChoices, groupToAsk, useChoosableGroups } from './token-group.ts'
import styles from './token.module.css'

/** Creates or updates a token, and re-enables it if the edit removed the cause of its stop. */
async function saveToken(
  form: TokenForm,
  before: Token | null,
  mayBeDone: boolean,
): Promise<Token> {
  if (before === null) return call('POST /api/token/', { body: toInput(form, before) })
  const stored = await call('GET /api/token/:id', { params: { id: before.id } })
  const update = toUpdate(form, before, stored)
  // A request without a response may have been stored, and a retry must not store it twice.
  const seen = mayBeDone ? { remain_quota_was: stored.remain_quota } : {}
  const after = await call('PUT /api/token/', { body: { ...update, ...seen } })
  if (shouldReenable(stored, after, nowSeconds())) {
    await call('PUT /api/token/?status_only', {
      body: { id: before.id, status: TokenStatus.enabled },
    })
  }
  return after
}

/** `show` resolves when the user has closed the dialog with the key. */
function useSave(before: Token | null, show: (token: Token) => Promise<void>) {
  const { t } = useTranslation()
  return useFormSave({
    async send(form: TokenForm, mayBeDone) {
      const token = await saveToken(form, before, mayBeDone)
      if (before !== null || !token.key_shown_once) return
      await show(token)
      return t('令牌已创建')
    },
    isNew: before === null,
    list: 'tokens',
    isInstruction: before === null,
    message: before === null ? t('令牌已创建，请在列表中复制') : t('令牌更新成功！'),
    to: paths.token,
  })
}

function useTokenForm(initial: TokenForm, before: Token | null) {
  const { t } = useTranslation()
  return useForm<TokenForm>({
    initialValues: initial,
    validateInputOnBlur: ['expiry', 'quota', 'subnet'],
    validate: (form) => shownErrors(formErrors(form, before, nowSeconds()), t),
  })
}

type TokenFormApi = UseFormReturnType<TokenForm>
const errorOf = (form: TokenFormApi, field: keyof TokenForm) => String(form.errors[field] ?? '')

function ExpiryRow({ form }: { form: TokenFormApi }) {
  const { t } = useTranslation()
  // The timestamp set by a shortcut, which stays marked until the text changes.
  const [shortcut, setShortcut] = useState<{ label: string; stamp: string } | null>(null)
  const isChosen = (label: string, seconds: number | null) =>
    seconds === null
      ? form.values.expiry === ''
      : shortcut?.label === label && shortcut.stamp === form.values.expiry
  return (
    <FormRow label={t('过期时间')} error={errorOf(form, 'expiry')}>
      {(field) => (
        <>
          <TextInput
            {...field}
            placeholder={t('永不过期')}
            autoComplete="off"
            {...form.getInputProps('expiry')}
            error={field.error}
            rightSection={
              <Calendar
                label={t('选择到期日')}
                day={dayOf(form.values.expiry)}
                onChoose={(day) => {
                  form.setFieldValue('expiry', `${day} 23:59:59`)
                  form.clearFieldError('expiry')
                }}
              />
            }
          />
          <div className={styles['shortcuts']}>
            {expiryShortcuts.map(({ label, seconds }) => (
              <Button
                key={label}
                size="xs"
                variant="default"
                aria-pressed={isChosen(label, seconds)}
                className={styles['shortcut'] ?? ''}
                onClick={() => {
                  const stamp = seconds === null ? '' : stampText(nowSeconds() + seconds)
                  setShortcut({ label, stamp })
                  form.setFieldValue('expiry', stamp)
                  form.clearFieldError('expiry')
                }}
              >
                {t(label)}
              </Button>
            ))}
          </div>
        </>
      )}
    </FormRow>
  )
}

const DAY = /^\d{4}-\d{2}-\d{2}/

/** The date of an entered timestamp for the calendar; null if invalid. */
const dayOf = (expiry: string): string | null => DAY.exec(expiry.trim())?.[0] ?? null

function QuotaRow({ form }: { form: TokenFormApi }) {
  const { t } = useTranslation()
  const { quota, isUnlimited } = form.values
  const { onBlur } = form.getInputProps('quota')
  return (
    <FormRow label={t('额度')} hint={t('用完即停')} error={errorOf(form, 'quota')}>
      {(field) => (
        <>
          <QuotaInput
            field={field}
            value={quota}
            onChange={(value) => form.setFieldValue('quota', value)}
            onBlur={onBlur}
            disabled={isUnlimited}
          />
          <Toggle
            label={t('无限额度，只受账户余额限制')}
            isOn={isUnlimited}
            onChange={(isOn) => {
              form.setFieldValue('isUnlimited', isOn)
              // The entered quota no longer applies.
              if (isOn) form.clearFieldError('quota')
            }}
          />
        </>
      )}
    </FormRow>
  )
}

/** `group` selects the offered models; empty for those of the account. */
function ModelsRow({ form, group }: { form: TokenFormApi; group: string | null }) {
  const { t } = useTranslation()
  const { data: models = [] } = useQuery({
    ...availableModelsOf(group ?? ''),
    enabled: group !== null,
  })
  return (
    <FormRow label={t('模型')} hint={t('留空不限制')}>
      {(field) => (
        <TagInput
          field={field}
          value={form.values.models}
          onChange={(value) => form.setFieldValue('models', value)}
          options={models}
          placeholder={t('选择或输入模型')}
        />
      )}
    </FormRow>
  )
}

function CaptureRow({ form }: { form: TokenFormApi }) {
  const { t } = useTranslation()
  const { capture } = form.values
  const chosen = captureChoices.find(({ mode }) => mode === capture)
  return (
    <FormRow label={t('记录请求与响应')} hint={t('在日志详情中查看')}>
      {(field) => (
        <>
          <NativeSelect
            {...field}
            value={capture}
            onChange={({ currentTarget }) => {
              const choice = captureChoices.find(({ mode }) => mode === currentTarget.value)
              form.setFieldValue('capture', choice?.mode ?? 'off')
            }}
            data={captureChoices.map(({ mode, label }) => ({ value: mode, label: t(label) }))}
          />
          {chosen !== undefined && chosen.hint !== '' && (
            <p className={styles['choiceHint']}>{t(chosen.hint)}</p>
          )}
        </>
      )}
    </FormRow>
  )
}

/** Differences from the stored token, for the save bar. */
function useChanges(form: TokenFormApi, initial: TokenForm): Change[] {
  const { t } = useTranslation()
  const now = form.values
  const changed = (field: keyof TokenForm) => String(now[field]) !== String(initial[field])
  const never = (expiry: string) => expiry || t('永不过期')
  return [
    ...(changed('name') ? [{ label: t('名称'), from: initial.name, to: now.name }] : []),
    ...(changed('expiry')
      ? [{ label: t('过期时间'), from: never(initial.expiry), to: never(now.expiry) }]
      : []),
    ...(changed('quota') ? [{ label: t('额度'), from: initial.quota, to: now.quota }] : []),
    ...(changed('isUnlimited') ? [{ label: t('无限额度') }] : []),
    ...(changed('group') ? [{ label: t('令牌分组') }] : []),
    ...(changed('models') ? [{ label: t('模型') }] : []),
    ...(changed('subnet') ? [{ label: t('允许的网段') }] : []),
    ...(changed('capture') ? [{ label: t('记录请求与响应') }] : []),
    ...(areLimitsChanged(initial.limits, now.limits) ? [{ label: t('限制与预算') }] : []),
  ]
}

function TokenFormPage({ before }: { before: Token | null }) {
  const { t } = useTranslation()
  const hasFeature = useHasFeature()
  const isNew = before === null
  const [initial] = useState(isNew ? newTokenForm : toForm(before))
  const form = useTokenForm(initial, before)
  const choices = groupChoices(useChoosableGroups(), initial.group)
  const chosen = form.values.group
  const [created, setCreated] = useState<{ token: Token; close: () => void } | null>(null)
  const { save, ...saving } = useSave(
    before,
    (token) => new Promise((close) => setCreated({ token, close })),
  )
  const changes = useChanges(form, initial)
  return (
    <FormPage
      title={isNew ? t('添加令牌') : t('编辑令牌')}
      name={before?.name}
      onSubmit={submitOf(form, save)}
      saving={saving}
      typed={{ values: form.values, initial, isDirty: form.isDirty(), restore: form.setValues }}
      changes={changes}
      note={isNew ? t('创建后可复制密钥') : before.last_ip ? lastUseText(before, t) : ''}
      list={paths.token}
    >
      <NameRow
        label={t('名称')}
        isNew={isNew}
        fieldRef={isNew ? focusFirst : null}
        placeholder={t('例如：编辑器插件')}
        lengthMax={TOKEN_NAME_LENGTH_MAX}
        input={form.getInputProps('name')}
      />
      {created !== null && <TokenKeyDialog token={created.token} onClose={created.close} />}
      <ExpiryRow form={form} />
      <QuotaRow form={form} />
      {choices.length > 1 && (
        <GroupRow
          value={chosen}
          choices={choices}
          onChange={(group) => form.setFieldValue('group', group)}
        />
      )}
      <ModelsRow form={form} group={groupToAsk(choices, chosen)} />
      <FormRow label={t('允许的网段')} hint={t('留空不限制')} error={errorOf(form, 'subnet')}>
        {(field) => (
          <TextInput
            {...field}
            className={styles['mono'] ?? ''}
            autoComplete="off"
            placeholder="192.168.0.0/24, 2001:db8::/32"
            {...form.getInputProps('subnet')}
            error={field.error}
          />
        )}
      </FormRow>
      {hasFeature('token-capture') && <CaptureRow form={form} />}
      {hasFeature('limits') && (
        <LimitRows
          value={form.values.limits}
          onChange={(limits) => form.setFieldValue('limits', limits)}
          standing={before?.limits}
          isChecked={errorOf(form, 'limits') !== ''}
        />
      )}
    </FormPage>
  )
}

export function TokenAddPage() {
  return <TokenFormPage before={null} />
}

export function TokenEditPage() {
  const { t } = useTranslation()
  const { id = '' } = useParams({ strict: false })
  return (
    <StoredRecord
      title={t('编辑令牌')}
      what={t('这个令牌')}
      queryKey={['token', id]}
      list={paths.token}
      load={(wanted, signal) => call('GET /api/token/:id', { params: { id: wanted } }, { signal })}
      nameOf={({ name }) => name}
    >
      {(token) => <TokenFormPage before={token} key={token.id} />}
    </StoredRecord>
  )
}
