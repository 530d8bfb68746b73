import {
  type CSSProperties,
  type MouseEvent,
  type ReactNode,
  useDeferredValue,
  useMemo,
} from 'react'
import { useTranslation } from 'react-i18next'
import { useBlocks } from './table/blocks.ts'
import { Cells } from './table/cells.tsx'
import { columnWidth, SHARED_WIDTH, widthOf } from './table/column-width.ts'
import {
  BOX_WIDTH,
  HeadBox,
  type RowSelection,
  SelectionBar,
  useRowBoxes,
} from './table/row-selection.tsx'
import { FailedAct } from './table/failed-act.ts'
import { leaveFocusBehind } from './table/focus-after.ts'
import { ListNews } from './table/list-news.tsx'
import type { Block, Column, TableList } from './table/table-list.ts'
import { HasFewActions, useActionsRoom } from './table/row-acts.tsx'
import { Blocks } from './table/row-blocks.tsx'
import { Pager } from './pager.tsx'
import { useRowsInView } from './rows-in-view.ts'
import { withCutTexts } from './scroll/cut-text.ts'
import { LoadError, Skeleton } from './states.tsx'
import styles from './data-table.module.css'

interface DataTableProps<Row> {
  /** Accessible name of the table. */
  label: string
  list: TableList<Row>
  columns: readonly Column<Row>[]
  block: (row: Row) => Block
  rowActions?: (row: Row) => ReactNode
  /** Width of the actions column with all actions, in pixels. */
  actionsWidth?: number
  /** Width with only the frequent actions, for windows without space for all. */
  fewActionsWidth?: number
  /** Opens a row by click; the row must contain an element that does the same by keyboard. */
  onOpen?: (row: Row) => void
  /** Whether the row is open, which is marked. */
  isOpen?: (row: Row) => boolean
  /** Makes rows selectable, with checkboxes at their start. */
  selection?: RowSelection<Row> | undefined
  /** Shown if there are no rows. */
  empty: ReactNode
  /** Actions of the list, at the left of the footer. */
  footer?: ReactNode
  /** Replaces the page numbers. */
  pager?: ReactNode
  pageSize: number
}

interface HeadProps<Row> {
  column: Column<Row>
  list: TableList<Row>
  /** Checkbox before the label. */
  box: ReactNode
}

function Head<Row>({ column, list, box }: HeadProps<Row>) {
  const { sort, sortBy } = list.state
  const isSorted = sort?.column === column.id
  // Screen readers repeat the head before each cell, and would include the checkbox.
  const name = box === false ? undefined : column.head
  if (column.sortBy === undefined) {
    return (
      <th scope="col" data-align={column.align} aria-label={name}>
        {box}
        {column.head}
      </th>
    )
  }
  const direction = isSorted ? (sort.isDescending ? 'descending' : 'ascending') : undefined
  return (
    <th scope="col" data-align={column.align} aria-sort={direction} aria-label={name}>
      {box}
      <button
        type="button"
        onClick={() => sortBy({ column: column.id, isDescending: isSorted && !sort.isDescending })}
      >
        {column.head}
        <span aria-hidden="true">{isSorted ? (sort.isDescending ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </th>
  )
}

function tableStyle<Row>({
  columns,
  pageSize,
  actionsWidth = 0,
}: DataTableProps<Row>): CSSProperties {
  return {
    '--rows': pageSize,
    '--columns': `${widthOf(columns)}px`,
    '--actions': `${actionsWidth}px`,
    // React's types have no custom properties; the classes read these.
  } as CSSProperties
}

function SkeletonRows<Row>(props: DataTableProps<Row>) {
  const { columns, rowActions, actionsWidth = 0, pageSize } = props
  return Array.from({ length: pageSize }, (_, row) => (
    <tr key={`loading-${row}`}>
      {columns.map((column) => (
        <td key={column.id} data-align={column.align}>
          <Skeleton width={(column.width ?? SHARED_WIDTH) / 2} />
        </td>
      ))}
      {rowActions !== undefined && (
        <td>
          <div className={styles['rowActions']}>
            <Skeleton width={actionsWidth / 2} />
            <Skeleton width={actionsWidth / 3} />
          </div>
        </td>
      )}
    </tr>
  ))
}

/** Ignores clicks on controls and at the end of a text selection. */
function isPlainClick({ target }: MouseEvent): boolean {
  const isControl = target instanceof Element && target.closest('a, button, input, select') !== null
  return !isControl && getSelection()?.isCollapsed !== false
}

function Table<Row extends { id: number }>(given: DataTableProps<Row> & { shown: Row[] }) {
  const { t } = useTranslation()
  const { hasFew, actionsWidth } = useActionsRoom(given)
  const props = { ...given, actionsWidth }
  const { list, columns, rowActions, shown, label, onOpen, isOpen, selection } = props
  const boxOf = useRowBoxes(selection, shown)
  const headBox = selection !== undefined && <HeadBox selection={selection} shown={shown} />
  return (
    <div className={styles['scroll']} data-paged={list.pageCount > 1} style={tableStyle(props)}>
      <table aria-label={label} aria-busy={list.isLoading || list.isRefreshing} ref={withCutTexts}>
        <colgroup>
          {columns.map((column) => (
            <col key={column.id} style={{ width: columnWidth(column, columns) }} />
          ))}
          {rowActions !== undefined && <col className={styles['actions']} />}
        </colgroup>
        <thead>
          <tr>
            {columns.map((column, index) => (
              <Head key={column.id} column={column} list={list} box={index === 0 && headBox} />
            ))}
            {rowActions !== undefined && (
              <th scope="col">
                <span className="sr-only">{t('操作')}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          <HasFewActions value={hasFew}>
            {list.isLoading ? (
              <SkeletonRows {...props} />
            ) : (
              shown.map((row) => (
                <tr
                  key={row.id}
                  data-open={isOpen?.(row) === true}
                  data-chosen={selection?.isChosen(row) === true}
                  data-opens={onOpen !== undefined}
                  onClick={(event) => {
                    if (isPlainClick(event)) onOpen?.(row)
                  }}
                >
                  <Cells row={row} columns={columns} box={boxOf(row)} />
                  {rowActions !== undefined && (
                    <td>
                      <div className={styles['rowActions']}>{rowActions(row)}</div>
                    </td>
                  )}
                </tr>
              ))
            )}
          </HasFewActions>
        </tbody>
      </table>
    </div>
  )
}

/** Shows how many rows are sorted, with a button that clears the sorting. */
function SortNote<Row>({ list, columns }: Pick<DataTableProps<Row>, 'list' | 'columns'>) {
  const { t } = useTranslation()
  const { sort, sortBy } = list.state
  const column = columns.find(({ id }) => id === sort?.column)
  if (column === undefined) return null
  const isPart = list.total !== null && list.total > list.rows.length
  return (
    <span ref={leaveFocusBehind} className={styles['note']}>
      {isPart
        ? t('按「{{head}}」排序已加载的 {{count}} 行', {
            head: column.head,
            count: list.rows.length,
          })
        : t('按「{{head}}」排序', { head: column.head })}
      <button type="button" onClick={() => sortBy(null)}>
        {t('取消排序')}
      </button>
    </span>
  )
}

/**
 * Whether the loading state is shown. The first rows are expensive, so they are rendered in a
 * deferred step, which keeps slow phones responsive.
 */
const useFirstRows = ({ isLoading }: { isLoading: boolean }): boolean =>
  useDeferredValue(isLoading, true) || isLoading

/** Widens the first column for the checkbox. */
function withBox<Row>(columns: readonly Column<Row>[]): readonly Column<Row>[] {
  const [first, ...rest] = columns
  if (first?.width === undefined) return columns
  return [{ ...first, width: first.width + BOX_WIDTH }, ...rest]
}

/**
 * Table for all lists: rows in a wide window, blocks in a narrow one, with a footer for actions and
 * pages.
 */
export function DataTable<Row extends { id: number }>(given: DataTableProps<Row>) {
  const { t } = useTranslation()
  const isLoading = useFirstRows(given.list)
  const list = { ...given.list, isLoading }
  const { selection } = given
  const hasBoxes = selection !== undefined
  const columns = useMemo(
    () => (hasBoxes ? withBox(given.columns) : given.columns),
    [hasBoxes, given.columns],
  )
  const props = { ...given, list, columns }
  const { pageSize, empty, footer, label, pager } = props
  const shown = useRowsInView(props)
  const isBlocks = useBlocks()
  if (list.error !== null && list.rows.length === 0) {
    return (
      <section className={styles['surface']}>
        <LoadError what={label} error={list.error} onRetry={list.refresh} />
      </section>
    )
  }
  const isEmpty = !list.isLoading && shown.length === 0
  const isSelecting = selection !== undefined && selection.count > 0
  return (
    <section
      className={styles['surface']}
      data-selecting={isSelecting}
      data-refreshing={list.isRefreshing}
      data-first-load={list.isLoading}
    >
      <ListNews list={list} columns={columns} shown={shown.length} />
      <FailedAct value={list.afterFailure}>
        {isEmpty ? (
          empty
        ) : isBlocks ? (
          <Blocks {...props} shown={shown} />
        ) : (
          <Table {...props} shown={shown} />
        )}
      </FailedAct>
      {isSelecting && (
        <SelectionBar selection={selection} rows={list.rows} arePage={list.rowsArePage} />
      )}
      <div className={styles['foot']} data-alone={isEmpty}>
        {footer}
        <button type="button" className={styles['quiet']} onClick={list.refresh}>
          {t('刷新')}
        </button>
        {list.isCut === true && (
          <span className={styles['note']}>
            {t('只显示前 {{count}} 个结果，请输入更多字符', { count: list.rows.length })}
          </span>
        )}
        <SortNote list={list} columns={columns} />
        {pager ?? (
          <Pager
            page={Math.min(list.state.page, list.pageCount - 1)}
            pageCount={list.pageCount}
            pageSize={pageSize}
            shown={shown.length}
            total={list.rowsArePage || list.isCut === true ? list.total : list.rows.length}
            isLoading={list.isLoading}
            siblings={isBlocks ? 0 : 1}
            onPage={list.state.goTo}
          />
        )}
      </div>
    </section>
  )
}
