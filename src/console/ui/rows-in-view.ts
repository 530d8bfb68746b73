import { useMemo } from 'react'
import type { Column, TableList, TableSort } from './table/table-list.ts'

interface Shown<Row> {
  list: TableList<Row>
  columns: readonly Column<Row>[]
  pageSize: number
}

/** The rows of the page in view, sorted by the clicked head. */
export function useRowsInView<Row>({ list, columns, pageSize }: Shown<Row>): Row[] {
  const { rows, rowsArePage, pageCount, state } = list
  const { sort, page } = state
  const sorted = useMemo(() => sortedRows(rows, columns, sort), [rows, columns, sort])
  if (rowsArePage) return sorted
  const first = Math.max(0, Math.min(page, pageCount - 1)) * pageSize
  return sorted.slice(first, first + pageSize)
}

/** Sorts rows by a column. Equal rows keep their order in both directions. */
export function sortedRows<Row>(
  rows: Row[],
  columns: readonly Column<Row>[],
  sort: TableSort | null,
): Row[] {
  const sortBy = columns.find(({ id }) => id === sort?.column)?.sortBy
  if (sortBy === undefined) return rows
  const direction = sort?.isDescending === true ? -1 : 1
  return rows.toSorted((one, other) => direction * compareValues(sortBy(one), sortBy(other)))
}

function compareValues(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return String(a).localeCompare(String(b), undefined, { numeric: true })
}
