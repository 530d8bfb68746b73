import { RELAY_PREFIXES } from './relay-paths.ts'

/** Maximum rounds of percent-decoding; a path that needs more is treated as hostile. */
const DECODINGS_MAX = 5

/** Percent-decodes a path until nothing is left to decode; null if that fails. */
function decoded(path: string): string | null {
  let text = path
  for (let round = 0; round < DECODINGS_MAX; round += 1) {
    try {
      const next = decodeURIComponent(text)
      if (next === text) return text
      text = next
    } catch {
      return null
    }
  }
  return null
}

/** Removes dot segments, query and fragment from a path. A backslash counts as a slash. */
function withoutDots(path: string): string {
  const segments: string[] = []
  for (const segment of (path.split(/[?#]/)[0] ?? '').split(/[/\\]/)) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(segment)
  }
  return `/${segments.join('/')}`
}

const PREFIXES = ['/api', ...RELAY_PREFIXES]

/**
 * Whether a path leads to the management API or the relay under any interpretation by a server.
 * `basePath` begins and ends with a slash. True for a path that cannot be decoded.
 */
export function isApiPath(path: string, basePath = '/'): boolean {
  const whole = decoded(path)
  if (whole === null) return true
  // Decoding may have produced dot segments and backslashes.
  const plain = withoutDots(whole).toLowerCase()
  const base = basePath.toLowerCase()
  const below = plain.startsWith(base) ? `/${plain.slice(base.length)}` : plain
  return [plain, below].some((one) =>
    PREFIXES.some((prefix) => one === prefix || one.startsWith(`${prefix}/`)),
  )
}
