import type { ReactNode } from 'react'
import styles from './figures.module.css'

export interface Figure {
  label: string
  value: ReactNode
  /** The same in another unit, or beside another time; empty: nothing. */
  note?: string
}

export interface FiguresProps {
  figures: readonly Figure[]
  /** `output`: read out when it changes. */
  frame?: 'div' | 'output'
  isBusy?: boolean
  /** Given: the whole is a button. */
  onClick?(): void
}

/** Four figures in one frame: in a line, or two by two where that is narrow. */
export function Figures({ figures, frame: Frame = 'div', isBusy, onClick }: FiguresProps) {
  const boxes = figures.map(({ label, value, note = '' }) => (
    <span key={label} className={styles['figure']}>
      <span className={styles['label']}>{label}</span>
      <span className={styles['value']}>
        {value}
        {note !== '' && <small>{note}</small>}
      </span>
    </span>
  ))
  if (onClick !== undefined) {
    return (
      <button type="button" className={styles['figures']} onClick={onClick}>
        {boxes}
      </button>
    )
  }
  return (
    <Frame className={styles['figures']} aria-busy={isBusy}>
      {boxes}
    </Frame>
  )
}
