import { useEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { channelType } from '../../contract/channel-types.ts'
import { localText } from '../app/i18n.ts'
import { useHasFeature } from '../app/status.ts'
import { ChoiceButtons } from '../ui/field/choice-buttons.tsx'
import type { RowField } from '../ui/field/row-field.tsx'
import { SecretField } from '../ui/field/secret-field.tsx'
import { TextArea } from '../ui/field/text-area.tsx'
import { FormRow } from '../ui/form.tsx'
import { Toggle } from '../ui/toggle.tsx'
import {
  batchKeys,
  hasField,
  hasStoredKey,
  type KeyMode,
  needsKey,
  needsKeyAgain,
  malformedKeys,
  repeatedKeys,
} from './channel-form.ts'
import { errorOf, type RowsProps } from './channel-form-rows.tsx'
import styles from './channel.module.css'
import { KeyHealth } from './key/key-health.tsx'

function useKeyHint({ form, before }: RowsProps): string | undefined {
  const { t } = useTranslation()
  const { parts, placeholder } = channelType(form.values.type).key
  if (before !== null && !needsKeyAgain(form.values, before)) {
    return hasStoredKey(before) ? t('已设置，留空表示不变') : t('尚未设置')
  }
  return parts.length > 1 ? localText(placeholder) : undefined
}

/** Notes on malformed keys, which do not prevent submission. */
function KeyNotes({ form, before }: RowsProps) {
  const { t } = useTranslation()
  const { type, key, isBatch } = form.values
  const { parts, separator } = channelType(type).key
  const odd = malformedKeys(form.values).length
  const repeated = isBatch ? repeatedKeys(key) : 0
  const isAdding = form.values.keyMode === 'add' && needsKeyAgain(form.values, before)
  const notes = [
    ...(needsKeyAgain(form.values, before)
      ? [t('类型或地址已更改：密钥只会发往当初填写的地方，请重新填写')]
      : []),
    ...(isAdding ? [t('改往别处时不能追加，请重新填写全部密钥')] : []),
    ...(odd === 0
      ? []
      : parts.length > 1
        ? [t('密钥的格式应为 {{format}}', { format: parts.join(separator) })]
        : [t('密钥中有空格，可能是几个密钥连在了一起')]),
    ...(repeated === 0 ? [] : [t('有 {{count}} 行重复的密钥，只会创建一次', { count: repeated })]),
  ]
  return notes.map((note) => (
    <output key={note} className={styles['again']}>
      {note}
    </output>
  ))
}

/** Choice of how several keys are used. */
function KeyModeChoice({ form, before }: RowsProps) {
  const { t } = useTranslation()
  const { keyMode } = form.values
  const modes: readonly { mode: KeyMode; label: string }[] =
    before === null
      ? [
          { mode: 'each', label: t('每个密钥一个渠道') },
          { mode: 'together', label: t('同一个渠道，轮流使用') },
        ]
      : [
          { mode: 'replace', label: t('替换全部密钥') },
          { mode: 'add', label: t('追加到已有的密钥') },
        ]
  return (
    <ChoiceButtons
      label={t('多个密钥')}
      choices={modes.map(({ mode, label }) => ({
        label,
        isChosen: mode === keyMode,
        onChoose: () => form.setFieldValue('keyMode', mode),
      }))}
    />
  )
}

function useToggleLabel({ form, before }: RowsProps): string {
  const { t } = useTranslation()
  const { key, isBatch, keyMode } = form.values
  const count = isBatch ? batchKeys(key).length : 0
  if (before !== null) return t('多个密钥，一行一个')
  if (count === 0) return t('批量创建，一行一个密钥')
  return keyMode === 'together'
    ? t('一个渠道，含 {{count}} 个密钥', { count })
    : t('批量创建，将添加 {{count}} 个渠道', { count })
}

interface KeyFieldProps extends Pick<RowsProps, 'form'> {
  field: RowField
  canBatch: boolean
}

/**
 * A hidden single-line key, or several visible ones; pasting several lines switches to the latter.
 */
function KeyField({ form, field, canBatch }: KeyFieldProps) {
  const { t } = useTranslation()
  const { type, key, isBatch } = form.values
  const isList = canBatch && isBatch
  const area = useRef<HTMLTextAreaElement>(null)
  const wasPasted = useRef(false)
  useEffect(() => {
    if (isList && wasPasted.current) area.current?.focus()
    wasPasted.current = false
  }, [isList])
  const onChange = (text: string) => {
    form.setFieldValue('key', text)
    form.clearFieldError('key')
  }
  function pasteLines(text: string) {
    wasPasted.current = true
    form.setFieldValue('isBatch', true)
    onChange(text)
  }
  if (isList) {
    return (
      <TextArea
        ref={area}
        field={field}
        isCode
        rows={6}
        placeholder={t('一行一个密钥')}
        value={key}
        onChange={onChange}
      />
    )
  }
  return (
    <SecretField
      field={field}
      placeholder={localText(channelType(type).key.placeholder)}
      value={key}
      onChange={onChange}
      onPasteLines={canBatch ? pasteLines : undefined}
    />
  )
}

/** The key, or several with one per line. */
export function KeyRow({ form, before }: RowsProps) {
  const { t } = useTranslation()
  const hint = useKeyHint({ form, before })
  const toggleLabel = useToggleLabel({ form, before })
  const knowsSeveral = useHasFeature()('channel-keys')
  const { type, isBatch } = form.values
  if (!hasField(type, 'key')) return null
  const canBatch = (before === null || knowsSeveral) && hasField(type, 'batch')
  return (
    <>
      <FormRow
        label={t('密钥')}
        hint={hint}
        error={errorOf(form, 'key')}
        isRequired={needsKey(form.values, before)}
      >
        {(field) => (
          <>
            <KeyField form={form} field={field} canBatch={canBatch} />
            <KeyNotes form={form} before={before} />
            {canBatch && (
              <Toggle
                label={toggleLabel}
                isOn={isBatch}
                onChange={(isOn) => form.setFieldValue('isBatch', isOn)}
              />
            )}
            {canBatch && isBatch && knowsSeveral && <KeyModeChoice form={form} before={before} />}
          </>
        )}
      </FormRow>
      {before !== null && <KeyHealth channelId={before.id} count={before.key_count ?? 1} />}
    </>
  )
}
