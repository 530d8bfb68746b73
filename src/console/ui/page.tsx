import { type ReactNode, useDeferredValue, useRef } from 'react'
import { useOnItsWay } from './on-its-way.ts'
import { focusOn } from './table/focus-after.ts'
import styles from './page.module.css'

interface PageProps {
  title: string
  /** One line beside the title: how many, since when. */
  facts?: ReactNode
  /** At the right; the last one is the primary action. */
  actions?: ReactNode
  children: ReactNode
}

/**
 * A page under its title. What is in it comes in steps, so that a slow phone goes on answering
 * touches while a long form or a list is made.
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
  useOnItsWay()
  return <div data-loading />
}

/** A surface in a page, with or without a title of its own. */
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

/** Something good to know above a list, until it is closed. */
export function Hint({ children, closeLabel, onClose }: HintProps) {
  const note = useRef<HTMLDivElement>(null)
  function close() {
    // The keyboard goes on with what comes after it.
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
