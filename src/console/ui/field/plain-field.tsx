import { type ComponentProps, useId, useState } from 'react'
import { useTranslation } from 'react-i18next'
import { asTyped } from './as-typed.ts'
import styles from './plain-field.module.css'

interface PlainFieldProps extends ComponentProps<'input'> {
  label: string
  /** One sentence; absent: the field is fine. */
  error?: string | undefined
}

/**
 * A field of the pages that strangers load first: the browser's own input, without the widget
 * library. A password can be looked at.
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

/** The one button of such a page. It keeps the focus while it cannot be pressed, like `BusyButton`. */
export function PlainSubmit({ label, isBusy, isDisabled = false }: PlainSubmitProps) {
  const isOff = isBusy || isDisabled
  return (
    <button
      type="submit"
      className={styles['submit']}
      aria-disabled={isOff}
      aria-busy={isBusy}
      // Enter in a field presses it too.
      onClick={(event) => isOff && event.preventDefault()}
      // A field that is left may get a sentence under it, and the button would move from under the
      // pointer before the click.
      onMouseDown={(event) => event.preventDefault()}
    >
      {label}
    </button>
  )
}
