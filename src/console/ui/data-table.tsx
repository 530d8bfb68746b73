import {
  createPaginatedRowModel,
  createSortedRowModel,
  rowPaginationFeature,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { useMediaQuery } from '@mantine/hooks'
import { type ReactNode, useMemo } from 'react'
import { useTranslation } from 'react-i18next'
import { Pager } from './pager.tsx'
import { LoadError, Skeleton } from './states.tsx'
import styles from './data-table.module.css'

export interface Column<Row> {
  id: string
  head: string
  cell: (row: Row) => ReactNode
  /** What a click on the head sorts by; without it the head is not clickable. */
  sortBy?: (row: Row) => string | number
  /** Numbers stand at the end of their column, with their heads. */
  align?: 'end'
  /** Pixels of the placeholder while rows are on their way. */
  skeleton?: number
}

/** A row on a phone: two lines, each with something at its end, and the actions under them. */
export interface Block {
  title: ReactNode
  titleEnd?: ReactNode
  line?: ReactNode
  lineEnd?: ReactNode
}

export interface TableSort {
  column: string
  isDescending: boolean
}

/** What a table has to know of a list; `usePagedList` answers all of it. */
export interface TableList<Row> {
  rows: Row[]
  /** False: `rows` is everything loaded, and the table sorts it and cuts its page out. */
  rowsArePage: boolean
  pageCount: number
  total: number | null
  isLoading: boolean
  isRefreshing: boolean
  error: Error | null
  refresh: () => void
  state: {
    page: number
    goTo: (page: number) => void
    sort: TableSort | null
    sortBy: (sort: TableSort | null) => void
  }
}

interface DataTableProps<Row> {
  /** Names the table for those who do not see it. */
  label: string
  list: TableList<Row>
  columns: readonly Column<Row>[]
  block: (row: Row) => Block
  rowActions?: (row: Row) => ReactNode
  /** In place of rows when there are none. */
  empty: ReactNode
  /** The list's own actions, at the left of the foot. */
  footer?: ReactNode
  pageSize: number
}

const features = tableFeatures({
  rowSortingFeature,
  rowPaginationFeature,
  sortedRowModel: createSortedRowModel(),
  paginatedRowModel: createPaginatedRowModel(),
})

function compareValues(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a).localeCompare(String(b), undefined, { numeric: true })
}

/** The rows of the page in view, sorted by the clicked head. */
function useRowsInView<Row extends { id: number }>(props: DataTableProps<Row>): Row[] {
  const { list, columns, pageSize } = props
  const { sort, page } = list.state
  const tableColumns = useMemo(
    () =>
      columns.map(({ id, sortBy }) => ({
        id,
        accessorFn: (row: Row) => sortBy?.(row) ?? '',
        sortFn: (a: { original: Row }, b: { original: Row }) =>
          sortBy === undefined ? 0 : compareValues(sortBy(a.original), sortBy(b.original)),
      })),
    [columns],
  )
  const sorting = useMemo(
    () => (sort === null ? [] : [{ id: sort.column, desc: sort.isDescending }]),
    [sort],
  )
  const isKnownColumn = sort === null || columns.some((column) => column.id === sort.column)
  const table = useTable({
    features,
    columns: tableColumns,
    data: list.rows,
    getRowId: (row) => String(row.id),
    manualPagination: list.rowsArePage,
    state: {
      sorting: isKnownColumn ? sorting : [],
      pagination: { pageIndex: Math.min(page, list.pageCount - 1), pageSize },
    },
  })
  return table.getRowModel().rows.map((row) => row.original)
}

function Head<Row>({ column, list }: { column: Column<Row>; list: TableList<Row> }) {
  const { sort, sortBy } = list.state
  const isSorted = sort?.column === column.id
  if (column.sortBy === undefined) {
    return (
      <th scope="col" data-align={column.align}>
        {column.head}
      </th>
    )
  }
  const direction = isSorted ? (sort.isDescending ? 'descending' : 'ascending') : undefined
  return (
    <th scope="col" data-align={column.align} aria-sort={direction}>
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

function SkeletonRows<Row>({ columns, count }: { columns: readonly Column<Row>[]; count: number }) {
  return Array.from({ length: count }, (_, row) => (
    <tr key={row}>
      {columns.map((column) => (
        <td key={column.id} data-align={column.align}>
          <Skeleton width={column.skeleton ?? 64} />
        </td>
      ))}
      <td />
    </tr>
  ))
}

function Table<Row extends { id: number }>(props: DataTableProps<Row> & { shown: Row[] }) {
  const { t } = useTranslation()
  const { list, columns, rowActions, shown, pageSize, label } = props
  return (
    <div className={styles['scroll']}>
      <table aria-label={label} aria-busy={list.isLoading || list.isRefreshing}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.id} column={column} list={list} />
            ))}
            {rowActions !== undefined && (
              <th scope="col">
                <span className={styles['hidden']}>{t('操作')}</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {list.isLoading ? (
            <SkeletonRows columns={columns} count={pageSize} />
          ) : (
            shown.map((row) => (
              <tr key={row.id}>
                {columns.map((column) => (
                  <td key={column.id} data-align={column.align}>
                    {column.cell(row)}
                  </td>
                ))}
                {rowActions !== undefined && (
                  <td>
                    <div className={styles['rowActions']}>{rowActions(row)}</div>
                  </td>
                )}
              </tr>
            ))
          )}
        </tbody>
      </table>
    </div>
  )
}

function Blocks<Row extends { id: number }>(props: DataTableProps<Row> & { shown: Row[] }) {
  const { list, block, rowActions, shown, label } = props
  if (list.isLoading) {
    return (
      <ul aria-label={label} aria-busy="true">
        {Array.from({ length: 6 }, (_, row) => (
          <li key={row} className={styles['block']}>
            <Skeleton width={120} />
            <Skeleton width={200} />
          </li>
        ))}
      </ul>
    )
  }
  return (
    <ul aria-label={label} aria-busy={list.isRefreshing}>
      {shown.map((row) => {
        const { title, titleEnd, line, lineEnd } = block(row)
        return (
          <li key={row.id} className={styles['block']}>
            <div className={styles['blockLine']}>
              <span className={styles['blockTitle']}>{title}</span>
              <span>{titleEnd}</span>
            </div>
            <div className={styles['blockLine']} data-quiet>
              <span>{line}</span>
              <span>{lineEnd}</span>
            </div>
            {rowActions !== undefined && (
              <div className={styles['blockActions']}>{rowActions(row)}</div>
            )}
          </li>
        )
      })}
    </ul>
  )
}

/** Says how far a sort by head reaches, and ends it. */
function SortNote<Row>({ list, columns }: Pick<DataTableProps<Row>, 'list' | 'columns'>) {
  const { t } = useTranslation()
  const { sort, sortBy } = list.state
  const column = columns.find(({ id }) => id === sort?.column)
  if (column === undefined) return null
  const isPart = list.total !== null && list.total > list.rows.length
  return (
    <span className={styles['note']}>
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

/** The only table: rows on a wide screen, blocks on a phone, one foot with actions and pages. */
export function DataTable<Row extends { id: number }>(props: DataTableProps<Row>) {
  const { t } = useTranslation()
  const { list, columns, pageSize, empty, footer, label } = props
  const shown = useRowsInView(props)
  const isPhone = useMediaQuery('(max-width: 760px)', undefined, { getInitialValueInEffect: false })
  if (list.error !== null && list.rows.length === 0) {
    return (
      <section className={styles['surface']}>
        <LoadError what={label} error={list.error} onRetry={list.refresh} />
      </section>
    )
  }
  const isEmpty = !list.isLoading && shown.length === 0
  return (
    <section className={styles['surface']} data-refreshing={list.isRefreshing}>
      {isEmpty ? (
        empty
      ) : isPhone ? (
        <Blocks {...props} shown={shown} />
      ) : (
        <Table {...props} shown={shown} />
      )}
      <div className={styles['foot']}>
        {footer}
        <button type="button" className={styles['quiet']} onClick={list.refresh}>
          {t('刷新')}
        </button>
        <SortNote list={list} columns={columns} />
        <Pager
          page={Math.min(list.state.page, list.pageCount - 1)}
          pageCount={list.pageCount}
          pageSize={pageSize}
          shown={shown.length}
          total={list.rowsArePage ? list.total : list.rows.length}
          onPage={list.state.goTo}
        />
      </div>
    </section>
  )
}
