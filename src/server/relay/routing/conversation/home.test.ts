import { expect, test } from 'vitest'
import { sha256 } from '../../../secrets.ts'
import { homeOf } from './home.ts'

interface Place {
  id: number
  share: number
}

const NAMES = Array.from({ length: 20_000 }, (_, index) => sha256(`conversation ${index}`))
const homes = (places: readonly Place[]) =>
  NAMES.map((name) =>
    homeOf(name, places, { numberOf: ({ id }) => id, shareOf: ({ share }) => share }),
  )
const place = (id: number, share = 1): Place => ({ id, share })

test('names are distributed by the shares', () => {
  const places = [place(7, 30), place(8, 10), place(9, 60), place(10, 0)]
  const found = homes(places)
  for (const one of places) {
    const part = found.filter((home) => home === one).length / NAMES.length
    expect(part).toBeCloseTo(one.share / 100, 1)
    if (one.share > 0) expect(Math.abs(part - one.share / 100)).toBeLessThan(0.015)
  }
})

test('the order of the places does not matter', () => {
  const places = [place(1), place(2, 3), place(3), place(4, 9)]
  expect(homes(places.toReversed())).toEqual(homes(places))
})

test('only the names of a removed place move, and they return with it', () => {
  const [gone, ...left] = [place(1), place(2), place(3, 2)]
  if (gone === undefined) throw new Error('no place')
  const before = homes([gone, ...left])
  const after = homes(left)
  for (const [index, home] of before.entries()) {
    if (home === gone) expect(left).toContain(after[index])
    else expect(after[index]).toBe(home)
  }
})

test('a larger share takes names from the others and moves none between them', () => {
  const before = homes([place(1), place(2), place(3)])
  const after = homes([place(1), place(2), place(3, 4)])
  const moved = after.filter((home, index) => home?.id !== before[index]?.id)
  expect(moved.length).toBeGreaterThan(0)
  expect(new Set(moved.map((home) => home?.id))).toEqual(new Set([3]))
})

test('returns null without any share', () => {
  expect(new Set(homes([]))).toEqual(new Set([null]))
  expect(new Set(homes([place(1, 0)]))).toEqual(new Set([null]))
})
