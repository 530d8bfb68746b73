import type { CSSProperties, ReactNode } from 'react'
import { withCutTexts } from './cut-text.ts'
import { useRowWindow } from './window-rows.ts'
import styles from './window-table.module.css'

export interface WindowColumn<Row> {
  id: string
  head: ReactNode
  cell: (row: Row) => ReactNode
  align?: 'end'
  /** In pixels; columns without a width share the rest. */
  width?: number
}

interface WindowTableProps<Row> {
  /** Accessible name of the table and its scroll container. */
  label: string
  columns: readonly WindowColumn<Row>[]
  rows: readonly Row[]
  rowKey: (row: Row) => string
  /** Height of a row in pixels. */
  rowHeight?: number
  /** Below this width, in pixels, the container scrolls horizontally. */
  minWidth?: number
  /** Shown if there are no rows. */
  empty: ReactNode
}

const ROW_HEIGHT = 40

/** A long table in its own scroll container that renders only the rows in view. */
export function WindowTable<Row>(props: WindowTableProps<Row>) {
  const { label, columns, rows, rowKey, rowHeight = ROW_HEIGHT, minWidth = 0, empty } = props
  const { ref, onScroll, first, end } = useRowWindow(rows.length, rowHeight)
  if (rows.length === 0) return <div className={styles['empty']}>{empty}</div>
  // React's types have no custom properties; the classes read these.
  const style = {
    '--row-height': `${rowHeight}px`,
    '--min-width': `${minWidth}px`,
  } as CSSProperties
  return (
    <section
      className={styles['box']}
      ref={ref}
      onScroll={onScroll}
      style={style}
      aria-label={label}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- scrollable by keyboard
      tabIndex={0}
    >
      <table aria-label={label} aria-rowcount={rows.length + 1} ref={withCutTexts}>
        <colgroup>
          {columns.map(({ id, width }) => (
            <col key={id} style={{ width }} />
          ))}
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map(({ id, head, align }) => (
              <th key={id} scope="col" data-align={align}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap height={first * rowHeight} />
          {rows.slice(first, end).map((row, index) => (
            <tr key={rowKey(row)} aria-rowindex={first + index + 2}>
              {columns.map(({ id, cell, align }) => (
                <td key={id} data-align={align}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
          <Gap height={(rows.length - end) * rowHeight} />
        </tbody>
      </table>
    </section>
  )
}

/** Spacer for rows that are not rendered. */
function Gap({ height }: { height: number }) {
  return height === 0 ? null : (
    <tr className={styles['gap']} style={{ height }} aria-hidden="true" />
  )
}
