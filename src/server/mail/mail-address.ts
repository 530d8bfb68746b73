/** A receiver or sender. Never a text that somebody takes apart again. */
export interface MailAddress {
  name: string
  address: string
}

/** Operators write `name@host` or `Name <name@host>`; the name is the system's in any case. */
export function senderAddress(text: string): string | null {
  const trimmed = text.trim()
  const address = /<([^<>]*)>$/.exec(trimmed)?.[1]?.trim() ?? trimmed
  return isMailAddress(address) ? address : null
}

/**
 * Whether this is one address and nothing but: what could end a header line, name a second receiver
 * or begin a comment is not in it.
 */
export const isMailAddress = (text: string): boolean =>
  /^[^\s\p{C}@<>,;:"()[\]\\]+@[^\s\p{C}@<>,;:"()[\]\\]+$/u.test(text)

/** A text that cannot break a header line. */
export const oneLine = (text: string): string =>
  text.replaceAll(/[\p{C}\u2028\u2029]+/gu, ' ').trim()
