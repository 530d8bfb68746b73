/** Length of a text in Unicode code points, not bytes or UTF-16 units. */
export const length = (text: string): number => [...text].length

/** Control characters, line breaks, lone surrogates, and bidirectional formatting characters. */
const UNREADABLE = /[\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u

/**
 * Whether a single-line text contains no line breaks, invisible or bidirectional control
 * characters.
 */
export const isReadable = (text: string): boolean => !UNREADABLE.test(text)

/** Splits a comma list: trimmed items in order, without empty ones and duplicates. */
export function commaList(
  text: string | null | undefined,
  separator: string | RegExp = ',',
): string[] {
  const items = (text ?? '').split(separator).map((item) => item.trim())
  return [...new Set(items.filter((item) => item !== ''))]
}

/**
 * Removes a trailing run of this character. Linear time; `/x+$/` takes quadratic time on a long run
 * that is not at the end.
 */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}
