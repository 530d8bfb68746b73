import { expect, test } from 'vitest'
import { columnWidth, widthOf } from './column-width.ts'

/** Pixels of each column in a window with so much room for all of them. */
function widthsIn(room: number, columns: { width: number; growth?: number }[]): number[] {
  return columns.map((column) => {
    const share = Number(/\* ([\d.]+)\)$/.exec(columnWidth(column, columns) ?? '')?.[1])
    return column.width + Math.max(0, room - widthOf(columns)) * share
  })
}

test('columns share what is left by their widths, and some take more of it', () => {
  const columns = [{ width: 100 }, { width: 50, growth: 4 }]
  expect(widthsIn(120, columns)).toEqual([100, 50])
  expect(widthsIn(450, columns)).toEqual([200, 250])
  expect(widthsIn(300, [{ width: 100 }, { width: 50 }])).toEqual([200, 100])
})

test('one without a width takes all that is left', () => {
  const columns = [{ width: 100 }, {}]
  expect(columns.map((column) => columnWidth(column, columns))).toEqual(['100px', undefined])
})
