/** Pseudo-random numbers that are the same in every run, so that demo data is reproducible. */
export interface Dice {
  /** From 0 (inclusive) to 1 (exclusive). */
  unit(): number
  /** An integer, both ends inclusive. */
  whole(min: number, max: number): number
  /** True in this percentage of cases. */
  percent(chance: number): boolean
  pick<T>(items: readonly T[]): T
  /**
   * Returns an item with a probability proportional to its weight; the sum of the weights must not
   * be 0.
   */
  weighted<T>(items: readonly T[], weightOf: (item: T) => number): T
  /** Returns a value around `typical`, occasionally a multiple of it, like text sizes. */
  spread(typical: number, width: number): number
  text(length: number, alphabet: string): string
}

export const LETTERS_AND_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'
export const HEX_DIGITS = '0123456789abcdef'
export const DIGITS = '0123456789'

export function createDice(seed: number): Dice {
  let state = seed >>> 0
  /**
   * A counter stepped by an odd constant and then mixed: every seed goes through all 2^32 states.
   */
  function unit(): number {
    state = (state + 0x9e3779b9) >>> 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
  const whole = (min: number, max: number): number => min + Math.floor(unit() * (max - min + 1))

  function pick<T>(items: readonly T[]): T {
    const item = items[whole(0, items.length - 1)]
    if (item === undefined) throw new Error('nothing to pick from')
    return item
  }

  function weighted<T>(items: readonly T[], weightOf: (item: T) => number): T {
    let left = unit() * items.reduce((sum, item) => sum + weightOf(item), 0)
    for (const item of items) {
      left -= weightOf(item)
      if (left < 0) return item
    }
    throw new Error('nothing to draw from')
  }

  /** The sum of three is close to a normal distribution. */
  const bell = (): number => (unit() + unit() + unit() - 1.5) * 2

  return {
    unit,
    whole,
    percent: (chance) => unit() * 100 < chance,
    pick,
    weighted,
    spread: (typical, width) => typical * Math.exp(width * bell()),
    text: (length, alphabet) =>
      Array.from({ length }, () => alphabet[whole(0, alphabet.length - 1)]).join(''),
  }
}
