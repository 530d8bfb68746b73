import '@mantine/core/styles/Input.layer.css'
import { NativeSelect, TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { localText } from '../../app/i18n.ts'
import { useDollarText } from '../../app/status.ts'
import type { RowField } from '../../ui/field/row-field.tsx'
import { SecretField } from '../../ui/field/secret-field.tsx'
import { TextArea } from '../../ui/field/text-area.tsx'
import { FormRow } from '../../ui/form.tsx'
import { RemoteImage } from '../../ui/remote-image.tsx'
import { isOwnApi } from '../../ui/rich/own-api.ts'
import { Toggle } from '../../ui/toggle.tsx'
import { ConfirmedToggle } from './confirmed-toggle.tsx'
import { DomainField } from './domain-field.tsx'
import { type FieldOf, isOn, isRatios, type OptionField } from './option-field.ts'
import type { OptionForm } from './option-form.ts'
import styles from './option.module.css'

interface ControlProps<Field> {
  form: OptionForm
  field: Field
  row: RowField
}

function NumberControl({ form, field, row }: ControlProps<FieldOf<'number'>>) {
  const { t } = useTranslation()
  const dollarText = useDollarText()
  const text = form.text(field)
  const points = Number(text)
  const unit = field.unit === undefined || field.unit === 'points' ? '' : localText(field.unit)
  const worth =
    field.unit === 'points' && text !== '' && Number.isFinite(points)
      ? t('等价 {{amount}}', { amount: dollarText(points) })
      : unit
  return (
    <div className={styles['number']}>
      <TextInput
        {...row}
        type="number"
        min={field.min}
        max={field.max}
        step={field.step}
        autoComplete="off"
        value={text}
        onChange={(event) => form.edit(field.key, event.currentTarget.value)}
        // Otherwise scrolling with the wheel would change the focused number.
        onWheel={(event) => event.currentTarget.blur()}
      />
      {worth !== '' && <span>{worth}</span>}
    </div>
  )
}

/** Secrets are write-only: an empty field keeps the value, and only the button removes it. */
function SecretControl({ form, field, row }: ControlProps<FieldOf<'secret'>>) {
  const { t } = useTranslation()
  const { key } = field
  const isSet = form.options.isSecretSet(key)
  const isCleared = form.isEdited(key) && form.text(field) === ''
  const state = isSet === false ? t('尚未设置') : t('留空则不修改')
  return (
    <div className={styles['secret']}>
      <SecretField
        field={row}
        value={form.text(field)}
        onChange={(text) => form.edit(key, text === '' ? null : text)}
        placeholder={
          isCleared ? t('保存后清除') : isSet === true ? t('已设置，留空则不修改') : state
        }
      />
      {isSet !== false && (
        <button type="button" onClick={() => form.edit(key, isCleared ? null : '')}>
          {isCleared ? t('不清除') : t('清除')}
        </button>
      )}
    </div>
  )
}

function Control({ form, field, row }: ControlProps<OptionField>) {
  const { t } = useTranslation()
  const value = form.text(field)
  const change = (text: string) => form.edit(field.key, text)
  const placeholder = field.placeholder === undefined ? '' : localText(field.placeholder)
  switch (field.kind) {
    case 'number':
      return <NumberControl form={form} field={field} row={row} />
    case 'secret':
      return <SecretControl form={form} field={field} row={row} />
    case 'domains':
      return <DomainField row={row} offered={field.default} value={value} onChange={change} />
    case 'flag': {
      const set = (next: boolean) => change(String(next))
      return field.confirmOff === undefined ? (
        <Toggle field={row} isOn={isOn(value)} onChange={set} />
      ) : (
        <ConfirmedToggle field={row} isOn={isOn(value)} onChange={set} confirm={field.confirmOff} />
      )
    }
    case 'choice':
      return (
        <NativeSelect
          {...row}
          className={styles['choice'] ?? ''}
          value={value}
          onChange={(event) => change(event.currentTarget.value)}
          data={field.choices.map((choice) => ({
            value: choice.value,
            label: localText(choice.title),
          }))}
        />
      )
    case 'longText':
    case 'ratios':
    case 'groupRatios':
    case 'usableGroups':
    case 'priceTiers':
    case 'modelCapabilities':
      return (
        <TextArea
          field={row}
          value={value}
          onChange={change}
          rows={'rows' in field ? field.rows : RATIO_LINES}
          isCode={field.kind !== 'longText' || field.isCode === true}
          placeholder={placeholder}
        />
      )
    default: {
      const picture = field.kind === 'picture' ? form.options.value(field.key) : ''
      return (
        <>
          <TextInput
            {...row}
            autoComplete="off"
            inputMode={field.kind === 'address' ? 'url' : 'text'}
            spellCheck={false}
            placeholder={placeholder}
            value={value}
            onChange={(event) => change(event.currentTarget.value)}
          />
          {picture !== '' && !isOwnApi(picture) && (
            <RemoteImage
              className={styles['picture']}
              address={picture}
              alt={t('当前图片')}
              failure={t('图片加载失败，请检查地址')}
            />
          )}
        </>
      )
    }
  }
}

const RATIO_LINES = 10

/** Kinds that need the full width. */
const isWide = ({ kind }: OptionField): boolean =>
  isRatios(kind) || ['longText', 'usableGroups', 'priceTiers', 'modelCapabilities'].includes(kind)

/** An option as a row of its group's form. */
export function OptionRow({ form, field }: { form: OptionForm; field: OptionField }) {
  return (
    <FormRow
      label={localText(field.title)}
      {...(field.hint === undefined ? {} : { hint: localText(field.hint) })}
      error={form.problem(field.key)}
      isWide={isWide(field)}
    >
      {(row) => <Control form={form} field={field} row={row} />}
    </FormRow>
  )
}
