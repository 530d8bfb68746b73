import '@mantine/core/styles/ActionIcon.layer.css'
import '@mantine/core/styles/Input.layer.css'
import '@mantine/core/styles/PasswordInput.layer.css'
import { PasswordInput } from '@mantine/core'
import type { ClipboardEvent } from 'react'
import { useTranslation } from 'react-i18next'
import type { RowField } from './row-field.tsx'
import styles from './secret-field.module.css'

interface SecretFieldProps {
  field: RowField
  value: string
  onChange: (value: string) => void
  placeholder?: string
  /**
   * Called if several lines are pasted, which a single-line field cannot hold, with the resulting
   * text.
   */
  onPasteLines?: ((text: string) => void) | undefined
}

/** Text of a field after pasting at its cursor. */
function withPasted(input: HTMLInputElement, pasted: string): string {
  const { value, selectionStart, selectionEnd } = input
  return value.slice(0, selectionStart ?? 0) + pasted + value.slice(selectionEnd ?? 0)
}

/** A write-only secret. The user can reveal the text while entering it. */
export function SecretField(props: SecretFieldProps) {
  const { field, value, onChange, placeholder, onPasteLines } = props
  const { t } = useTranslation()
  function paste(event: ClipboardEvent<HTMLInputElement>) {
    const text = event.clipboardData.getData('text')
    if (onPasteLines === undefined || !/\n/.test(text.trim())) return
    event.preventDefault()
    onPasteLines(withPasted(event.currentTarget, text))
  }
  return (
    <PasswordInput
      {...field}
      className={styles['secret'] ?? ''}
      // Browsers ignore "off" for passwords and would fill in the saved one for this site.
      autoComplete="new-password"
      visibilityToggleButtonProps={{ 'aria-label': t('显示密钥') }}
      visibilityToggleFocusable
      placeholder={placeholder}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onPaste={paste}
    />
  )
}
