/** A recipient or sender, kept as parts so that it is never parsed again. */
export interface MailAddress {
  name: string
  address: string
}

/**
 * Returns the address from `name@host` or `Name <name@host>`. The display name is always the
 * system's.
 */
export function senderAddress(text: string): string | null {
  const trimmed = text.trim()
  const address = /<([^<>]*)>$/.exec(trimmed)?.[1]?.trim() ?? trimmed
  return isMailAddress(address) ? address : null
}

/**
 * Whether this is exactly one address, without characters that could end a header line, add a
 * recipient or begin a comment.
 */
export const isMailAddress = (text: string): boolean =>
  /^[^\s\p{C}@<>,;:"()[\]\\]+@[^\s\p{C}@<>,;:"()[\]\\]+$/u.test(text)

/** Returns a text that cannot break a header line. */
export const oneLine = (text: string): string =>
  text.replaceAll(/[\p{C}\u2028\u2029]+/gu, ' ').trim()
