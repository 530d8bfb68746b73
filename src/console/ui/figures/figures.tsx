import type { ReactNode } from 'react'
import { takeLostFocus } from '../table/focus-after.ts'
import styles from './figures.module.css'

export interface Figure {
  label: string
  value: ReactNode
  /** The same figure in another unit or for comparison; empty if not shown. */
  note?: ReactNode
}

export interface FiguresProps {
  figures: readonly Figure[]
  /** `output` is read out when it changes. */
  frame?: 'div' | 'output'
  isBusy?: boolean
  /** The figures replace the button that requested them, and take over its focus. */
  isAnswer?: boolean
  /** If set, the whole frame is a button. */
  onClick?(): void
}

/** Four figures in one frame, in one row, or two by two in a narrow window. */
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
