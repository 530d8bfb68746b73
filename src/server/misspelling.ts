/** Short names such as `HOST` are a slip away from variables of other programs. */
const SUSPECT_LENGTH_MIN = 6
/** From this length on, two slips still leave no doubt. */
const TWO_SLIPS_LENGTH_MIN = 12

/** Whether a variable's name is probably meant to be the name of a setting. */
export function isMisspelling(given: string, name: string): boolean {
  if (name.length < SUSPECT_LENGTH_MIN) return false
  return slipsBetween(given.toUpperCase(), name) <= (name.length < TWO_SLIPS_LENGTH_MIN ? 1 : 2)
}

/** Counts characters that are added, missing, wrong or exchanged with their neighbour. */
function slipsBetween(given: string, name: string): number {
  const rows: number[][] = []
  for (let i = 0; i <= given.length; i += 1) {
    const row: number[] = []
    for (let j = 0; j <= name.length; j += 1) {
      const at = (up: number, left: number): number => rows[i - up]?.[j - left] ?? Infinity
      const isSame = given[i - 1] === name[j - 1]
      const isExchanged = given[i - 1] === name[j - 2] && given[i - 2] === name[j - 1]
      row.push(
        i === 0 || j === 0
          ? i + j
          : Math.min(
              at(1, 0) + 1,
              (row[j - 1] ?? Infinity) + 1,
              at(1, 1) + (isSame ? 0 : 1),
              isExchanged ? at(2, 2) + 1 : Infinity,
            ),
      )
    }
    rows.push(row)
  }
  return rows[given.length]?.[name.length] ?? Infinity
}
