import { expect, test } from 'vitest'
import { z } from 'zod'
import { byId, keyword, needed, NullableWholeNumber, Text } from './wire.ts'

test('limits of the API description are not enforced by parsing', () => {
  const shape = z.object({ name: needed(Text).meta({ minLength: 2, maxLength: 3 }) })
  expect(shape.parse({})).toEqual({})
  expect(shape.parse({ name: null })).toEqual({})
  expect(shape.parse({ name: 'four' })).toEqual({ name: 'four' })
  expect(shape.safeParse({ name: 4 }).success).toBe(false)
})

test('a fraction in a column of integers does not hide other rows', () => {
  const rows = z.array(z.object({ quota: NullableWholeNumber }))
  expect(rows.parse([{ quota: 7 }, { quota: 0.5 }, { quota: 2 ** 60 }, { quota: null }])).toEqual([
    { quota: 7 },
    { quota: 0.5 },
    { quota: 2 ** 60 },
    { quota: 0 },
  ])
})

test('an id in a path is a number, and a word matches no record', () => {
  const params = byId('Id.')
  expect(params.parse({ id: '12' })).toEqual({ id: 12 })
  for (const id of ['abc', '-1', '1.5', '']) expect(params.parse({ id })).toEqual({ id: 0 })
})

test('a search without a keyword returns everything', () => {
  expect(keyword('What.').parse({})).toEqual({ keyword: '' })
})
