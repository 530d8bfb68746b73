import { expect, test } from 'vitest'
import type { Column } from './table/table-list.ts'
import { sortedRows } from './rows-in-view.ts'

interface Row {
  id: number
  name: string
  used: number
}

const rows: Row[] = [
  { id: 1, name: 'key 10', used: 5 },
  { id: 2, name: 'key 9', used: 10 },
  { id: 3, name: 'Key 9', used: 5 },
]
const columns: Column<Row>[] = [
  { id: 'name', head: 'Name', cell: ({ name }) => name, sortBy: ({ name }) => name },
  { id: 'used', head: 'Used', cell: ({ used }) => used, sortBy: ({ used }) => used },
  { id: 'plain', head: 'Plain', cell: () => '' },
]
const ids = (column: string, isDescending: boolean) =>
  sortedRows(rows, columns, { column, isDescending }).map(({ id }) => id)

test('numbers sort by value, texts by the numbers in them', () => {
  expect(ids('used', false)).toEqual([1, 3, 2])
  expect(ids('name', false).at(-1)).toBe(1)
  expect(ids('name', true)[0]).toBe(1)
})

test('equal rows stay in their order in either direction', () => {
  expect(ids('used', true)).toEqual([2, 1, 3])
})

test('without a sort, or by a column without sort values, rows keep their order', () => {
  expect(sortedRows(rows, columns, null)).toBe(rows)
  expect(ids('plain', true)).toEqual([1, 2, 3])
  expect(ids('gone', false)).toEqual([1, 2, 3])
})
