import { useNavigate, useSearch } from '@tanstack/react-router'
import { useIsHere } from '../routing/pages.ts'

export interface ListSort {
  column: string
  isDescending: boolean
}

/** State of a list, kept in the address: it survives a reload and can be shared as a link. */
export interface ListState {
  /** Counted from 0; the address counts from 1. */
  page: number
  keyword: string
  /** The column whose head was clicked; null for the server's order. */
  sort: ListSort | null
  /** Any other filter by name; empty if not set. */
  get: (name: string) => string
  goTo: (page: number) => void
  /** Replaces a page number in the address that does not exist. */
  correctPage: (page: number) => void
  /** Sets filters; empty removes one. Also returns to the first page. */
  set: (changes: Readonly<Record<string, string>>) => void
  sortBy: (sort: ListSort | null) => void
}

export function readPage(text: string | undefined): number {
  return /^[1-9]\d{0,8}$/.test(text ?? '') ? Number(text) - 1 : 0
}

const pageText = (page: number): string => (page === 0 ? '' : String(page + 1))

/** Parses `name` (ascending) or `-name` (descending). */
export function readSort(text: string | undefined): ListSort | null {
  if (text === undefined || text.replace(/^-/, '') === '') return null
  return { column: text.replace(/^-/, ''), isDescending: text.startsWith('-') }
}

/** The inverse of `readSort`. */
export const sortText = (sort: ListSort | null): string =>
  sort === null ? '' : `${sort.isDescending ? '-' : ''}${sort.column}`

export function useListState(): ListState {
  const navigate = useNavigate()
  // The router's parser makes every query a record of strings.
  const search: Record<string, string> = useSearch({ strict: false })
  const isHere = useIsHere()
  const change = (changes: Readonly<Record<string, string>>, replace: boolean) => {
    // The delayed search may run after the user has navigated away.
    if (!isHere()) return
    void navigate({
      to: '.',
      search: (before: Record<string, string>) => ({ ...before, ...changes }),
      replace,
      resetScroll: false,
    })
  }
  return {
    page: readPage(search['page']),
    keyword: (search['keyword'] ?? '').trim(),
    sort: readSort(search['sort']),
    get: (name) => search[name] ?? '',
    goTo: (page) => change({ page: pageText(page) }, false),
    correctPage: (page) => change({ page: pageText(page) }, true),
    set: (changes) => change({ page: '', ...changes }, true),
    sortBy: (sort) => change({ page: '', sort: sortText(sort) }, true),
  }
}
