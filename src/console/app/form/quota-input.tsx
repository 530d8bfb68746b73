import '@mantine/core/styles/Input.layer.css'
import { TextInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { RowField } from '../../ui/field/row-field.tsx'
import { useDollarText } from '../status.ts'
import { pointsOf } from './points.ts'
import styles from './quota-input.module.css'

interface QuotaInputProps {
  field: RowField
  /** Points as entered. */
  value: string
  onChange: (value: string) => void
  onBlur?: () => void
  disabled?: boolean
}

/** Field for points that also shows their value in money. */
export function QuotaInput({ field, value, onChange, onBlur, disabled }: QuotaInputProps) {
  const { t } = useTranslation()
  const dollarText = useDollarText()
  const points = pointsOf(value)
  return (
    <TextInput
      {...field}
      inputMode="numeric"
      autoComplete="off"
      disabled={disabled === true}
      placeholder={disabled === true ? t('不限制') : ''}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      {...(onBlur === undefined ? {} : { onBlur })}
      rightSection={
        points === null ? null : (
          <span className={styles['worth']}>
            {t('等价 {{amount}}', { amount: dollarText(points) })}
          </span>
        )
      }
      rightSectionWidth="auto"
    />
  )
}
