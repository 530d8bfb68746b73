import { PAGE_SIZE } from '../../contract/paging.ts'
import { AppError } from '../app-error.ts'
import type { App } from '../app.ts'
import { narrowedToRequest } from './log-request-store.ts'
import type { LogFilterValues, LogPosition, LogRows } from './log-store.ts'

/**
 * Reads pages of log rows. Internally a page is "the rows after this one". The wire's page numbers
 * are mapped to that: reading pages in sequence uses a cursor, so each page costs the same and
 * added rows repeat nothing. A jump skips rows.
 */
export interface LogPages {
  read(wanted: WantedPage): Promise<LogRows>
}

export interface WantedPage {
  /** Caller of the list; cursors are kept per caller and filter. */
  caller: string
  filter: LogFilterValues
  /** Starts at 0. */
  page: number
  /** `<created_at>-<id>` of the row before the page, or empty; takes precedence over `page`. */
  before: string
}

/** Maximum number of lists with cursors; the least recently used is dropped. */
const LISTS_MAX = 1000
/** Maximum number of pages per list with stored ends. */
const PAGES_MAX = 200

/** Position after all rows. */
const END: LogPosition = { createdAt: 0, id: 0 }

export function createLogPages({ database, logs }: Pick<App, 'database' | 'logs'>): LogPages {
  const lists = new Map<string, Map<number, LogPosition>>()

  /** Returns the ends of a list's pages, by number. The first page resets them. */
  function endsOf(key: string, page: number): Map<number, LogPosition> {
    const ends = page === 0 ? new Map<number, LogPosition>() : (lists.get(key) ?? new Map())
    lists.delete(key)
    lists.set(key, ends)
    const oldest = lists.keys().next()
    if (lists.size > LISTS_MAX && !oldest.done) lists.delete(oldest.value)
    return ends
  }

  function remember(
    ends: Map<number, LogPosition>,
    page: number,
    { rows, searchedFrom }: LogRows,
  ): void {
    const last = rows.at(-1)
    const end = last === undefined ? END : { createdAt: last.created_at, id: last.id }
    ends.set(page, searchedFrom === undefined ? end : { createdAt: searchedFrom, id: 0 })
    const first = ends.keys().next()
    if (ends.size > PAGES_MAX && !first.done) ends.delete(first.value)
  }

  /** Returns the rows after a position. */
  async function readAfter(filter: LogFilterValues, after: LogPosition | null): Promise<LogRows> {
    return filter.request || filter.response
      ? logs.searchBodies(filter, after)
      : { rows: await logs.page(filter, { after }) }
  }

  return {
    async read({ caller, filter: asked, page, before }) {
      const filter = await narrowedToRequest(database.read, asked)
      if (filter === null) return { rows: [] }
      if (before !== '') return readAfter(filter, parsePosition(before))
      const ends = endsOf(`${caller} ${JSON.stringify(asked)}`, page)
      const after = ends.get(page - 1) ?? null
      const isBody = Boolean(filter.request) || Boolean(filter.response)
      // The number of texts before a page that was not read in sequence is unknown.
      if (isBody && page > 0 && after === null) return { rows: [] }
      const read =
        page === 0 || after !== null
          ? await readAfter(filter, after)
          : { rows: await logs.page(filter, { after: null, skip: page * PAGE_SIZE }) }
      remember(ends, page, read)
      return read
    },
  }
}

/** Parses `<created_at>-<id>`. Throws `invalid_parameter`. */
export function parsePosition(text: string): LogPosition {
  const match = /^(\d{1,15})-(\d{1,15})$/.exec(text)
  if (match === null) throw new AppError('invalid_parameter')
  return { createdAt: Number(match[1]), id: Number(match[2]) }
}
