import { describe, expect, test } from 'vitest'
import { foldName, isReservedName, nameKeys } from './name-keys.ts'

const lookAlike = (one: string, other: string): boolean =>
  nameKeys(one).some((key) => nameKeys(other).includes(key))

describe('similar names', () => {
  test.each([
    ['another case', 'alice', 'ALICE'],
    ['a capital I for a small L', 'alice', 'aIice'],
    ['a Cyrillic letter', 'root', 'r\u043Eot'],
    ['Greek letters', 'pop', 'ρορ'],
    ['full width', 'bob', 'ｂｏｂ'],
    ['mathematical letters', 'paypal', '𝓅𝒶𝓎𝓅𝒶𝓁'],
    ['digits for letters', 'hello', 'he11o'],
    ['zero for O', 'oscar', '0scar'],
    ['two letters for one', 'mary', 'rnary'],
    ['Cherokee letters', 'DAVE', 'ᎠᎪᏙᎬ'],
    ['an invisible character', 'carol', 'ca\u200Brol'],
    ['a composed letter', 'zoë', 'zoe\u0308'],
    ['a final sigma', 'νόμος', 'ΝΌΜΟΣ'],
    ['surrounding blanks', 'dora', ' dora '],
  ])('%s', (_what, one, other) => {
    expect(lookAlike(one, other)).toBe(true)
    expect(lookAlike(other, one)).toBe(true)
  })

  test.each([
    ['bill', 'bili'],
    ['test1', 'test2'],
    ['张伟', '张玮'],
    ['ana', 'aná'],
    ['user', 'users'],
  ])('%s differs from %s', (one, other) => {
    expect(lookAlike(one, other)).toBe(false)
  })
})

test.each([
  ['root', true],
  ['ROOT', true],
  ['r00t', true],
  ['r\u043Eot', true],
  ['Admin', true],
  ['ADM1N', true],
  ['adrnin', true],
  ['system', true],
  ['ѕуѕtеm', true],
  ['admin1', false],
  ['myroot', false],
  ['sysadmin', false],
  ['administrator', false],
])('isReservedName(%j) is %s', (name, expected) => {
  expect(isReservedName(name)).toBe(expected)
})

test('folding keeps similar names distinct', () => {
  expect(foldName(' ALICE ')).toBe('alice')
  expect(foldName('aIice')).not.toBe(foldName('alice'))
})
