export interface ColumnWidth {
  /**
   * Width in pixels, so that columns stay in place between pages. Columns without a width share the
   * rest; if all have one, all grow proportionally.
   */
  width?: number
  /**
   * Growth factor in a wider window, if all columns have a width; larger for texts that are
   * truncated sooner. Default: 1.
   */
  growth?: number
}

/**
 * Minimum width in pixels of a column without a width; in a narrower window the table scrolls
 * horizontally.
 */
export const SHARED_WIDTH = 200

/** Minimum width of all columns in pixels. */
export const widthOf = (columns: readonly ColumnWidth[]): number =>
  columns.reduce((sum, { width = SHARED_WIDTH }) => sum + width, 0)

const growthOf = ({ width = 0, growth = 1 }: ColumnWidth): number => width * growth

/** CSS width of a column; the actions column does not grow. */
export function columnWidth(
  column: ColumnWidth,
  columns: readonly ColumnWidth[],
): string | undefined {
  const { width } = column
  if (width === undefined) return undefined
  if (columns.some((one) => one.width === undefined)) return `${width}px`
  const share = growthOf(column) / columns.reduce((sum, one) => sum + growthOf(one), 0)
  const room = '100cqw - var(--actions) - var(--columns)'
  return `calc(${width}px + max(0px, ${room}) * ${share})`
}
