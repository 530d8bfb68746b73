import { type ReactNode, useEffect, useEffectEvent, useId, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { isComposing } from '../field/composing.ts'
import styles from './side-panel.module.css'

interface SidePanelProps {
  title: ReactNode
  onClose: () => void
  children: ReactNode
}

/**
 * Details beside a list, which stays usable. Takes the focus when it opens and restores it when it
 * closes; Escape closes it.
 */
export function SidePanel({ title, onClose, children }: SidePanelProps) {
  const { t } = useTranslation()
  const titleId = useId()
  const panel = useRef<HTMLElement>(null)
  useEffect(() => {
    const before = document.activeElement
    const ours = panel.current
    ours?.focus({ preventScroll: true })
    return () => {
      const hasFocus = ours?.contains(document.activeElement) === true
      const isLost = document.activeElement === document.body
      if ((hasFocus || isLost) && before instanceof HTMLElement) {
        before.focus({ preventScroll: true })
      }
    }
  }, [])
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    // Input methods also use Escape, to cancel a composition.
    const isOurs = event.key === 'Escape' && !isComposing({ nativeEvent: event })
    if (isOurs && !event.defaultPrevented) onClose()
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKey(event)
    document.addEventListener('keydown', listener)
    return () => document.removeEventListener('keydown', listener)
  }, [])
  return (
    <aside ref={panel} className={styles['panel']} aria-labelledby={titleId} tabIndex={-1}>
      <header className={styles['head']}>
        <h2 id={titleId}>{title}</h2>
        <button type="button" className={styles['close']} onClick={onClose}>
          <kbd aria-hidden="true">Esc</kbd> {t('关闭')}
        </button>
      </header>
      <div className={styles['body']}>{children}</div>
    </aside>
  )
}

/** A titled section of the panel. */
export function PanelPart({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={styles['part']}>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

export interface Fact {
  label: string
  value: ReactNode
}

/** Label and value pairs, one per line. */
export function FactList({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className={styles['facts']}>
      {facts.map(({ label, value }) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
