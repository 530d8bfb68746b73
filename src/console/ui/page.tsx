import { type ReactNode, useDeferredValue, useRef } from 'react'
import { useLoadingMarker } from './loading-marker.ts'
import { focusOn } from './table/focus-after.ts'
import styles from './page.module.css'

interface PageProps {
  title: string
  /** One line beside the title: a count, a start time. */
  facts?: ReactNode
  /** At the right; the last one is the primary action. */
  actions?: ReactNode
  children: ReactNode
}

/**
 * A page with a title. Its content is rendered in a deferred step, so that slow phones stay
 * responsive while a long form or list is rendered.
 */
export function Page({ title, facts, actions, children }: PageProps) {
  const hasBoth = facts !== undefined && actions !== undefined
  const isTime = useDeferredValue(true, false)
  return (
    <div className={styles['page']}>
      <header className={styles['head']}>
        <h1>{title}</h1>
        <p className={styles['facts']} data-beside-actions={hasBoth || undefined}>
          {facts}
        </p>
        {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
      </header>
      {isTime ? children : <Coming />}
    </div>
  )
}

function Coming() {
  useLoadingMarker()
  return <div data-loading />
}

/** A surface within a page, with an optional title. */
export function Panel({ title, children }: { title?: string; children: ReactNode }) {
  return (
    <section className={styles['panel']}>
      {title !== undefined && <h2>{title}</h2>}
      {children}
    </section>
  )
}

interface HintProps {
  children: ReactNode
  closeLabel: string
  onClose: () => void
}

/** A note above a list that the user can close. */
export function Hint({ children, closeLabel, onClose }: HintProps) {
  const note = useRef<HTMLDivElement>(null)
  function close() {
    // Moves the focus to the element after it.
    const next = note.current?.nextElementSibling
    if (next instanceof HTMLElement) focusOn(next)
    onClose()
  }
  return (
    <div ref={note} className={styles['hint']} role="note">
      <p>{children}</p>
      <button type="button" onClick={close}>
        {closeLabel}
      </button>
    </div>
  )
}
