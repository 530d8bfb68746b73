import { expect, test } from 'vitest'
import { allRows, cellText, fileText } from './log-file.ts'

const aLog = (id: number) => ({
  id,
  user_id: 1,
  created_at: 1_700_000_000,
  type: 2,
  content: '=1+1',
  username: 'alice',
  token_name: 'a "b"',
  model_name: 'gpt-4o',
  quota: 5,
  prompt_tokens: 1,
  completion_tokens: 2,
  channel: 3,
  request_id: '',
  elapsed_time: 4,
  is_stream: false,
  system_prompt_reset: false,
  request: '',
  response: '',
  has_body: false,
})

test.each([
  ['plain', '"plain"'],
  ['  =1', `"'  =1"`],
  ['-1', `"'-1"`],
  ['＝1', `"'＝1"`],
  [-1, '"-1"'],
  ['a"b', '"a""b"'],
  [false, '"false"'],
  [undefined, '""'],
])('the cell of %j is %s', (value, cell) => {
  expect(cellText(value)).toBe(cell)
})

test('formats rows as JSON, NDJSON and CSV', () => {
  const rows = [aLog(1), aLog(2)]
  expect(JSON.parse(fileText(rows, 'json'))).toEqual(rows)
  const lines = fileText(rows, 'ndjson').split('\n')
  expect(lines).toHaveLength(3)
  expect(JSON.parse(lines[1] ?? '')).toEqual(rows[1])
  const table = fileText(rows, 'csv')
  expect(table.startsWith('\uFEFF"id","user_id","created_at"')).toBe(true)
  expect(table).toContain(`"'=1+1","alice","a ""b""","gpt-4o","5"`)
  expect(table.split('\r\n')).toHaveLength(4)
  expect(fileText([], 'json')).toBe('[]\n')
})

test('loads pages until one is not full', async () => {
  const counts: number[] = []
  const pages = [10, 10, 3].map((count) => Array.from({ length: count }, (_, id) => aLog(id)))
  const rows = await allRows(
    (page) => Promise.resolve(pages[page] ?? []),
    (count) => counts.push(count),
  )
  expect(rows).toHaveLength(23)
  expect(counts).toEqual([10, 20, 23])
})
