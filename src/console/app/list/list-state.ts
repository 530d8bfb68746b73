import { useNavigate, useSearch } from '@tanstack/react-router'
import { useIsHere } from '../routing/pages.ts'

export interface ListSort {
  column: string
  isDescending: boolean
}

/** What a list shows, as the address has it: it survives a reload, and a link shows others the same. */
export interface ListState {
  /** First page 0; the address counts from 1. */
  page: number
  keyword: string
  /** The column whose head was clicked; null: the server's order. */
  sort: ListSort | null
  /** Any other filter by name; empty when not set. */
  get: (name: string) => string
  goTo: (page: number) => void
  /** Goes to the page that is meant, where the address names one that is not there. */
  correctPage: (page: number) => void
  /**
   * Replaces filters; empty removes one. A list that is filtered otherwise starts at its first
   * page.
   */
  set: (changes: Readonly<Record<string, string>>) => void
  sortBy: (sort: ListSort | null) => void
}

export function readPage(text: string | undefined): number {
  return /^[1-9]\d{0,8}$/.test(text ?? '') ? Number(text) - 1 : 0
}

const pageText = (page: number): string => (page === 0 ? '' : String(page + 1))

/** `name` ascending, `-name` descending. */
export function readSort(text: string | undefined): ListSort | null {
  if (text === undefined || text.replace(/^-/, '') === '') return null
  return { column: text.replace(/^-/, ''), isDescending: text.startsWith('-') }
}

/** The inverse of `readSort`. */
export const sortText = (sort: ListSort | null): string =>
  sort === null ? '' : `${sort.isDescending ? '-' : ''}${sort.column}`

export function useListState(): ListState {
  const navigate = useNavigate()
  // Our parser makes every query a record of texts.
  const search: Record<string, string> = useSearch({ strict: false })
  const isHere = useIsHere()
  const change = (changes: Readonly<Record<string, string>>, replace: boolean) => {
    // A pause in typing may come after a click on the menu.
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
