import { type ReactNode, useId, useLayoutEffect, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { putOnTop } from './top-dialog.ts'
import styles from './plain-dialog.module.css'

interface PlainDialogProps {
  title: string
  onClose: () => void
  /** For tables. */
  isWide?: boolean
  children: ReactNode
}

/**
 * The browser's own dialog: it keeps the focus, gives it back, and closes with Escape. Open for as
 * long as it is drawn.
 */
export function PlainDialog({ title, onClose, isWide = false, children }: PlainDialogProps) {
  const { t } = useTranslation()
  const titleId = useId()
  const dialog = useRef<HTMLDialogElement>(null)
  // Closed while it is still in the page: a dialog that is taken out gives no focus back.
  useLayoutEffect(() => {
    const ours = dialog.current
    if (ours?.open === false) ours.showModal()
    // The browser would focus the first button, which closes the dialog.
    ours?.querySelector('input')?.focus()
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
