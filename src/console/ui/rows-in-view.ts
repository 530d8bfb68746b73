import {
  createPaginatedRowModel,
  createSortedRowModel,
  rowPaginationFeature,
  rowSortingFeature,
  tableFeatures,
  useTable,
} from '@tanstack/react-table'
import { useMemo } from 'react'
import type { Column, TableList } from './data-table.tsx'

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

interface Shown<Row> {
  list: TableList<Row>
  columns: readonly Column<Row>[]
  pageSize: number
}

/** Rows of the displayed page, sorted by the clicked column head. */
export function useRowsInView<Row extends { id: number }>(shown: Shown<Row>): Row[] {
  const { list, columns, pageSize } = shown
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
