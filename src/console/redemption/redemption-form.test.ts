import { describe, expect, test } from 'vitest'
import { codesFile, formErrors, newRedemptionForm, toCreation } from './redemption-form.ts'

test('the form offers one code worth 100000 points', () => {
  expect(toCreation({ ...newRedemptionForm, name: ' gift ' })).toEqual({
    name: 'gift',
    quota: 100_000,
    count: 1,
  })
})

describe('validation', () => {
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

  test('a quota of 0 is only allowed in an edit: creation would replace it with 100', () => {
    expect(fields({ quota: '0' })).toEqual(['quota'])
    expect(fields({ quota: '0' }, false)).toEqual([])
  })
})

describe('file of codes', () => {
  test('has one code per line', () => {
    expect(codesFile('春节', ['a', 'b'])).toEqual({ fileName: '春节.txt', text: 'a\nb\n' })
  })

  test.each([
    ['a/b\\c', 'a_b_c.txt'],
    ['../../etc', '___.._etc.txt'],
    ['x\r\ny', 'x__y.txt'],
    ['.hidden', '_hidden.txt'],
    // Would be displayed as "exe.txt" because of the right-to-left mark.
    ['a\u202Eexe', 'a_exe.txt'],
    ['CON: a*?"<>|', 'CON_ a______.txt'],
    ['a.', 'a_.txt'],
  ])('%j is saved as %s', (name, fileName) => {
    expect(codesFile(name, []).fileName).toBe(fileName)
  })
})
