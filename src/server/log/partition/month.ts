/** Months of partitions, in UTC. A month is named by its first second. */

export const monthOf = (seconds: number): number => shifted(seconds, 0)

/** First second of the month after the one of `seconds`. */
export const nextMonth = (seconds: number): number => shifted(seconds, 1)

function shifted(seconds: number, months: number): number {
  const date = new Date(seconds * 1000)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1) / 1000
}

/** `202701`, for the name of a month's partition. */
export const monthName = (seconds: number): string =>
  new Date(seconds * 1000).toISOString().slice(0, 7).replace('-', '')
