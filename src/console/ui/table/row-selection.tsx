import { type ReactNode, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { CheckBox } from '../field/check-box.tsx'
import styles from './row-selection.module.css'

/** Rows that are chosen to do something to all of them; they stay so wherever the list goes. */
export interface RowSelection<Row> {
  count: number
  isChosen: (row: Row) => boolean
  choose: (rows: readonly Row[], isOn: boolean) => void
  clear: () => void
  /** Tells one row's box from another's. */
  labelOf: (row: Row) => string
  /** Names the actions for those who do not see them. */
  label: string
  /** What is done to the chosen ones. */
  actions: ReactNode
}

/** Pixels that a box takes of the column it stands in. */
export const BOX_WIDTH = 14

/** The box of all rows in view. */
export function HeadBox<Row>({
  selection,
  shown,
}: {
  selection: RowSelection<Row>
  shown: readonly Row[]
}) {
  const { t } = useTranslation()
  const count = shown.filter(selection.isChosen).length
  const isOn = shown.length > 0 && count === shown.length
  return (
    <span className={styles['box']}>
      <CheckBox
        label={t('选择本页')}
        isOn={isOn}
        isPart={count > 0 && !isOn}
        onChange={() => selection.choose(shown, !isOn)}
      />
    </span>
  )
}

/** How rows get their boxes: a click with Shift goes for all from the last one that was clicked. */
export function useRowBoxes<Row extends { id: number }>(
  selection: RowSelection<Row> | undefined,
  shown: readonly Row[],
): (row: Row) => ReactNode {
  const last = useRef<number | null>(null)
  if (selection === undefined) return () => null
  const rangeTo = (row: Row): readonly Row[] => {
    const from = shown.findIndex(({ id }) => id === last.current)
    const to = shown.findIndex(({ id }) => id === row.id)
    return from === -1 ? [row] : shown.slice(Math.min(from, to), Math.max(from, to) + 1)
  }
  return (row) => (
    <span className={styles['box']}>
      <CheckBox
        label={selection.labelOf(row)}
        isOn={selection.isChosen(row)}
        onChange={(isOn, { nativeEvent }) => {
          const isRange = nativeEvent instanceof MouseEvent && nativeEvent.shiftKey
          selection.choose(isRange ? rangeTo(row) : [row], isOn)
          // The browser marks the texts in between.
          if (isRange) getSelection()?.removeAllRanges()
          last.current = row.id
        }}
      />
    </span>
  )
}

interface SelectionBarProps<Row> {
  selection: RowSelection<Row>
  /** What can be chosen without going elsewhere. */
  rows: readonly Row[]
  /** Whether these are the page in view. */
  arePage: boolean
}

/** Says how many are chosen and offers what can be done to them; there as long as any are. */
export function SelectionBar<Row>({ selection, rows, arePage }: SelectionBarProps<Row>) {
  const { t } = useTranslation()
  const isAll = rows.every(selection.isChosen)
  return (
    <div className={styles['bar']} data-selection-bar>
      <fieldset className={styles['group']} aria-label={selection.label}>
        <output>{t('已选 {{count}} 个', { count: selection.count })}</output>
        {!isAll && (
          // Boxes of pages are in their heads, where there are heads.
          <button type="button" data-page={arePage} onClick={() => selection.choose(rows, true)}>
            {arePage ? t('选择本页') : t('选择全部 {{count}} 个', { count: rows.length })}
          </button>
        )}
        <button type="button" onClick={selection.clear}>
          {t('清除选择')}
        </button>
        <div className={styles['actions']}>{selection.actions}</div>
      </fieldset>
    </div>
  )
}
