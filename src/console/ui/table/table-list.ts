import type { ReactNode } from 'react'
import type { ColumnWidth } from './column-width.ts'

export interface Column<Row> extends ColumnWidth {
  id: string
  head: string
  cell: (row: Row) => ReactNode
  /** The value that a click on the head sorts by; without it the head is not clickable. */
  sortBy?: (row: Row) => string | number
  /** Aligns numbers and their heads at the end of the column. */
  align?: 'end'
  /** Replaces this cell and those after it in a row that has nothing to show in them. */
  instead?: (row: Row) => ReactNode
}

/**
 * A row in a narrow window: two lines, each with something at its end, and the actions under them.
 * All information of the columns is here or on the page that the row opens.
 */
export interface Block {
  /** Where the list shows ids. */
  id?: number
  title: ReactNode
  titleEnd?: ReactNode
  line?: ReactNode
  lineEnd?: ReactNode
  /** More to read, below the row. */
  detail?: ReactNode
  /** More fields to edit in the row. */
  more?: ReactNode
}

export interface TableSort {
  column: string
  isDescending: boolean
}

/** A list as a table needs it; `usePagedList` returns it. */
export interface TableList<Row> {
  rows: Row[]
  /** False: `rows` is everything loaded, and the table sorts it and cuts its page out. */
  rowsArePage: boolean
  /** Pages known so far; without a total one more while the last loaded page is full. */
  pageCount: number
  /** Rows in the list; null while unknown. */
  total: number | null
  /** A search has as many rows as the server returns at most, so there may be more. */
  isCut?: boolean
  /** Nothing to show yet. */
  isLoading: boolean
  /** The shown rows are being reloaded. */
  isRefreshing: boolean
  error: Error | null
  refresh: () => void
  /** Called with what an act on a row failed of. */
  afterFailure?: (error: unknown) => void
  state: {
    page: number
    goTo: (page: number) => void
    sort: TableSort | null
    sortBy: (sort: TableSort | null) => void
  }
}
