import { type ComponentProps, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { asTyped } from './as-typed.ts'
import styles from './plain-field.module.css'

interface PlainFieldProps extends ComponentProps<'input'> {
  label: string
  /** Error message; undefined if the field is valid. */
  error?: string | undefined
}

/**
 * Field for the pages before sign-in: a native input, without the widget library. Passwords have a
 * visibility button.
 */
export function PlainField({ label, error, type = 'text', ...input }: PlainFieldProps) {
  const { t } = useTranslation()
  const id = useId()
  const [isVisible, setIsVisible] = useState(false)
  const isSecret = type === 'password'
  return (
    <div className={styles['field']}>
      <label htmlFor={id}>{label}</label>
      <div className={styles['box']}>
        <input
          {...asTyped}
          {...input}
          id={id}
          type={isSecret && isVisible ? 'text' : type}
          aria-invalid={error !== undefined}
          aria-describedby={error === undefined ? undefined : `${id}-error`}
        />
        {isSecret && (
          <button type="button" aria-pressed={isVisible} onClick={() => setIsVisible(!isVisible)}>
            {isVisible ? t('隐藏') : t('显示')}
          </button>
        )}
      </div>
      {error !== undefined && (
        <p id={`${id}-error`} className={styles['error']}>
          {error}
        </p>
      )}
    </div>
  )
}

interface PlainSubmitProps {
  label: string
  isBusy: boolean
  isDisabled?: boolean
}

/** Submit button of these pages. Like `BusyButton`, it keeps the focus while it is inactive. */
export function PlainSubmit({ label, isBusy, isDisabled = false }: PlainSubmitProps) {
  const isOff = isBusy || isDisabled
  return (
    <button
      type="submit"
      className={styles['submit']}
      aria-disabled={isOff}
      aria-busy={isBusy}
      // Also handles Enter in a field.
      onClick={(event) => isOff && event.preventDefault()}
      // Leaving a field may insert an error below it, which would move the button away before the
      // click.
      onMouseDown={(event) => event.preventDefault()}
    >
      {label}
    </button>
  )
}
