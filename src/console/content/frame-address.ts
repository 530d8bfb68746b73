/**
 * Returns the address to show in a frame if the operator configured a link instead of a text; null
 * for a text. A link is a single `https:` address (`http:` only on this machine) of another origin
 * than the console's: a framed page of our own origin could escape its sandbox.
 */
export function frameAddress(text: string, ownOrigin: string): string | null {
  const trimmed = text.trim()
  if (/\s/.test(trimmed) || !URL.canParse(trimmed)) return null
  const { protocol, hostname, origin, username, href } = new URL(trimmed)
  const isLocal = ['localhost', '127.0.0.1'].includes(hostname)
  const isAllowed = protocol === 'https:' || (protocol === 'http:' && isLocal)
  return isAllowed && origin !== ownOrigin && username === '' ? href : null
}
