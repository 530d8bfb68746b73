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
  /** Names the form for those who do not see it. */
  label: string
}

/** A surface of rows with its save bar. What keeps it from being sent gets the focus. */
export function Form({ onSubmit, children, label }: FormProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    onSubmit()
    // The marks of wrong fields are drawn first.
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
  /** One sentence with an example; empty: the field is fine. */
  error?: string | undefined
  isRequired?: boolean
  /** On a wide screen a long text takes the room beside it, and its hint stays below the label. */
  isWide?: boolean
  children: (field: RowField) => ReactNode
}

/**
 * A label, a field and its error below it. The hint stands below the label; on a wide screen, to
 * the right of the field.
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
  /** One sentence about the wrong ones of the fields; empty: all are fine. */
  error: string
  /** Called with the id of that sentence. */
  children: (errorId: string) => ReactNode
}

/** A row of several fields with labels of their own: its label and hint are those of them all. */
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

/** A NAME_IN_CAPITALS may go on in the next line after each of its words. */
const breakable = (label: string): ReactNode =>
  label.split(/(?<=_)/).map((word, index) => (
    <Fragment key={`${index}${word}`}>
      {index > 0 && <wbr />}
      {word}
    </Fragment>
  ))

/** A row that only tells. */
export function FactRow({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className={styles['row']}>
      <div className={styles['label']}>{label}</div>
      <div className={styles['fact']}>{children}</div>
    </div>
  )
}

/** One changed field, as people read it. */
export interface Change {
  label: string
  /** Absent where the values are better not shown: secrets, long texts. */
  from?: string
  to?: string
}

/**
 * Takes the focus when the button is let go, not when it is pressed: a field that is left may get a
 * sentence under it, and the button would be gone from under the pointer before the click.
 */
const focusOnRelease = {
  onMouseDown: (event: MouseEvent) => event.preventDefault(),
  onClick: (event: MouseEvent<HTMLButtonElement>) => {
    // Enter in a field clicks too, with no pointer, and leaves the focus where it is.
    if (event.detail > 0) event.currentTarget.focus()
  },
}

interface SaveBarProps {
  /** Of the bar itself, which a question may stand beside. */
  ref?: Ref<HTMLDivElement> | undefined
  label: string
  isBusy: boolean
  /** What the server answered last; empty: nothing wrong. */
  failure?: string
  /** What the last attempt may have done nevertheless; it stays until the next one. */
  doubt?: string
  /** Shown while nothing is changed. */
  note?: string
  changes: readonly Change[]
  /** Without changes there is nothing to save; a new thing can always be created. */
  needsChanges?: boolean
  /** Empty: there is nothing to give up. */
  cancelLabel: string
  onCancel: () => void
}

/** The server's refusal, until something in the form is changed: then it is about another form. */
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

/** Says what changed, gives it up or saves it. */
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
          // The toast of the failed call is the alert.
          <p className={styles['error']}>{failure}</p>
        ) : (
          <p>{changes.length > 0 ? <ChangeList changes={changes} /> : note}</p>
        )}
        {doubt !== '' && (
          // No toast says this.
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
