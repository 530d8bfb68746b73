import type { ReactNode } from 'react'
import styles from './item-list.module.css'

/** A short list of items without columns, each with its actions at the end. */
export function ItemList({ children }: { children: ReactNode }) {
  return <ul className={styles['list']}>{children}</ul>
}

interface ItemProps {
  /** Name of the item, which may be followed by tags. */
  title: ReactNode
  /** Small print below the title. */
  facts: ReactNode
  /** Actions. */
  children?: ReactNode
}

export function Item({ title, facts, children }: ItemProps) {
  return (
    <li className={styles['item']}>
      <div className={styles['title']}>{title}</div>
      <div className={styles['facts']}>{facts}</div>
      {children !== undefined && <div className={styles['acts']}>{children}</div>}
    </li>
  )
}
