/** Characters of a text as people count them: neither bytes nor UTF-16 units. */
export const length = (text: string): number => [...text].length

/** Control characters, line ends, halves of characters, marks that turn what follows around. */
const UNREADABLE = /[\p{Cc}\p{Cs}\u2028\u2029\u202A-\u202E\u2066-\u2069]/u

/** Whether a name or a line shows all that is in it: nothing breaks it, hides or turns around. */
export const isReadable = (text: string): boolean => !UNREADABLE.test(text)

/** The items of a comma list, trimmed, without empty ones and repetitions, in order. */
export function commaList(
  text: string | null | undefined,
  separator: string | RegExp = ',',
): string[] {
  const items = (text ?? '').split(separator).map((item) => item.trim())
  return [...new Set(items.filter((item) => item !== ''))]
}

/**
 * The text without this character at its end, however often it stands there. Takes linear time;
 * `/x+$/` takes quadratic time on a long run that is not at the end.
 */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}
