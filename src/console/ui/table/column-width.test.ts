import { expect, test } from 'vitest'
import { columnWidth, widthOf } from './column-width.ts'

/** Width of each column in pixels, in a window with this much space. */
function widthsIn(room: number, columns: { width: number; growth?: number }[]): number[] {
  return columns.map((column) => {
    const share = Number(/\* ([\d.]+)\)$/.exec(columnWidth(column, columns) ?? '')?.[1])
    return column.width + Math.max(0, room - widthOf(columns)) * share
  })
}

test('columns share the rest by their widths, and some grow more', () => {
  const columns = [{ width: 100 }, { width: 50, growth: 4 }]
  expect(widthsIn(120, columns)).toEqual([100, 50])
  expect(widthsIn(450, columns)).toEqual([200, 250])
  expect(widthsIn(300, [{ width: 100 }, { width: 50 }])).toEqual([200, 100])
})

test('a column without a width takes the rest', () => {
  const columns = [{ width: 100 }, {}]
  expect(columns.map((column) => columnWidth(column, columns))).toEqual(['100px', undefined])
})
