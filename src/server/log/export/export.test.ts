import { describe, expect, test } from 'vitest'
import { csvCell } from '../../../contract/log-file.ts'
import { withBody, zoneOffsets } from './export.ts'

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

describe('zoneOffsets', () => {
  const at = (text: string): number => Date.parse(text) / 1000

  test('a zone without summer time has one offset', () => {
    const range = { from: at('2020-01-01T00:00:00Z'), until: at('2027-01-01T00:00:00Z') }
    expect(zoneOffsets('Asia/Shanghai', range)).toEqual([{ from: range.from, seconds: 28_800 }])
    expect(zoneOffsets('Asia/Kathmandu', range)?.[0]?.seconds).toBe(20_700)
  })

  test('summer time begins and ends in its second, latest first', () => {
    const range = { from: at('2026-01-15T00:00:00Z'), until: at('2026-12-01T00:00:00Z') }
    expect(zoneOffsets('Europe/Berlin', range)).toEqual([
      { from: at('2026-10-25T01:00:00Z'), seconds: 3600 },
      { from: at('2026-03-29T01:00:00Z'), seconds: 7200 },
      { from: range.from, seconds: 3600 },
    ])
  })

  test('a range of one second has the offset of that second', () => {
    const from = at('2026-07-01T00:00:00Z')
    expect(zoneOffsets('America/New_York', { from, until: from })).toEqual([
      { from, seconds: -14_400 },
    ])
  })

  test.each(['Mars/Olympus', '../etc', "'; --"])('%s is no zone', (zone) => {
    expect(zoneOffsets(zone, { from: 0, until: 1 })).toBeNull()
  })
})

describe('withBody', () => {
  const body = { request: '{"a":"}"}', response: '=1\n' }

  test('adds members to a JSON row, whatever its texts hold', () => {
    const row = '{"id":1,"content":"}"}'
    expect(JSON.parse(withBody(row, 'json', body))).toEqual({ id: 1, content: '}', ...body })
    expect(withBody(row, 'ndjson', body)).not.toContain('\n')
  })

  test('adds cells to a CSV row', () => {
    expect(withBody('"1"', 'csv', body)).toBe(`"1","{""a"":""}""}","'=1\n"`)
  })
})
