import '@mantine/core/styles/Input.layer.css'
import { Textarea } from '@mantine/core'
import type { RowField } from '../form.tsx'
import styles from './text-area.module.css'

interface TextAreaProps {
  field: RowField
  value: string
  onChange: (value: string) => void
  onBlur?: () => void
  placeholder?: string
  /** Lines in view; more scroll. */
  rows?: number
  /** Written by machines for machines: JSON, keys. */
  isCode?: boolean
}

/** Several lines of text. */
export function TextArea(props: TextAreaProps) {
  const { field, value, onChange, onBlur, placeholder, rows = 4, isCode = false } = props
  return (
    <Textarea
      {...field}
      className={isCode ? (styles['code'] ?? '') : ''}
      rows={rows}
      autoComplete="off"
      spellCheck={!isCode}
      placeholder={placeholder}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onBlur={onBlur}
    />
  )
}
