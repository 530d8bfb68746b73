import { describe, expect, test } from 'vitest'
import { csvCell, csvLine, dollarText, logFile, type LogFileRow } from './log-file.ts'

describe('csvCell', () => {
  test.each([
    ['plain', '"plain"'],
    ['', '""'],
    ['say "hi"', '"say ""hi"""'],
    ['a,b\r\nc', '"a,b\r\nc"'],
    ['中文 🙂', '"中文 🙂"'],
    // A spreadsheet computes these, also behind blanks.
    ["=cmd|'/C calc'!A0", `"'=cmd|'/C calc'!A0"`],
    ['+1', `"'+1"`],
    ['-1', `"'-1"`],
    ['@SUM(A1)', `"'@SUM(A1)"`],
    ['＝SUM(A1)', `"'＝SUM(A1)"`],
    ['\t=1', `"'\t=1"`],
    ['\r=1', `"'\r=1"`],
    ['\tplain', `"'\tplain"`],
    ['\nplain', `"'\nplain"`],
    ['  =1', `"'  =1"`],
    ['"=1"', '"""=1"""'],
    ['1-1', '"1-1"'],
  ])('%j is written %s', (text, cell) => {
    expect(csvCell(text)).toBe(cell)
  })
})

test('a figure is no text: one below zero needs no guard', () => {
  expect(csvLine([-1, '-1', false, null, undefined, [{ name: '"' }]])).toBe(
    `"-1","'-1","false","","","[{""name"":""\\""""}]"`,
  )
})

test.each([
  [0, 500_000, '0'],
  [1, 500_000, '0.000002'],
  [125_300, 500_000, '0.2506'],
  [50_000_000, 500_000, '100'],
  [1, 1e12, '0'],
  [123_456_789_012_345, 500_000, '246913578.02469'],
  [2 ** 53 - 1, 0.01, '900719925474099072'],
  [7, 500_000.5, '0.000014'],
])('%i points of %d a dollar are %s dollars', (quota, quotaPerUnit, text) => {
  expect(dollarText(quota, quotaPerUnit)).toBe(text)
})

describe('a row', () => {
  const row: LogFileRow = {
    id: 1,
    user_id: 2,
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
    system_prompt_reset: true,
    price: { model_ratio: '0.075', debt: 0, lines: [{ kind: 'prompt' }] },
    request: '{"a":"}"}',
    response: '=1\n',
  }
  const options = {
    timeText: (seconds: number) => `at ${seconds}`,
    quotaPerUnit: 500_000,
    hasBodies: true,
  }

  test('as JSON: its cost behind its columns, and what was captured at the end', () => {
    const text = logFile({ ...options, format: 'ndjson' }).row(row)
    const { price, request, response, ...columns } = row
    const expected = { ...columns, cost_usd: 0.00001, price, request, response }
    expect(JSON.parse(text)).toEqual(expected)
    expect(Object.keys(JSON.parse(text))).toEqual(Object.keys(expected))
    expect(text).not.toContain('\n')
  })

  test('of a table: figures, guarded texts, factors, texts that were captured', () => {
    expect(logFile({ ...options, format: 'csv' }).row(row)).toBe(
      `"1","2","at 1700000000","2","'=1+1","alice","a ""b""","gpt-4o","5","1","2","3","","4",` +
        `"false","true","0.00001","","","0.075","","","","","","","0","[{""kind"":""prompt""}]",` +
        `"{""a"":""}""}","'=1\n"`,
    )
  })

  test('that is no call has no cost', () => {
    const file = logFile({ ...options, format: 'json', hasBodies: false })
    expect(JSON.parse(file.row({ ...row, type: 1 }))).toMatchObject({ cost_usd: null })
  })
})
