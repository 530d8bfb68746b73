import '@mantine/core/styles/Input.layer.css'
import { Textarea } from '@mantine/core'
import type { Ref } from 'react'
import { asTyped } from './as-typed.ts'
import type { RowField } from './row-field.tsx'
import styles from './text-area.module.css'

interface TextAreaProps {
  ref?: Ref<HTMLTextAreaElement>
  field: RowField
  value: string
  onChange: (value: string) => void
  onBlur?: () => void
  placeholder?: string
  /** Visible lines; more content scrolls. */
  rows?: number
  /** Machine-readable text: JSON, keys. */
  isCode?: boolean
}

/** For prose in a form whose other fields are for programs. */
const asWritten = { autoCapitalize: 'sentences', autoCorrect: 'on', spellCheck: true } as const

/** A multi-line text field. */
export function TextArea(props: TextAreaProps) {
  const { ref, field, value, onChange, onBlur, placeholder, rows = 4, isCode = false } = props
  return (
    <Textarea
      ref={ref}
      {...field}
      className={isCode ? (styles['code'] ?? '') : ''}
      rows={rows}
      autoComplete="off"
      {...(isCode ? asTyped : asWritten)}
      placeholder={placeholder}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      onBlur={onBlur}
    />
  )
}
