import { expect, test } from 'vitest'
import { fieldDiff } from './copy-diff.ts'

test('lists report added and removed items', () => {
  expect(fieldDiff('models', 'a,b,c', 'd,b, a')).toEqual({
    kind: 'list',
    added: ['d'],
    removed: ['c'],
  })
  expect(fieldDiff('group', '', 'vip')).toEqual({ kind: 'list', added: ['vip'], removed: [] })
})

test('reordered models are a change: the first one is used for tests', () => {
  expect(fieldDiff('models', 'a,b', 'b,a')).toEqual({ kind: 'order', first: 'b' })
})

test('compares other fields as a whole, with or without commas', () => {
  expect(fieldDiff('priority', '0', '-3')).toEqual({ kind: 'text', before: '0', after: '-3' })
  expect(fieldDiff('system_prompt', 'a,b', '')).toEqual({
    kind: 'text',
    before: 'a,b',
    after: '',
  })
})
