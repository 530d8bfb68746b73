import type { ReactNode } from 'react'
import { useTranslation } from 'react-i18next'
import { localText } from '../../app/i18n.ts'
import { type Change, Form, SaveBar } from '../../ui/form.tsx'
import { Asked } from './asked.tsx'
import type { OptionChange, OptionField, OptionGroup } from './option-field.ts'
import { type OptionForm, useOptionForm } from './option-form.ts'
import { OptionRow } from './option-row.tsx'
import styles from './option.module.css'
import type { Options } from './options.ts'
import { useUnsaved } from './unsaved.ts'

interface OptionGroupFormProps {
  group: OptionGroup
  options: Options
  /** Replaces the default of one row per field. */
  children?: ((form: OptionForm) => ReactNode) | undefined
}

/** The form of a group with its own save bar; saves only changed options. */
export function OptionGroupForm({ group, options, children }: OptionGroupFormProps) {
  const { t } = useTranslation()
  const known = group.fields.filter((field) => field.isOurs !== true || options.has(field.key))
  const form = useOptionForm({ ...group, fields: known }, options)
  const changes = useChangeTexts(form)
  useUnsaved(group.id, changes.length > 0 && !form.isBusy)
  return (
    <div className={styles['form']} data-changed={changes.length > 0}>
      <Form label={localText(group.title)} onSubmit={form.save}>
        {children === undefined
          ? known.map((field) => <OptionRow key={field.key} form={form} field={field} />)
          : children(form)}
        <Asked
          isAsking={form.isAsking}
          onClose={form.dismiss}
          question={form.questions.map(({ what, count }) => (
            <p key={what.zh}>
              {t('从下一次清理起，{{count}} 天前的{{what}}会自动删除，无法恢复', {
                count,
                what: localText(what),
              })}
            </p>
          ))}
          label={t('保存并删除')}
          onConfirm={form.save}
          position="top-end"
        >
          <SaveBar
            label={localText(group.save)}
            isBusy={form.isBusy}
            failure={form.failure}
            changes={changes}
            needsChanges
            cancelLabel={changes.length === 0 ? '' : t('放弃')}
            onCancel={form.giveUp}
          />
        </Asked>
      </Form>
    </div>
  )
}

/** Kinds whose values are shown in the save bar. */
const SHORT: readonly OptionField['kind'][] = [
  'line',
  'picture',
  'sender',
  'timeZone',
  'channelTypes',
  'optionalNumber',
  'address',
  'number',
]
/** Maximum length of a value in the save bar. */
const TOLD_MAX = 30

function useChangeTexts({ changes, options }: OptionForm): Change[] {
  const { t } = useTranslation()
  const told = (value: string) => value || t('空')
  return changes.map(({ field, value }: OptionChange) => {
    const label = localText(field.title)
    const from = options.value(field.key)
    if (field.kind === 'flag') return { label: `${label} ${value === 'true' ? t('开') : t('关')}` }
    const isShort =
      SHORT.includes(field.kind) && from.length <= TOLD_MAX && value.length <= TOLD_MAX
    return isShort ? { label, from: told(from), to: told(value) } : { label }
  })
}
