import { type ReactNode, useEffect, useState } from 'react'
import styles from './option.module.css'

interface Section {
  id: string
  title: string
  content: ReactNode
  /** Takes the full width. */
  isWide?: boolean
}

/** Distance from the top of the window at which a section becomes the current one, in pixels. */
const READING_LINE = 160

/** Id of the current section, for the list at the side. */
function useSectionInView(ids: string): string {
  const [current, setCurrent] = useState('')
  useEffect(() => {
    function look() {
      const passed = ids
        .split(' ')
        .filter(
          (id) => (document.getElementById(id)?.getBoundingClientRect().top ?? 1e9) < READING_LINE,
        )
      setCurrent(passed.at(-1) ?? ids.split(' ')[0] ?? '')
    }
    look()
    window.addEventListener('scroll', look, { passive: true })
    return () => window.removeEventListener('scroll', look)
  }, [ids])
  return current
}

function goTo(id: string) {
  const section = document.getElementById(id)
  section?.scrollIntoView({ block: 'start', behavior: 'smooth' })
  section?.focus({ preventScroll: true })
}

/** Sections of settings, with a list of them at the side. */
export function Sections({ label, sections }: { label: string; sections: readonly Section[] }) {
  const current = useSectionInView(sections.map(({ id }) => id).join(' '))
  return (
    <div className={styles['sections']}>
      <nav className={styles['places']} aria-label={label}>
        {sections.map(({ id, title }) => (
          <button
            key={id}
            type="button"
            aria-current={id === current ? 'location' : undefined}
            onClick={() => goTo(id)}
          >
            {title}
          </button>
        ))}
      </nav>
      <div className={styles['groups']}>
        {sections.map(({ id, title, content, isWide = false }) => (
          <section
            key={id}
            id={id}
            tabIndex={-1}
            aria-label={title}
            className={styles['group']}
            data-wide={isWide}
          >
            <h2>{title}</h2>
            {content}
          </section>
        ))}
      </div>
    </div>
  )
}
