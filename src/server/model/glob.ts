/** Whether a text contains a star or a character class. */
export const isPattern = (text: string): boolean => /[*[]/.test(text)

/**
 * Whether a name matches a pattern: `*` matches any characters, `[4-9]` and `[567]` match one of
 * these. Takes at most the product of both lengths in steps, for any pattern.
 */
export function fitsGlob(pattern: string, name: string): boolean {
  const { parts, literal } = globOf(pattern)
  if (!name.includes(literal)) return false
  let part = 0
  let at = 0
  // Position to continue at if the part after the last star did not match.
  let star = -1
  let starAt = 0
  while (at < name.length) {
    const wanted = parts[part]
    if (wanted === '*') {
      star = part
      starAt = at
      part += 1
    } else if (wanted !== undefined && fitsPart(wanted, name.charAt(at))) {
      part += 1
      at += 1
    } else if (star >= 0) {
      part = star + 1
      starAt += 1
      at = starAt
    } else return false
  }
  return parts.slice(part).every((left) => left === '*')
}

/** Bounded, because operators may change their patterns at any time. */
const KNOWN_MAX = 5000
const known = new Map<string, Glob>()

interface Glob {
  parts: readonly string[]
  /** The longest text that every matching name contains. */
  literal: string
}

function globOf(pattern: string): Glob {
  const split = known.get(pattern)
  if (split !== undefined) return split
  const parts = partsOf(pattern)
  const literals = parts
    .map((part) => (isPattern(part) ? '*' : part))
    .join('')
    .split('*')
  const literal = literals.reduce((one, other) => (other.length > one.length ? other : one), '')
  const glob = { parts, literal }
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(pattern, glob)
  return glob
}

/** Splits a pattern into characters, stars, and classes with their brackets. */
function partsOf(pattern: string): string[] {
  const parts: string[] = []
  for (let at = 0; at < pattern.length; at++) {
    const end = pattern.charAt(at) === '[' ? pattern.indexOf(']', at) : -1
    parts.push(end < 0 ? pattern.charAt(at) : pattern.slice(at, end + 1))
    if (end >= 0) at = end
  }
  return parts
}

function fitsPart(part: string, character: string): boolean {
  if (part.length === 1) return part === character
  const members = part.slice(1, -1)
  for (let at = 0; at < members.length; at++) {
    const isRange = members.charAt(at + 1) === '-' && at + 2 < members.length
    if (isRange) {
      if (members.charAt(at) <= character && character <= members.charAt(at + 2)) return true
      at += 2
    } else if (members.charAt(at) === character) return true
  }
  return false
}
