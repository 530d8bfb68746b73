import type { ReactNode } from 'react'
import type { Block, TableList } from '../data-table.tsx'
import { Skeleton } from '../states.tsx'
import { type RowSelection, useRowBoxes } from './row-selection.tsx'
import styles from '../data-table.module.css'

interface BlocksProps<Row> {
  label: string
  list: TableList<Row>
  shown: readonly Row[]
  block: (row: Row) => Block
  rowActions?: ((row: Row) => ReactNode) | undefined
  pageSize: number
  selection?: RowSelection<Row> | undefined
}

/** Rows of a list as blocks, for narrow windows. */
export function Blocks<Row extends { id: number }>(props: BlocksProps<Row>) {
  const { list, block, rowActions, shown, label, pageSize, selection } = props
  const boxOf = useRowBoxes(selection, shown)
  if (list.isLoading) {
    return (
      <ul aria-label={label} aria-busy="true">
        {Array.from({ length: pageSize }, (_, row) => (
          <li key={`loading-${row}`} className={styles['block']}>
            <div className={styles['blockLine']}>
              <Skeleton width={120} />
            </div>
            <div className={styles['blockLine']}>
              <Skeleton width={200} />
            </div>
            {rowActions !== undefined && (
              <>
                <div className={styles['blockDetail']}>
                  <Skeleton width={160} />
                </div>
                <div className={styles['blockActions']} />
              </>
            )}
          </li>
        ))}
      </ul>
    )
  }
  return (
    <ul aria-label={label} aria-busy={list.isRefreshing}>
      {shown.map((row) => {
        const { id, title, titleEnd, line, lineEnd, detail, more } = block(row)
        return (
          <li
            key={row.id}
            className={styles['block']}
            data-chosen={selection?.isChosen(row) === true}
          >
            <div className={styles['blockLine']}>
              {boxOf(row)}
              <span className={styles['blockTitle']}>{title}</span>
              {id !== undefined && <span className={styles['blockId']}>ID {id}</span>}
              <span>{titleEnd}</span>
            </div>
            <div className={styles['blockLine']} data-quiet>
              <span>{line}</span>
              <span>{lineEnd}</span>
            </div>
            {detail !== undefined && <div className={styles['blockDetail']}>{detail}</div>}
            {more !== undefined && <div className={styles['blockMore']}>{more}</div>}
            {rowActions !== undefined && (
              <div className={styles['blockActions']}>{rowActions(row)}</div>
            )}
          </li>
        )
      })}
    </ul>
  )
}
