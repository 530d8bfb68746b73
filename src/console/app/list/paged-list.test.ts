import { describe, expect, test } from 'vitest'
import { readPage, readSort } from './list-state.ts'
import { knownPageCount, pagesToSort } from './paged-list.ts'

describe('page count', () => {
  test.each([
    ['the server counts', 34, [], 4],
    ['the server counts none', 0, [], 1],
    ['nothing loaded', null, [], 1],
    ['a full last page promises another', null, [10, 10], 3],
    ['a short page is the last', null, [10, 4], 2],
    ['an empty page after a full one', null, [10, 0], 2],
    ['loaded in the middle', null, [undefined, undefined, 10], 4],
  ])('%s', (_case, total, sizes, count) => {
    expect(knownPageCount(total, sizes)).toBe(count)
  })
})

describe('pages to load for sorting', () => {
  test('all of them if the server sends a total', () => {
    expect(pagesToSort(34, [])).toEqual([0, 1, 2, 3])
  })

  test('at most twenty pages', () => {
    expect(pagesToSort(100_000, [])).toHaveLength(20)
  })

  test('one after the other without a total, up to the first short page', () => {
    expect(pagesToSort(null, [undefined])).toEqual([0])
    expect(pagesToSort(null, [10, undefined])).toEqual([0, 1])
    expect(pagesToSort(null, [10, 3, undefined])).toEqual([0, 1])
  })

  test('ignores pages after a gap', () => {
    expect(pagesToSort(null, [10, undefined, 10])).toEqual([0, 1])
  })
})

describe('list state in the address', () => {
  test.each([
    [undefined, 0],
    ['1', 0],
    ['7', 6],
    ['0', 0],
    ['-1', 0],
    ['x', 0],
    ['99999999999', 0],
  ])('page=%s', (text, page) => {
    expect(readPage(text)).toBe(page)
  })

  test.each([
    [undefined, null],
    ['-', null],
    ['name', { column: 'name', isDescending: false }],
    ['-name', { column: 'name', isDescending: true }],
  ])('sort=%s', (text, sort) => {
    expect(readSort(text)).toEqual(sort)
  })
})
