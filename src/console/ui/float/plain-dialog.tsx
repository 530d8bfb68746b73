import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { putOnTop } from './top-dialog.ts'
import styles from './plain-dialog.module.css'

interface PlainDialogProps {
  title: string
  onClose: () => void
  /** Wide enough for tables. */
  isWide?: boolean
  children: ReactNode
}

const FIRST_CONTROL = ':not(header) > :is(input, select, textarea, button, a)'

/** A native dialog: it traps and restores the focus, and closes with Escape. Open while mounted. */
export function PlainDialog({ title, onClose, isWide = false, children }: PlainDialogProps) {
  const { t } = useTranslation()
  const titleId = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  // Closed before it is unmounted: a removed dialog does not restore the focus.
  useLayoutEffect(() => {
    const ours = dialog.current
    if (ours?.open === false) ours.showModal()
    // The browser would focus the first button, which closes the dialog. A later control than the
    // first one of the content could be out of view, so that the dialog would open at its end.
    ours?.querySelector<HTMLElement>(FIRST_CONTROL)?.focus()
    const leaveTop = ours === null ? undefined : putOnTop(ours)
    return () => {
      leaveTop?.()
      ours?.close()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      className={styles['dialog']}
      data-wide={isWide || undefined}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header className={styles['head']}>
        <h2 id={titleId}>{title}</h2>
        <button type="button" onClick={onClose}>
          {t('关闭')}
        </button>
      </header>
      {children}
    </dialog>
  )
}
