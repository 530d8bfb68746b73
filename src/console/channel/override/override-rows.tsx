import { Button, TextInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import type { RowField } from '../../ui/field/row-field.tsx'
import { TextArea } from '../../ui/field/text-area.tsx'
import { FormRow } from '../../ui/form.tsx'
import { errorOf, type RowsProps } from '../channel-form-rows.tsx'
import styles from '../channel.module.css'

interface SecretRowProps extends RowsProps {
  name: 'proxy' | 'headers'
  /** Member of `config`. */
  member: string
  label: string
  hint: string
  placeholder: string
  children: (
    field: RowField,
    input: { value: string; placeholder: string; onChange: (text: string) => void },
  ) => ReactNode
}

/** A write-only field with a button to remove the stored value. */
function SecretRow({ form, before, name, member, label, hint, ...rest }: SecretRowProps) {
  const { t } = useTranslation()
  const value = form.values.overrides[name]
  const isSet = before?.config_set?.includes(member) === true
  const set = (text: string | null) => {
    form.setFieldValue(`overrides.${name}`, text)
    form.clearFieldError(`overrides.${name}`)
  }
  const placeholder = isSet
    ? value === null
      ? t('保存后移除')
      : t('已设置，留空表示不变')
    : rest.placeholder
  return (
    <FormRow
      label={label}
      hint={isSet ? `${t('已设置')} · ${hint}` : hint}
      error={errorOf(form, `overrides.${name}`)}
    >
      {(field) => (
        <>
          {rest.children(field, { value: value ?? '', placeholder, onChange: set })}
          {isSet && (
            <div className={styles['buttons']}>
              <Button
                size="xs"
                variant="default"
                onClick={() => set(value === null ? '' : null)}
                aria-label={`${value === null ? t('不移除') : t('移除')} ${label}`}
              >
                {value === null ? t('不移除') : t('移除')}
              </Button>
            </div>
          )}
        </>
      )}
    </FormRow>
  )
}

/** Fields for what the channel changes in every request: proxy, headers, parameters. */
export function OverrideRows({ form, before }: RowsProps) {
  const { t } = useTranslation()
  return (
    <>
      <SecretRow
        form={form}
        before={before}
        name="proxy"
        member="proxy"
        label={t('网络代理')}
        hint={t('只用于这个渠道，可留空')}
        placeholder="http://user:password@127.0.0.1:3128"
      >
        {(field, { onChange, ...input }) => (
          <TextInput
            {...field}
            {...input}
            className={styles['mono'] ?? ''}
            inputMode="url"
            autoComplete="off"
            onChange={(event) => onChange(event.currentTarget.value)}
          />
        )}
      </SecretRow>
      <SecretRow
        form={form}
        before={before}
        name="headers"
        member="header_override"
        label={t('请求头覆盖')}
        hint={t('{api_key} 代表渠道密钥，值为空则去掉该请求头')}
        placeholder='{"X-Team": "blue"}'
      >
        {(field, input) => <TextArea field={field} isCode rows={3} {...input} />}
      </SecretRow>
      <FormRow
        label={t('参数覆盖')}
        hint={t('替换请求体里的同名参数，可留空')}
        error={errorOf(form, 'overrides.params')}
      >
        {(field) => (
          <TextArea
            field={field}
            isCode
            rows={3}
            placeholder='{"temperature": 0.7}'
            value={form.values.overrides.params}
            onChange={(text) => {
              form.setFieldValue('overrides.params', text)
              form.clearFieldError('overrides.params')
            }}
          />
        )}
      </FormRow>
    </>
  )
}
