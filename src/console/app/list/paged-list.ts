import { keepPreviousData, useQueries, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useMemo, useRef } from 'react'
import { PAGE_SIZE, SEARCH_ROWS_MAX } from '../../../contract/paging.ts'
import type { TableList } from '../../ui/table/table-list.ts'
import { CallFailure } from '../call-client.ts'
import type { ListState } from './list-state.ts'

/**
 * Maximum number of pages that a click on a column head loads. The click sorts the loaded rows, and
 * the list says how many there are.
 */
const SORTED_PAGES_MAX = 20
const NOT_FOUND = 404

export interface LoadedPage<Row> {
  data: Row[]
  /** Number of rows in the whole list; null if the server does not send it (One API). */
  total: number | null
}

export interface PagedListSource<Row> {
  /** First part of the cache keys. */
  name: string
  /** Server-side order and filters; other values mean another list. */
  filters: Readonly<Record<string, string>>
  /** `page` counts from 0. */
  loadPage: (page: number, signal: AbortSignal) => Promise<LoadedPage<Row>>
  /** All rows that match a keyword and the filters. */
  search: (keyword: string, signal: AbortSignal) => Promise<Row[]>
  /** Sorts search results if the server's search ignores the order. */
  compare?: (a: Row, b: Row) => number
}

/** List data for a table, with actions on its rows. */
export interface PagedList<Row> extends TableList<Row> {
  state: ListState
  /** Searches; an empty keyword shows the whole list. Bypasses the cache. */
  search: (keyword: string) => void
  /** Replaces a changed row without a request. */
  update: (id: number, change: Partial<Row>) => void
  /** Removes a row, then reloads so that the following ones move up. */
  remove: (id: number) => void
}

interface Source<Row> extends PagedListSource<Row> {
  state: ListState
}

type Rows<Row> = Omit<TableList<Row>, 'state' | 'refresh' | 'afterFailure'>

// A single empty array, so that tables see no change between renders.
const noRows: never[] = []
const pagesOf = (rows: number) => Math.max(1, Math.ceil(rows / PAGE_SIZE))

/**
 * Number of pages, as far as the loaded pages determine it. `sizes` holds the row counts of page 0,
 * 1, …
 */
export function knownPageCount(
  total: number | null,
  sizes: readonly (number | undefined)[],
): number {
  if (total !== null) return pagesOf(total)
  const lastLoaded = sizes.findLastIndex((size) => size !== undefined)
  if (lastLoaded === -1) return 1
  return sizes[lastLoaded] === PAGE_SIZE ? lastLoaded + 2 : lastLoaded + 1
}

/** Pages to load for sorting by a column: from the first one on, without a gap. */
export function pagesToSort(
  total: number | null,
  sizes: readonly (number | undefined)[],
): number[] {
  const gap = sizes.findIndex((size) => size === undefined)
  const contiguous = sizes.slice(0, gap === -1 ? sizes.length : gap)
  const count = total === null ? knownPageCount(null, contiguous) : knownPageCount(total, [])
  return Array.from({ length: Math.min(count, SORTED_PAGES_MAX) }, (_, page) => page)
}

interface PageKey {
  name: string
  filters: Readonly<Record<string, string>>
}
const keyOf = ({ name, filters }: PageKey, page: number) => [name, 'page', filters, page]

function usePageQuery<Row>(source: Source<Row>) {
  const { loadPage } = source
  return (page: number) => ({
    queryKey: keyOf(source, page),
    queryFn: ({ signal }: { signal: AbortSignal }) => loadPage(page, signal),
  })
}

/** Row counts of the cached pages, by page. */
function useLoadedSizes<Row>(source: Source<Row>, count: number): (number | undefined)[] {
  const client = useQueryClient()
  return Array.from({ length: count }, (_, page) => {
    return client.getQueryData<LoadedPage<Row>>(keyOf(source, page))?.data.length
  })
}

function usePageInView<Row>(source: Source<Row>, isOn: boolean): Rows<Row> {
  const { page } = source.state
  const query = usePageQuery(source)(page)
  const { data, isPending, isPlaceholderData, error } = useQuery({
    ...query,
    placeholderData: keepPreviousData,
    enabled: isOn,
  })
  const sizes = useLoadedSizes(source, page + 2)
  const total = data?.total ?? null
  return {
    rows: data?.data ?? noRows,
    rowsArePage: true,
    pageCount: Math.max(knownPageCount(total, sizes), isPlaceholderData ? page + 1 : 1),
    total,
    isLoading: isPending,
    isRefreshing: isPlaceholderData,
    error,
  }
}

function useSortedPages<Row>(source: Source<Row>, isOn: boolean): Rows<Row> {
  const query = usePageQuery(source)
  const sizes = useLoadedSizes(source, SORTED_PAGES_MAX)
  const client = useQueryClient()
  const total = client.getQueryData<LoadedPage<Row>>(keyOf(source, 0))?.total ?? null
  const loaded = useQueries({
    queries: isOn ? pagesToSort(total, sizes).map(query) : [],
    combine: (results) => ({
      rows: results.flatMap((result) => result.data?.data ?? []),
      isLoading: results.every((result) => result.isPending),
      isRefreshing: results.some((result) => result.isPending),
      error: results.find((result) => result.error !== null)?.error ?? null,
    }),
  })
  return { ...loaded, rowsArePage: false, pageCount: pagesOf(loaded.rows.length), total }
}

function useFound<Row>(source: Source<Row>, isOn: boolean): Rows<Row> {
  const { name, filters, search, compare, state } = source
  const { data, isPending, isPlaceholderData, error } = useQuery({
    queryKey: [name, 'search', filters, state.keyword],
    queryFn: ({ signal }) => search(state.keyword, signal),
    placeholderData: keepPreviousData,
    enabled: isOn,
  })
  const rows = useMemo(() => {
    const found = data ?? noRows
    return compare === undefined ? found : found.toSorted(compare)
  }, [data, compare])
  const isCut = rows.length === SEARCH_ROWS_MAX
  return {
    rows,
    rowsArePage: false,
    pageCount: pagesOf(rows.length),
    total: data === undefined || isCut ? null : rows.length,
    isCut,
    isLoading: isPending,
    isRefreshing: isPlaceholderData,
    error,
  }
}

/**
 * A list that the server returns in pages of `PAGE_SIZE`, or as a whole for a search. Pages are
 * loaded when displayed; a click on a column head loads and sorts up to `SORTED_PAGES_MAX` of them.
 */
export function usePagedList<Row extends { id: number }>(source: Source<Row>): PagedList<Row> {
  const { name, state } = source
  const client = useQueryClient()
  const kind = state.keyword !== '' ? 'found' : state.sort !== null ? 'sorted' : 'inView'
  const all = {
    inView: usePageInView(source, kind === 'inView'),
    sorted: useSortedPages(source, kind === 'sorted'),
    found: useFound(source, kind === 'found'),
  }
  const shown = all[kind]
  useEffect(() => {
    // While a page is loading, the rows are still those of the previous page.
    const isEmpty = !shown.isLoading && !shown.isRefreshing && shown.rows.length === 0
    // If the last row of the last page is gone, the page before it is now the last one.
    if (isEmpty && shown.error === null && state.page > 0) {
      state.correctPage(Math.min(state.page, shown.pageCount) - 1)
    }
  }, [shown, state])

  const isOutdated = useRef(false)
  const mapRows = useCallback(
    (map: (rows: Row[]) => Row[]) => {
      client.setQueriesData<LoadedPage<Row>>({ queryKey: [name, 'page'] }, (page) =>
        page === undefined ? page : { ...page, data: map(page.data) },
      )
      client.setQueriesData<Row[]>({ queryKey: [name, 'search'] }, (rows) =>
        rows === undefined ? rows : map(rows),
      )
      // A response in flight may predate the change and would undo it here.
      if (isOutdated.current || client.isFetching({ queryKey: [name] }) === 0) return
      isOutdated.current = true
      queueMicrotask(() => {
        isOutdated.current = false
        void client.invalidateQueries({ queryKey: [name] })
      })
    },
    [client, name],
  )
  const update = useCallback(
    (id: number, change: Partial<Row>) =>
      mapRows((rows) => rows.map((row) => (row.id === id ? { ...row, ...change } : row))),
    [mapRows],
  )
  const refresh = () => void client.invalidateQueries({ queryKey: [name] })
  return {
    ...shown,
    state,
    search: (keyword) => {
      const refetchType = keyword === state.keyword ? 'active' : 'none'
      void client.invalidateQueries({ queryKey: [name], refetchType })
      state.set({ keyword })
    },
    refresh,
    afterFailure: (error) => {
      if (!(error instanceof CallFailure)) return
      // Another user may have changed the record: reload what is displayed.
      if (error.refused || error.status === NOT_FOUND) refresh()
    },
    update,
    remove: (id) => {
      mapRows((rows) => rows.filter((row) => row.id !== id))
      refresh()
    },
  }
}
