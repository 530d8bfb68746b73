import type { ReactNode } from 'react'
import type { Column } from '../data-table.tsx'

interface CellsProps<Row> {
  row: Row
  columns: readonly Column<Row>[]
  /** Checkbox before the first cell's content. */
  box: ReactNode
}

/** Cells of a row: one per column, or one that replaces the last ones. */
export function Cells<Row>({ row, columns, box }: CellsProps<Row>) {
  const rests = columns.map((column) => column.instead?.(row) ?? null)
  const end = rests.findIndex((rest) => rest !== null)
  return (
    <>
      {columns.slice(0, end === -1 ? columns.length : end).map((column, index) => (
        <td key={column.id} data-align={column.align}>
          {index === 0 && box}
          {column.cell(row)}
        </td>
      ))}
      {end !== -1 && <td colSpan={columns.length - end}>{rests[end]}</td>}
    </>
  )
}
