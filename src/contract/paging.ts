/** Rows of a list page. A shorter page is the last one. */
export const PAGE_SIZE = 10
/** Maximum number of rows in a search. */
export const SEARCH_ROWS_MAX = 1000
