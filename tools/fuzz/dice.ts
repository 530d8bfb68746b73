/** Random numbers that a seed repeats, so that a call found to fail can be made again. */
export interface Dice {
  /** From 0 up to and without 1. */
  next(): number
  /** Whole, from 0 up to and without `limit`. */
  below(limit: number): number
  pick<T>(from: readonly T[]): T
  /** True in `percent` of a hundred throws. */
  chance(percent: number): boolean
}

/** Marsaglia's xorshift on 32 bits: even enough for picking inputs. */
export function createDice(seed: number): Dice {
  let state = seed | 0 || 1
  const next = (): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    next,
    below,
    pick(from) {
      const picked = from[below(from.length)]
      if (picked === undefined) throw new Error('nothing to pick from')
      return picked
    },
    chance: (percent) => next() * 100 < percent,
  }
}
