import { skipSpace } from '../../json/json-scan.ts'

/**
 * Reads parts of JSON that was scanned before: skips what comes first, long texts by a search for
 * their end. Validates and builds nothing.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OBJECT_OPEN = 0x7b
const OBJECT_CLOSE = 0x7d
const ARRAY_OPEN = 0x5b
const ARRAY_CLOSE = 0x5d

/** Offset of a member's value in the object that begins at `start`; -1 if absent. */
export function memberStart(bytes: Buffer, start: number, name: string): number {
  if (bytes[start] !== OBJECT_OPEN) return -1
  let at = skipSpace(bytes, start + 1)
  while (bytes[at] === QUOTE) {
    const keyEnd = stringEnd(bytes, at)
    const value = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    if (bytes.toString('latin1', at + 1, keyEnd - 1) === name) return value
    at = nextStart(bytes, value)
  }
  return -1
}

/**
 * Offsets of the elements, nested lists included, of a list that begins at `start`; none if it is
 * not a list.
 */
export function* itemStarts(bytes: Buffer, start: number): Generator<number> {
  if (bytes[start] !== ARRAY_OPEN) return
  let at = skipSpace(bytes, start + 1)
  while (at < bytes.length && bytes[at] !== ARRAY_CLOSE) {
    yield at
    at = nextStart(bytes, at)
  }
}

/** Offset after the value that begins at `start`; after the last byte if the bytes end before. */
export function valueEnd(bytes: Buffer, start: number): number {
  const first = bytes[start]
  if (first === QUOTE) return stringEnd(bytes, start)
  let depth = 0
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = stringEnd(bytes, at) - 1
    } else if (byte === OBJECT_OPEN || byte === ARRAY_OPEN) {
      depth += 1
    } else if (byte === OBJECT_CLOSE || byte === ARRAY_CLOSE) {
      depth -= 1
      if (depth <= 0) return depth === 0 ? at + 1 : at
    } else if (depth === 0 && byte === COMMA) {
      return at
    }
  }
  return bytes.length
}

/** Offset of the next key or element, or of the closing bracket after the last one. */
function nextStart(bytes: Buffer, start: number): number {
  const at = skipSpace(bytes, valueEnd(bytes, start))
  return bytes[at] === COMMA ? skipSpace(bytes, at + 1) : at
}

/** Up to this many bytes a loop is as fast as a search. */
const NEAR_BYTES = 128

function stringEnd(bytes: Buffer, start: number): number {
  let at = start + 1
  for (;;) {
    const near = Math.min(at + NEAR_BYTES, bytes.length)
    while (at < near) {
      const byte = bytes[at]
      if (byte === QUOTE) return at + 1
      at += byte === BACKSLASH ? 2 : 1
    }
    const quote = bytes.indexOf(QUOTE, at)
    if (quote < 0) return bytes.length
    if (!isEscaped(bytes, quote)) return quote + 1
    at = quote + 1
  }
}

function isEscaped(bytes: Buffer, at: number): boolean {
  let first = at
  while (bytes[first - 1] === BACKSLASH) first -= 1
  return (at - first) % 2 === 1
}
