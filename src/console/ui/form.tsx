import '@mantine/core/styles/Button.layer.css'
import { Button } from '@mantine/core'
import { useMergedRef } from '@mantine/hooks'
import {
  type FormEvent,
  Fragment,
  type MouseEvent,
  type ReactNode,
  type Ref,
  type RefObject,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react'
import { useTranslation } from 'react-i18next'
import { BusyButton } from './busy/busy-button.tsx'
import { asTyped } from './field/as-typed.ts'
import { type RowField, rowField } from './field/row-field.tsx'
import styles from './form.module.css'

interface FormProps {
  onSubmit: () => void
  children: ReactNode
  /** Accessible name of the form. */
  label: string
}

/** Rows on a surface, with a save bar. An invalid submission focuses the first invalid field. */
export function Form({ onSubmit, children, label }: FormProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    onSubmit()
    // The invalid fields are marked in the next frame.
    requestAnimationFrame(() => {
      form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
    })
  }
  return (
    <form {...asTyped} className={styles['form']} aria-label={label} onSubmit={submit} noValidate>
      {children}
    </form>
  )
}

interface FormRowProps {
  label: string
  hint?: ReactNode
  /** One sentence with an example; empty if the field is valid. */
  error?: string | undefined
  isRequired?: boolean
  /** In wide windows, a long text takes the space of the hint, which stays below the label. */
  isWide?: boolean
  children: (field: RowField) => ReactNode
}

/**
 * A row with a label, a field and its error. The hint is below the label, or in wide windows to the
 * right of the field.
 */
export function FormRow(props: FormRowProps) {
  const { label, hint, error = '', isRequired = false, isWide = false, children } = props
  const id = useId()
  const hasError = error !== ''
  return (
    <div className={styles['row']} data-wide={isWide}>
      <div className={styles['label']}>
        <label htmlFor={id}>
          {breakable(label)}
          {isRequired && <span aria-hidden="true">&nbsp;*</span>}
        </label>
        {hint !== undefined && <p id={`${id}-hint`}>{hint}</p>}
      </div>
      <div className={styles['field']}>
        {children(rowField({ id, hasHint: hint !== undefined, hasError, isRequired }))}
        {hasError && (
          <p id={`${id}-error`} className={styles['error']}>
            {error}
          </p>
        )}
      </div>
    </div>
  )
}

interface FormGroupRowProps {
  label: string
  hint: string
  /** Error of the group; empty if all fields are valid. */
  error: string
  /** Called with the id of the error message. */
  children: (errorId: string) => ReactNode
}

/** A row of several labelled fields that share a label and a hint. */
export function FormGroupRow({ label, hint, error, children }: FormGroupRowProps) {
  const id = useId()
  return (
    <fieldset
      className={styles['row']}
      aria-labelledby={`${id}-label`}
      aria-describedby={`${id}-hint`}
    >
      <div className={styles['label']}>
        <span id={`${id}-label`}>{label}</span>
        <p id={`${id}-hint`}>{hint}</p>
      </div>
      <div className={styles['field']}>
        {children(`${id}-error`)}
        {error !== '' && (
          <p id={`${id}-error`} className={styles['error']}>
            {error}
          </p>
        )}
      </div>
    </fieldset>
  )
}

/** Allows a line break after each underscore of a NAME_IN_CAPITALS. */
const breakable = (label: string): ReactNode =>
  label.split(/(?<=_)/).map((word, index) => (
    <Fragment key={`${index}${word}`}>
      {index > 0 && <wbr />}
      {word}
    </Fragment>
  ))

/** A read-only row. */
export function FactRow({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles['row']}>
      <div className={styles['label']}>{label}</div>
      <div className={styles['fact']}>{children}</div>
    </div>
  )
}

/** A changed field for display. */
export interface Change {
  label: string
  /** Undefined if the values are not shown: secrets, long texts. */
  from?: string
  to?: string
}

/**
 * Focuses the button on release rather than on press: leaving a field may insert an error below it,
 * which would move the button away before the click.
 */
const focusOnRelease = {
  onMouseDown: (event: MouseEvent) => event.preventDefault(),
  onClick: (event: MouseEvent<HTMLButtonElement>) => {
    // Enter in a field also clicks the button; then the focus stays in the field.
    if (event.detail > 0) event.currentTarget.focus()
  },
}

interface SaveBarProps {
  /** Ref to the bar, for a confirmation beside it. */
  ref?: Ref<HTMLDivElement> | undefined
  label: string
  isBusy: boolean
  /** Error of the last request; empty if it succeeded. */
  failure?: string
  /** Possible effect of the last attempt despite its error; shown until the next attempt. */
  doubt?: string
  /** Shown while there are no changes. */
  note?: string
  changes: readonly Change[]
  /** Disables saving without changes. A new record can always be created. */
  needsChanges?: boolean
  /** Empty hides the button. */
  cancelLabel: string
  onCancel: () => void
}

/** The server's error, until the form changes. */
function useFailureUntilChange(
  bar: RefObject<HTMLDivElement | null>,
  { failure = '' }: Pick<SaveBarProps, 'failure'>,
): string {
  const [shown, setShown] = useState({ failure, isOld: false })
  if (shown.failure !== failure) setShown({ failure, isOld: false })
  useEffect(() => {
    const form = bar.current?.closest('form')
    if (failure === '' || form === null || form === undefined) return
    const forget = () => setShown((before) => ({ ...before, isOld: true }))
    form.addEventListener('input', forget)
    return () => form.removeEventListener('input', forget)
  }, [failure, bar])
  return shown.isOld ? '' : failure
}

/** Lists the changes, with buttons to discard and to save them. */
export function SaveBar(props: SaveBarProps) {
  const { ref, label, isBusy, doubt = '', note, changes, needsChanges = false } = props
  const { t } = useTranslation()
  const bar = useRef<HTMLDivElement>(null)
  const merged = useMergedRef(bar, ref)
  const failure = useFailureUntilChange(bar, props)
  const isIdle = needsChanges && changes.length === 0
  return (
    <div ref={merged} className={styles['saveBar']}>
      <div className={styles['summary']}>
        {failure !== '' ? (
          // Not an alert: the toast of the failed request is one.
          <p className={styles['error']}>{failure}</p>
        ) : (
          <p>{changes.length > 0 ? <ChangeList changes={changes} /> : note}</p>
        )}
        {doubt !== '' && (
          // An alert, because no toast says it.
          <p role="alert" className={styles['error']}>
            {doubt}
          </p>
        )}
      </div>
      {props.cancelLabel !== '' && (
        <Button
          variant="default"
          {...focusOnRelease}
          onClick={(event) => {
            focusOnRelease.onClick(event)
            props.onCancel()
          }}
        >
          {props.cancelLabel}
        </Button>
      )}
      <BusyButton
        type="submit"
        {...focusOnRelease}
        isBusy={isBusy}
        isIdle={isIdle}
        title={isIdle ? t('没有需要保存的修改') : undefined}
      >
        {label}
      </BusyButton>
    </div>
  )
}

function ChangeList({ changes }: { changes: readonly Change[] }) {
  const { t } = useTranslation()
  const told = changes.map(({ label, from, to }) =>
    from === undefined || to === undefined ? label : `${label} ${from} → ${to}`,
  )
  return t('{{count}} 处未保存：{{list}}', { count: changes.length, list: told.join(t('，')) })
}
