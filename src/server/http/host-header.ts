/**
 * Whether a request names its host twice, in the flat list of names and values that it came with.
 * Two readers of such a request may take it for two different sites' (RFC 9112, section 3.2).
 */
export function hasTwoHosts(rawHeaders: readonly string[]): boolean {
  let isNamed = false
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length !== HOST.length || name.toLowerCase() !== HOST) continue
    if (isNamed) return true
    isNamed = true
  }
  return false
}

const HOST = 'host'
