import { type ReactNode, useRef } from 'react'
import { useTranslation } from 'react-i18next'
import { CheckBox } from '../field/check-box.tsx'
import styles from './row-selection.module.css'

/** Rows selected for an action; the selection survives paging and searching. */
export interface RowSelection<Row> {
  count: number
  isChosen: (row: Row) => boolean
  choose: (rows: readonly Row[], isOn: boolean) => void
  clear: () => void
  /** Accessible name of a row's checkbox. */
  labelOf: (row: Row) => string
  /** Accessible name of the actions. */
  label: string
  /** Actions on the selected rows. */
  actions: ReactNode
}

/** Width of the checkbox within its column, in pixels. */
export const BOX_WIDTH = 14

/** Checkbox for all visible rows. */
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

/** Checkboxes of rows; a click with Shift extends the selection from the last clicked row. */
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
          // Clears the text selection that the browser makes.
          if (isRange) getSelection()?.removeAllRanges()
          last.current = row.id
        }}
      />
    </span>
  )
}

interface SelectionBarProps<Row> {
  selection: RowSelection<Row>
  /** Rows that can be selected on this page. */
  rows: readonly Row[]
  /** Whether these rows are the visible page. */
  arePage: boolean
}

/** Shows the number of selected rows and their actions, while any are selected. */
export function SelectionBar<Row>({ selection, rows, arePage }: SelectionBarProps<Row>) {
  const { t } = useTranslation()
  const isAll = rows.every(selection.isChosen)
  return (
    <div className={styles['bar']} data-selection-bar>
      <fieldset className={styles['group']} aria-label={selection.label}>
        <output>{t('已选 {{count}} 个', { count: selection.count })}</output>
        {!isAll && (
          // A page's checkbox is in the table head, if there is one.
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
