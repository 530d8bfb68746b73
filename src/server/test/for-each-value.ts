/**
 * Checks the rows of a corpus one after the other, in one test. The first column is the name of the
 * row; the error of the first failing row contains it.
 */
export async function forEachValue<Row extends unknown[]>(
  rows: readonly (readonly [...Row])[],
  check: (...row: Row) => unknown,
): Promise<void> {
  for (const row of rows) {
    try {
      await check(...row)
    } catch (error) {
      if (error instanceof Error) error.message = `${nameOf(row)}: ${error.message}`
      throw error
    }
  }
}

const NAME_LENGTH_MAX = 100

const nameOf = ([name]: readonly unknown[]): string =>
  (typeof name === 'string' && name !== '' ? name : (JSON.stringify(name) ?? '')).slice(
    0,
    NAME_LENGTH_MAX,
  )
