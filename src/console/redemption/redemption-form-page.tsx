import '@mantine/core/styles/Input.layer.css'
import { TextInput } from '@mantine/core'
import { useForm, type UseFormReturnType } from '@mantine/form'
import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import type { Redemption } from '../../contract/redemption-api.ts'
import {
  REDEMPTION_COUNT_MAX,
  REDEMPTION_NAME_LENGTH_MAX,
  RedemptionStatus,
} from '../../contract/redemption.ts'
import { call } from '../app/call.ts'
import { downloadText } from '../ui/file/download.ts'
import { shownErrors } from '../app/form/form-errors.ts'
import { FormPage } from '../app/form/form-page.tsx'
import { submitOf, useFormSave } from '../app/form/form-save.ts'
import { NameRow } from '../app/form/name-row.tsx'
import { mergeEdits } from '../app/form/merge-edits.ts'
import { QuotaInput } from '../app/form/quota-input.tsx'
import { StoredRecord } from '../app/form/stored-record.tsx'
import { paths } from '../paths.ts'
import { focusFirst } from '../ui/field/focus-first.ts'
import { type Change, FormRow } from '../ui/form.tsx'
import {
  codesFile,
  formErrors,
  newRedemptionForm,
  type RedemptionForm,
  toCreation,
  toForm,
  toInput,
} from './redemption-form.ts'

type RedemptionFormApi = UseFormReturnType<RedemptionForm>
const errorOf = (form: RedemptionFormApi, field: keyof RedemptionForm) =>
  String(form.errors[field] ?? '')

function useSave(before: Redemption | null) {
  const { t } = useTranslation()
  return useFormSave({
    send: async (form: RedemptionForm) => {
      if (before !== null) {
        const { id } = before
        const stored = await call('GET /api/redemption/:id', { params: { id } })
        const body = { ...toInput(mergeEdits(form, toForm(before), toForm(stored))), id }
        await call('PUT /api/redemption/', { body })
        return
      }
      const creation = toCreation(form)
      const codes = await call('POST /api/redemption/', { body: creation })
      const { fileName, text } = codesFile(creation.name, codes)
      downloadText(fileName, text)
    },
    isNew: before === null,
    list: 'redemptions',
    message: before === null ? t('兑换码创建成功！') : t('兑换码更新成功！'),
    to: paths.redemption,
  })
}

function Fields({ form, before }: { form: RedemptionFormApi; before: Redemption | null }) {
  const { t } = useTranslation()
  const isNew = before === null
  const isUsed = before?.status === RedemptionStatus.used
  const quota = form.getInputProps('quota')
  return (
    <>
      <NameRow
        label={t('名称')}
        isNew={isNew}
        fieldRef={isNew ? focusFirst : null}
        placeholder={t('例如：新年活动')}
        lengthMax={REDEMPTION_NAME_LENGTH_MAX}
        input={form.getInputProps('name')}
      />
      <FormRow
        label={t('额度')}
        hint={isUsed ? t('已兑换，不能再修改') : t('每个兑换码')}
        error={errorOf(form, 'quota')}
      >
        {(field) => (
          <QuotaInput
            field={field}
            value={form.values.quota}
            onChange={(value) => form.setFieldValue('quota', value)}
            onBlur={quota.onBlur}
            disabled={isUsed}
          />
        )}
      </FormRow>
      {isNew && (
        <FormRow
          label={t('生成数量')}
          hint={t('最多 {{max}} 个', { max: REDEMPTION_COUNT_MAX })}
          error={errorOf(form, 'count')}
        >
          {(field) => (
            <TextInput
              {...field}
              inputMode="numeric"
              autoComplete="off"
              {...form.getInputProps('count')}
              error={field.error}
            />
          )}
        </FormRow>
      )}
    </>
  )
}

function RedemptionFormPage({ before }: { before: Redemption | null }) {
  const { t } = useTranslation()
  const isNew = before === null
  const [initial] = useState(isNew ? newRedemptionForm : toForm(before))
  const form = useForm<RedemptionForm>({
    initialValues: initial,
    validateInputOnBlur: ['quota', 'count'],
    validate: (values) => shownErrors(formErrors(values, isNew), t),
  })
  const { save, ...saving } = useSave(before)
  const { name, quota } = form.values
  const changes: Change[] = [
    { label: t('名称'), from: initial.name, to: name },
    { label: t('额度'), from: initial.quota, to: quota },
  ].filter(({ from, to }) => from !== to)
  const submit = submitOf(form, save)
  return (
    <FormPage
      title={isNew ? t('添加兑换码') : t('编辑兑换码')}
      name={before?.name}
      onSubmit={submit}
      saving={saving}
      typed={{ values: form.values, initial, isDirty: form.isDirty(), restore: form.setValues }}
      changes={changes}
      note={isNew ? t('创建后会下载兑换码，一行一个') : ''}
      list={paths.redemption}
    >
      <Fields form={form} before={before} />
    </FormPage>
  )
}

export function RedemptionAddPage() {
  return <RedemptionFormPage before={null} />
}

export function RedemptionEditPage() {
  const { t } = useTranslation()
  const { id = '' } = useParams({ strict: false })
  return (
    <StoredRecord
      title={t('编辑兑换码')}
      what={t('这个兑换码')}
      queryKey={['redemption', id]}
      list={paths.redemption}
      load={(wanted, signal) =>
        call('GET /api/redemption/:id', { params: { id: wanted } }, { signal })
      }
      nameOf={({ name }) => name}
    >
      {(redemption) => <RedemptionFormPage before={redemption} key={redemption.id} />}
    </StoredRecord>
  )
}
