import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCanGoBack, useLocation, useNavigate, useRouter } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import type { Log } from '../../contract/log-api.ts'
import { PAGE_SIZE } from '../../contract/paging.ts'
import { isAdmin } from '../../contract/user.ts'
import { callWhole } from '../app/call.ts'
import { useListState } from '../app/list/list-state.ts'
import { useSessionUser } from '../app/session.ts'
import { nowSeconds } from '../app/time.ts'
import type { TableList } from '../ui/table/table-list.ts'
import { type FilterName, filtersOf, type LogFilters, toAdminQuery, toQuery } from './log-filter.ts'

declare module '@tanstack/react-router' {
  interface HistoryState {
    /** Number of page changes so far: how many steps the browser can go back. */
    turned?: number
  }
}

/** A row with its index in the page: a One API server sends no ids to ordinary users. */
export interface LogRow {
  id: number
  log: Log
}

export interface LogList {
  table: TableList<LogRow>
  filters: LogFilters
  setFilters: (changes: Readonly<Partial<Record<FilterName, string>>>) => void
  clearFilters: () => void
  isFiltered: boolean
  isAdmin: boolean
  /** End of the list if none is chosen: one hour after it was last read. */
  endSeconds: number
  /** Changes with every other page or filter. */
  place: string
  /** Where a search in captured texts stopped, in epoch seconds; null if it did not. */
  searchedFrom: number | null
  /** Continues the search from there. */
  searchOn: () => void
  first: () => void
  previous: (() => void) | undefined
  next: (() => void) | undefined
}

const AHEAD_SECONDS = 3600
const LOOK_MS = 60_000
const endOfNow = () => nowSeconds() + AHEAD_SECONDS
const noRows: LogRow[] = []

/** Pages forward from the last displayed row, and back through the browser's history. */
function usePageTurns(page: number, last: Log | undefined) {
  const navigate = useNavigate()
  const router = useRouter()
  const turned = useLocation({ select: ({ state }) => state.turned ?? 0 })
  const canGoBack = useCanGoBack()
  const href = useLocation({ select: (location) => location.href })
  // A second click before the browser has gone back would leave the list.
  const leaving = useRef('')
  useEffect(() => {
    if (leaving.current !== href) leaving.current = ''
  }, [href])
  const goTo = (target: number, before: string, turns: number) =>
    void navigate({
      to: '.',
      search: (search: Record<string, string>) => ({
        ...search,
        page: target === 0 ? '' : String(target + 1),
        before,
      }),
      state: (state) => ({ ...state, turned: turns }),
      resetScroll: false,
    })
  const previous = () => {
    if (leaving.current === href) return
    if (turned > 0 && canGoBack) {
      leaving.current = href
      router.history.back()
    } else goTo(page - 1, '', 0)
  }
  const goOn = (before: string) => goTo(page + 1, before, turned + 1)
  const next = (row: Log) => goOn(`${row.created_at}-${row.id}`)
  return {
    goOn,
    first: () => goTo(0, '', 0),
    previous: page === 0 ? undefined : previous,
    next: last === undefined ? undefined : () => next(last),
  }
}

/**
 * End of the list: one hour after the filters last changed or the newest rows were requested. It
 * moves on while the page stays open, so that refreshes, sums and exports include the newest rows.
 */
function useEndSeconds(filters: string) {
  const [endSeconds, setEndSeconds] = useState(endOfNow)
  const [seen, setSeen] = useState(filters)
  const readAgain = () => setEndSeconds(endOfNow())
  if (filters !== seen) {
    setSeen(filters)
    readAgain()
  }
  useEffect(() => {
    const moveOn = () => setEndSeconds((end) => (nowSeconds() < end ? end : endOfNow()))
    // Polled more often than hourly: timers do not run while the computer sleeps.
    const timer = setInterval(moveOn, LOOK_MS)
    document.addEventListener('visibilitychange', moveOn)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', moveOn)
    }
  }, [])
  return { endSeconds, readAgain }
}

/**
 * Rows of a place in the list; the last ones if reading them again fails. `loaded` is undefined
 * until the rows of this place are loaded.
 */
function useRowsDespiteFailure(place: string, loaded: LogRow[] | undefined): LogRow[] {
  const [last, setLast] = useState({ place, rows: noRows })
  if (loaded !== undefined && (loaded !== last.rows || place !== last.place)) {
    setLast({ place, rows: loaded })
  }
  return loaded ?? (place === last.place ? last.rows : noRows)
}

export function useLogList(): LogList {
  const user = useSessionUser()
  const admin = user !== null && isAdmin(user.role)
  const state = useListState()
  const client = useQueryClient()
  const before = state.get('before')
  const filters = filtersOf(state.get)
  const { endSeconds, readAgain } = useEndSeconds(JSON.stringify(filters))

  const paging = { p: state.page, before }
  const query = admin ? toAdminQuery(filters, endSeconds) : toQuery(filters, endSeconds)
  const { data, isPending, isPlaceholderData, error } = useQuery({
    queryKey: ['logs', admin, query, paging],
    queryFn: async ({ signal }) => {
      const answer = admin
        ? await callWhole(
            'GET /api/log/',
            { query: { ...toAdminQuery(filters, endSeconds), ...paging } },
            { signal },
          )
        : await callWhole('GET /api/log/self', { query: { ...query, ...paging } }, { signal })
      const rows = answer.data.map((log, id) => ({ id, log }))
      return { rows, searchedFrom: answer.searched_from ?? null }
    },
    placeholderData: keepPreviousData,
  })
  const place = JSON.stringify([filters, paging])
  const own = useRowsDespiteFailure(place, isPlaceholderData ? undefined : data?.rows)
  const rows = isPlaceholderData ? (data?.rows ?? noRows) : own
  const isFull = rows.length === PAGE_SIZE && !isPlaceholderData
  const searchedFrom = isPlaceholderData ? null : (data?.searchedFrom ?? null)
  const turns = usePageTurns(state.page, isFull ? rows.at(-1)?.log : undefined)
  return {
    table: {
      rows,
      rowsArePage: true,
      pageCount: state.page + 1,
      total: null,
      isLoading: isPending,
      isRefreshing: isPlaceholderData,
      error,
      refresh: () => {
        readAgain()
        void client.invalidateQueries({ queryKey: ['logs'] })
        void client.invalidateQueries({ queryKey: ['log-sums'] })
      },
      state: { page: state.page, goTo: state.goTo, sort: null, sortBy: state.sortBy },
    },
    filters,
    setFilters: (changes) => state.set({ before: '', ...changes }),
    clearFilters: () => state.set({ before: '', ...filtersOf(() => '') }),
    isFiltered: Object.values(filters).some((value) => value !== ''),
    isAdmin: admin,
    endSeconds,
    place: JSON.stringify([filters, before]),
    searchedFrom,
    searchOn: () => {
      if (searchedFrom !== null) turns.goOn(`${searchedFrom}-0`)
    },
    ...turns,
    first: () => {
      readAgain()
      turns.first()
    },
  }
}
