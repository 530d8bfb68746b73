/** Rows a list page holds; a shorter page tells the caller that it is the last. */
export const PAGE_SIZE = 10
/** Rows a search answers at most. */
export const SEARCH_ROWS_MAX = 1000
