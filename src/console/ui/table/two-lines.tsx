import type { ReactNode } from 'react'
import styles from './two-lines.module.css'

/**
 * A text that wraps to two lines in a narrow table before it is truncated; its tooltip has the full
 * text.
 */
export function TwoLines({ text, children = text }: { text: string; children?: ReactNode }) {
  return (
    <span className={styles['lines']} title={text}>
      {children}
    </span>
  )
}
