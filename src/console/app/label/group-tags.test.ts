import { expect, test } from 'vitest'
import { tagHues } from '../../ui/marks.tsx'
import { groupHue } from './group-tags.tsx'

test('vip and pro are yellow, svip and premium red', () => {
  expect(['vip', 'pro', 'svip', 'premium'].map(groupHue)).toEqual([
    'yellow',
    'yellow',
    'red',
    'red',
  ])
})

test('other groups take the hue at the sum of their UTF-16 units modulo 15', () => {
  expect(groupHue('a')).toBe(tagHues[97 % 15])
  expect(groupHue('default')).toBe(tagHues[741 % 15])
  // Two UTF-16 units: D83D DE00.
  expect(groupHue('😀')).toBe(tagHues[(0xd83d + 0xde00) % 15])
})
