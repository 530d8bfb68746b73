export interface ColumnWidth {
  /**
   * Pixels, so that columns stay where they are from page to page; those without share what is
   * left, and where all have one, all grow alike.
   */
  width?: number
  /**
   * How many times its share of the room of a wider window it takes, where all have a width: of
   * texts that are cut sooner than others. Absent: one.
   */
  growth?: number
}

/** Pixels a column without a width has at least; a narrower window scrolls the table sideways. */
export const SHARED_WIDTH = 200

/** Pixels all columns have at least. */
export const widthOf = (columns: readonly ColumnWidth[]): number =>
  columns.reduce((sum, { width = SHARED_WIDTH }) => sum + width, 0)

const growthOf = ({ width = 0, growth = 1 }: ColumnWidth): number => width * growth

/** What style sheets say of a column; the actions stay as they are when the columns grow. */
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
