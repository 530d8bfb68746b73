/** Seeded random numbers, so that a failing call can be reproduced. */
export interface Dice {
  /** From 0 (inclusive) to 1 (exclusive). */
  next(): number
  /** Integer from 0 (inclusive) to `limit` (exclusive). */
  below(limit: number): number
  pick<T>(from: readonly T[]): T
  /** True with this probability in percent. */
  chance(percent: number): boolean
}

/** Marsaglia's 32-bit xorshift: uniform enough for choosing inputs. */
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
