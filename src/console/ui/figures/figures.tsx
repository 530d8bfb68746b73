import type { ReactNode } from 'react'
import { takeLostFocus } from '../table/focus-after.ts'
import styles from './figures.module.css'

export interface Figure {
  label: string
  value: ReactNode
  /** The same in another unit, or beside another time; empty: nothing. */
  note?: ReactNode
}

export interface FiguresProps {
  figures: readonly Figure[]
  /** `output`: read out when it changes. */
  frame?: 'div' | 'output'
  isBusy?: boolean
  /** They come where the button stood that asked for them, and go on with its focus. */
  isAnswer?: boolean
  /** Given: the whole is a button. */
  onClick?(): void
}

/** Four figures in one frame: in a line, or two by two where that is narrow. */
export function Figures(props: FiguresProps) {
  const { figures, frame: Frame = 'div', isBusy, isAnswer = false, onClick } = props
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
    <Frame
      ref={isAnswer ? takeLostFocus : undefined}
      className={styles['figures']}
      aria-busy={isBusy}
    >
      {boxes}
    </Frame>
  )
}
