import { TextInput } from '@mantine/core'
import type { UseFormReturnType } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import type { Channel } from '../../contract/channel-api.ts'
import { channelType, type ChannelTypeField } from '../../contract/channel-types.ts'
import { call } from '../app/call.ts'
import { NameRow } from '../app/form/name-row.tsx'
import { localText } from '../app/i18n.ts'
import { ChoiceButtons } from '../ui/field/choice-buttons.tsx'
import { focusFirst } from '../ui/field/focus-first.ts'
import { SecretField } from '../ui/field/secret-field.tsx'
import { TextArea } from '../ui/field/text-area.tsx'
import { FormRow } from '../ui/form.tsx'
import { TagInput } from '../ui/tag-input.tsx'
import { type ChannelForm, isOptionalPart, keepsSecret } from './channel-form.ts'
import styles from './channel.module.css'

export type ChannelFormApi = UseFormReturnType<ChannelForm>
export const errorOf = (form: ChannelFormApi, field: string) => String(form.errors[field] ?? '')

export interface RowsProps {
  form: ChannelFormApi
  /** The edited channel; null for a new one. */
  before: Channel | null
}

export function NameRows({ form, before }: RowsProps) {
  const { t } = useTranslation()
  const { data: groups = [] } = useQuery({
    queryKey: ['groups'],
    queryFn: ({ signal }) => call('GET /api/group/', {}, { signal }),
  })
  return (
    <>
      <NameRow
        label={t('名称')}
        isNew={before === null}
        fieldRef={before === null ? focusFirst : null}
        placeholder={t('例如：OpenAI 主账户')}
        input={form.getInputProps('name')}
      />
      <FormRow
        label={t('分组')}
        hint={t('这些分组的用户可以使用')}
        error={errorOf(form, 'groups')}
        isRequired
      >
        {(field) => (
          <TagInput
            field={field}
            value={form.values.groups}
            onChange={(value) => {
              form.setFieldValue('groups', value)
              form.clearFieldError('groups')
            }}
            options={groups}
            placeholder={t('选择或输入分组')}
          />
        )}
      </FormRow>
    </>
  )
}

export function AddressRow({ form }: Pick<RowsProps, 'form'>) {
  const { t } = useTranslation()
  const { mode, label, placeholder } = channelType(form.values.type).baseUrlField
  if (mode === 'hidden') return null
  const isRequired = mode === 'required'
  return (
    <FormRow
      label={localText(label)}
      hint={isRequired ? undefined : t('留空使用官方地址')}
      error={errorOf(form, 'baseUrl')}
      isRequired={isRequired}
    >
      {(field) => (
        <TextInput
          {...field}
          className={styles['mono'] ?? ''}
          inputMode="url"
          autoComplete="off"
          placeholder={placeholder}
          {...form.getInputProps('baseUrl')}
          error={field.error}
        />
      )}
    </FormRow>
  )
}

/** A field that only this type has. */
function TypeField({ form, before, field: spec }: RowsProps & { field: ChannelTypeField }) {
  const { t } = useTranslation()
  const { config: member, secret, multiline, required, placeholder, choices } = spec
  const path = `config.${member}`
  const isKept = secret && keepsSecret(form.values, before, member)
  const value = form.values.config[member]
  const shown = isKept ? t('已设置，留空表示不变') : placeholder
  const onChange = (text: string) => {
    form.setFieldValue(path, text)
    form.clearFieldError(path)
  }
  return (
    <FormRow
      label={localText(spec.label)}
      hint={isKept ? t('已设置') : undefined}
      error={errorOf(form, path)}
      isRequired={required && !isKept && !isOptionalPart(form.values, before, member)}
    >
      {(field) =>
        choices !== undefined ? (
          <ChoiceButtons
            label={localText(spec.label)}
            choices={choices.map((choice) => ({
              label: localText(choice.label),
              isChosen: choice.value === (value || spec.default),
              onChoose: () => onChange(choice.value),
            }))}
          />
        ) : multiline ? (
          <TextArea
            field={field}
            isCode
            rows={6}
            placeholder={shown}
            value={value}
            onChange={onChange}
          />
        ) : secret ? (
          <SecretField field={field} placeholder={shown} value={value} onChange={onChange} />
        ) : (
          <TextInput
            {...field}
            className={styles['mono'] ?? ''}
            autoComplete="off"
            placeholder={shown}
            value={value}
            onChange={(event) => onChange(event.currentTarget.value)}
          />
        )
      }
    </FormRow>
  )
}

export function TypeFields({ form, before }: RowsProps) {
  return channelType(form.values.type).fields.map((field) => (
    <TypeField key={field.config} form={form} before={before} field={field} />
  ))
}

export function OrderRows({ form, before }: RowsProps) {
  const { t } = useTranslation()
  const weight = form.getInputProps('weight')
  return (
    <>
      <FormRow label={t('优先级')} hint={t('数字大的先用')} error={errorOf(form, 'priority')}>
        {(field) => (
          <TextInput
            {...field}
            // No numeric keypad: on phones it lacks the minus sign.
            autoComplete="off"
            // An empty field leaves the value unchanged.
            placeholder={String(before?.priority ?? 0)}
            {...form.getInputProps('priority')}
            error={field.error}
          />
        )}
      </FormRow>
      <FormRow label={t('权重')} hint={t('同一优先级内按权重分配')} error={errorOf(form, 'weight')}>
        {(field) => (
          <TextInput
            {...field}
            inputMode="numeric"
            autoComplete="off"
            placeholder={String(before?.weight ?? 0)}
            {...weight}
            error={field.error}
            onBlur={(event) => {
              if (Number(form.values.weight) < 0) form.setFieldValue('weight', '0')
              weight.onBlur?.(event)
            }}
          />
        )}
      </FormRow>
    </>
  )
}
