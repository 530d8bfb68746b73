import { RELAY_PREFIXES } from './relay-paths.ts'

/** How often a percent sign may stand for another one before a path is given up as hostile. */
const DECODINGS_MAX = 5

/** A path with every percent-escape decoded, also escaped ones; null if it cannot be decoded. */
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

/** The path without dot segments, query and fragment; a backslash counts as a slash. */
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
 * Whether a path leads to the management API or the relay, spelled however a server might read it.
 * `basePath` begins and ends with a slash. A path that cannot be decoded counts as one.
 */
export function isApiPath(path: string, basePath = '/'): boolean {
  const whole = decoded(path)
  if (whole === null) return true
  // Decoding may have brought dots and backslashes to light.
  const plain = withoutDots(whole).toLowerCase()
  const base = basePath.toLowerCase()
  const below = plain.startsWith(base) ? `/${plain.slice(base.length)}` : plain
  return [plain, below].some((one) =>
    PREFIXES.some((prefix) => one === prefix || one.startsWith(`${prefix}/`)),
  )
}
