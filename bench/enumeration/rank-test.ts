/** Mann-Whitney test: whether values of one kind tend to be larger than those of another. */
export interface RankTest {
  /**
   * Probability that a value of the first kind is larger than one of the second; 0.5 means no
   * difference.
   */
  share: number
  /** Two-sided p-value: probability of a difference of this size between equal distributions. */
  p: number
}

export function rankTest(first: readonly number[], second: readonly number[]): RankTest {
  const all = [
    ...first.map((value) => ({ value, isFirst: true })),
    ...second.map((value) => ({ value, isFirst: false })),
  ].toSorted((one, other) => one.value - other.value)
  let rankSum = 0
  for (let from = 0; from < all.length;) {
    let until = from + 1
    while (until < all.length && all[until]?.value === all[from]?.value) until += 1
    // Equal values share the mean of their ranks, which count from 1.
    const rank = (from + 1 + until) / 2
    rankSum += rank * all.slice(from, until).filter(({ isFirst }) => isFirst).length
    from = until
  }
  const pairs = first.length * second.length
  const larger = rankSum - (first.length * (first.length + 1)) / 2
  const deviation = Math.sqrt((pairs * (all.length + 1)) / 12)
  return { share: larger / pairs, p: bothTails(Math.abs(larger - pairs / 2) / deviation) }
}

/**
 * Two-sided tail of the standard normal distribution beyond `z`; accurate to 1.2e-7 (W. J. Cody's
 * rational form as in Numerical Recipes, `erfcc`).
 */
function bothTails(z: number): number {
  const x = z / Math.SQRT2
  const t = 1 / (1 + x / 2)
  const terms = [
    -1.265_512_23, 1.000_023_68, 0.374_091_96, 0.096_784_18, -0.186_288_06, 0.278_868_07,
    -1.135_203_98, 1.488_515_87, -0.822_152_23, 0.170_872_77,
  ]
  return t * Math.exp(-x * x + terms.reduceRight((sum, term) => sum * t + term, 0))
}
