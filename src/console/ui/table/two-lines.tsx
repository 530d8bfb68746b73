import type { ReactNode } from 'react'
import styles from './two-lines.module.css'

/** A text that a narrow table breaks once before it cuts it; its tooltip has all of it. */
export function TwoLines({ text, children = text }: { text: string; children?: ReactNode }) {
  return (
    <span className={styles['lines']} title={text}>
      {children}
    </span>
  )
}
