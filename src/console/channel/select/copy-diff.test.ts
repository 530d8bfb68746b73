import { expect, test } from 'vitest'
import { fieldDiff } from './copy-diff.ts'

test('lists say what comes and what goes', () => {
  expect(fieldDiff('models', 'a,b,c', 'd,b, a')).toEqual({
    kind: 'list',
    added: ['d'],
    removed: ['c'],
  })
  expect(fieldDiff('group', '', 'vip')).toEqual({ kind: 'list', added: ['vip'], removed: [] })
})

test('the same models in another order are a change: the first one is tested', () => {
  expect(fieldDiff('models', 'a,b', 'b,a')).toEqual({ kind: 'order', first: 'b' })
})

test('everything else is compared as a whole, commas or not', () => {
  expect(fieldDiff('priority', '0', '-3')).toEqual({ kind: 'text', before: '0', after: '-3' })
  expect(fieldDiff('system_prompt', 'a,b', '')).toEqual({
    kind: 'text',
    before: 'a,b',
    after: '',
  })
})
