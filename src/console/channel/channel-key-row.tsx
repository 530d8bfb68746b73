import { useTranslation } from 'react-i18next'
import { channelType } from '../../contract/channel-types.ts'
import { localText } from '../app/i18n.ts'
import { SecretField } from '../ui/field/secret-field.tsx'
import { TextArea } from '../ui/field/text-area.tsx'
import { FormRow } from '../ui/form.tsx'
import { Toggle } from '../ui/toggle.tsx'
import {
  batchKeys,
  hasField,
  hasStoredKey,
  needsKey,
  needsKeyAgain,
  oddKeys,
  repeatedKeys,
} from './channel-form.ts'
import { errorOf, type RowsProps } from './channel-form-rows.tsx'
import styles from './channel.module.css'

function useKeyHint({ form, before }: RowsProps): string | undefined {
  const { t } = useTranslation()
  const { parts, placeholder } = channelType(form.values.type).key
  if (before !== null && !needsKeyAgain(form.values, before)) {
    return hasStoredKey(before) ? t('已设置，留空表示不变') : t('尚未设置')
  }
  return parts.length > 1 ? localText(placeholder) : undefined
}

/** What is odd about the keys; none of it keeps the form from being sent. */
function KeyNotes({ form, before }: RowsProps) {
  const { t } = useTranslation()
  const { type, key, isBatch } = form.values
  const { parts, separator } = channelType(type).key
  const odd = oddKeys(form.values).length
  const repeated = isBatch ? repeatedKeys(key) : 0
  const notes = [
    ...(needsKeyAgain(form.values, before)
      ? [t('类型或地址已更改：密钥只会发往当初填写的地方，请重新填写')]
      : []),
    ...(odd === 0 ? [] : [t('密钥的格式应为 {{format}}', { format: parts.join(separator) })]),
    ...(repeated === 0 ? [] : [t('有 {{count}} 行重复的密钥，只会创建一次', { count: repeated })]),
  ]
  return notes.map((note) => (
    <output key={note} className={styles['again']}>
      {note}
    </output>
  ))
}

/** The key, or in a batch one key a line. */
export function KeyRow({ form, before }: RowsProps) {
  const { t } = useTranslation()
  const hint = useKeyHint({ form, before })
  const { type, key, isBatch } = form.values
  if (!hasField(type, 'key')) return null
  const canBatch = before === null && hasField(type, 'batch')
  const placeholder = localText(channelType(type).key.placeholder)
  const onChange = (text: string) => {
    form.setFieldValue('key', text)
    form.clearFieldError('key')
  }
  return (
    <FormRow
      label={t('密钥')}
      hint={hint}
      error={errorOf(form, 'key')}
      isRequired={needsKey(form.values, before)}
    >
      {(field) => (
        <>
          {canBatch && isBatch ? (
            <TextArea
              field={field}
              isCode
              rows={6}
              placeholder={t('一行一个密钥')}
              value={key}
              onChange={onChange}
            />
          ) : (
            <SecretField field={field} placeholder={placeholder} value={key} onChange={onChange} />
          )}
          <KeyNotes form={form} before={before} />
          {canBatch && (
            <Toggle
              label={
                isBatch && batchKeys(key).length > 0
                  ? t('批量创建，将添加 {{count}} 个渠道', { count: batchKeys(key).length })
                  : t('批量创建，一行一个密钥')
              }
              isOn={isBatch}
              onChange={(isOn) => form.setFieldValue('isBatch', isOn)}
            />
          )}
        </>
      )}
    </FormRow>
  )
}
