/** Parses an integer; null if invalid. */
export function wholeNumber(text: string): number | null {
  return /^[+-]?\d{1,15}$/.test(text.trim()) ? Number(text) : null
}
