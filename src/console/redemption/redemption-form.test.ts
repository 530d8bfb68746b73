import { describe, expect, test } from 'vitest'
import { codesFile, formErrors, newRedemptionForm, toCreation } from './redemption-form.ts'

test('the form offers one code worth 100000 points', () => {
  expect(toCreation({ ...newRedemptionForm, name: ' gift ' })).toEqual({
    name: 'gift',
    quota: 100_000,
    count: 1,
  })
})

describe('what has to be mended', () => {
  const fields = (form: Partial<typeof newRedemptionForm>, isNew = true) => [
    ...formErrors({ ...newRedemptionForm, name: 'a', ...form }, isNew).keys(),
  ]

  test.each(['', '0', '101', '-1', '1.5', 'x'])('a count of "%s"', (count) => {
    expect(fields({ count })).toEqual(['count'])
    expect(fields({ count }, false)).toEqual([])
  })

  test.each(['', '-1', '0.5', '1e3', String(2 ** 51)])('a quota of "%s"', (quota) => {
    expect(fields({ quota })).toEqual(['quota'])
  })

  test('no name', () => {
    expect(fields({ name: '  ' })).toEqual(['name'])
    expect(fields({ quota: '1', count: '100' })).toEqual([])
  })

  test('a quota of 0, which creation would turn into 100; a code may be edited to it', () => {
    expect(fields({ quota: '0' })).toEqual(['quota'])
    expect(fields({ quota: '0' }, false)).toEqual([])
  })
})

describe('the file of codes', () => {
  test('has one code a line', () => {
    expect(codesFile('春节', ['a', 'b'])).toEqual({ fileName: '春节.txt', text: 'a\nb\n' })
  })

  test.each([
    ['a/b\\c', 'a_b_c.txt'],
    ['../../etc', '___.._etc.txt'],
    ['x\r\ny', 'x__y.txt'],
    ['.hidden', '_hidden.txt'],
    // Would show as "exe.txt" read from the right.
    ['a\u202Eexe', 'a_exe.txt'],
    ['CON: a*?"<>|', 'CON_ a______.txt'],
    ['a.', 'a_.txt'],
  ])('%j is saved as %s', (name, fileName) => {
    expect(codesFile(name, []).fileName).toBe(fileName)
  })
})
