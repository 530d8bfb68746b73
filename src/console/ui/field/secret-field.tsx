import '@mantine/core/styles/ActionIcon.layer.css'
import '@mantine/core/styles/Input.layer.css'
import '@mantine/core/styles/PasswordInput.layer.css'
import { PasswordInput } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import type { RowField } from '../form.tsx'
import styles from './secret-field.module.css'

interface SecretFieldProps {
  field: RowField
  value: string
  onChange: (value: string) => void
  placeholder?: string
}

/** A secret that is written and never read back; what is being typed can be looked at. */
export function SecretField({ field, value, onChange, placeholder }: SecretFieldProps) {
  const { t } = useTranslation()
  return (
    <PasswordInput
      {...field}
      className={styles['secret'] ?? ''}
      // "off" is ignored for passwords: browsers would fill in the one of this site.
      autoComplete="new-password"
      visibilityToggleButtonProps={{ 'aria-label': t('显示密钥') }}
      placeholder={placeholder}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}
