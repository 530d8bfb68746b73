/** A whole number that somebody has typed, or null. */
export function wholeNumber(text: string): number | null {
  return /^[+-]?\d{1,15}$/.test(text.trim()) ? Number(text) : null
}
