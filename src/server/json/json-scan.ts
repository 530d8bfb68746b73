/**
 * Scans a JSON text in one pass: validates it (RFC 8259) and locates the members of its top-level
 * object.
 *
 * `JSON.parse` is not used because it silently keeps the last of two equal keys, loses the spelling
 * of numbers, and builds a whole conversation to read one member. The scan builds nothing; the same
 * bytes are authorized, priced and forwarded. The caller must ensure well-formed UTF-8 (`isUtf8`):
 * bytes from 0x80 up are accepted in strings and rejected elsewhere.
 *
 * The scan is synchronous and not re-entrant, so all scans share the key lists below.
 */

export interface ScanRules {
  /** Maximum nesting depth of objects and arrays, including the outermost one. */
  depthMax: number
  /** Maximum number of members of one object. */
  keysMax: number
  /** Maximum number of objects, lists and texts in lists in the whole text. */
  itemsMax: number
  /** Maximum number of values in the whole text: object members and list elements of any kind. */
  valuesMax: number
  /** Whether duplicate keys are rejected in objects at any depth. */
  uniqueKeys: boolean
  /**
   * Whether an ordinary name may be spelled with escapes, at any depth: `mo\u0064el`. A comparison
   * of bytes misses such a name, but every parser reads it.
   */
  escapedNames: boolean
}

export type JsonFaultCode =
  | 'syntax'
  | 'trailing'
  | 'not-object'
  | 'depth'
  | 'duplicate-key'
  | 'disguised-key'
  | 'too-many-keys'
  | 'too-many-items'
  | 'too-many-values'

export interface JsonFault {
  code: JsonFaultCode
  /** Byte offset of the fault. */
  offset: number
  /** A few English words for a trace; the caller provides the error text for users. */
  reason: string
}

/** Numbers per member in `ScannedObject.members`: key start, key end, value start, value end. */
export const MEMBER_STRIDE = 4

export interface ScannedObject {
  /**
   * Four offsets per top-level member, in order of appearance. A key's range excludes its quotes.
   */
  members: number[]
  /**
   * Ranges of top-level keys that contain a capital letter, an escape or a non-ASCII character:
   * start, end, …
   */
  oddKeys: number[]
  /** Start of the first elements of each top-level list, up to `ITEMS_NOTED` each. */
  itemStarts: number[]
}

/** Enough to recognize the beginning of a conversation. */
const ITEMS_NOTED = 16

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OBJECT_OPEN = 0x7b
const OBJECT_CLOSE = 0x7d
const ARRAY_OPEN = 0x5b
const ARRAY_CLOSE = 0x5d
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39

const FAILED = -1
/** Characters of usual member names. */
const ORDINARY_NAME = /^[\w$-]+$/
/** Above this number of keys a set is used, because comparing all pairs would be quadratic. */
const KEYS_COMPARED_ONE_BY_ONE = 16

const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
const isDigit = (byte: number) => byte >= ZERO && byte <= NINE
const isHexDigit = (byte: number) =>
  isDigit(byte) || (byte >= 0x61 && byte <= 0x66) || (byte >= 0x41 && byte <= 0x46)

/**
 * 1 for bytes that end the plain part of a string: control characters, the quote, the backslash.
 */
const STRING_STOP = new Uint8Array(256)
STRING_STOP.fill(1, 0, 0x20)
STRING_STOP[QUOTE] = 1
STRING_STOP[BACKSLASH] = 1

/** Returns the byte, or -1 beyond the end. */
const byteAt = (bytes: Buffer, at: number): number => bytes[at] ?? FAILED

export function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  while (isSpace(byteAt(bytes, at))) at++
  return at
}

/** Returns a key with its escapes resolved. The range excludes the quotes. */
export function keyText(bytes: Buffer, start: number, end: number): string {
  const spelled = bytes.toString('utf8', start, end)
  // The cast holds because the scanner has accepted these bytes as the content of a JSON string.
  return spelled.includes('\\') ? (JSON.parse(`"${spelled}"`) as string) : spelled
}

/** FNV-1a. It only filters before an exact comparison, so collisions cost time but are harmless. */
const HASH_SEED = 0x811c9dc5 | 0
const hashStep = (hash: number, byte: number) => Math.imul(hash ^ byte, 0x01000193)

function hashText(text: string): number {
  let hash = HASH_SEED
  for (const byte of Buffer.from(text)) hash = hashStep(hash, byte)
  return hash
}

/** Keys found so far in one object. */
class SeenKeys {
  private count = 0
  private readonly hashes = new Int32Array(KEYS_COMPARED_ONE_BY_ONE)
  private readonly starts = new Int32Array(KEYS_COMPARED_ONE_BY_ONE)
  private readonly ends = new Int32Array(KEYS_COMPARED_ONE_BY_ONE)
  private names: Set<string> | null = null

  clear(): void {
    this.count = 0
    this.names = null
  }

  /** Returns false if the same key, with escapes resolved, is already present. */
  add(bytes: Buffer, start: number, end: number, hash: number): boolean {
    if (this.names !== null) {
      const before = this.names.size
      return this.names.add(keyText(bytes, start, end)).size > before
    }
    const { count, hashes, starts, ends } = this
    for (let i = 0; i < count; i++) {
      if (hashes[i] !== hash) continue
      const other = keyText(bytes, starts[i] ?? 0, ends[i] ?? 0)
      if (other === keyText(bytes, start, end)) return false
    }
    if (count === KEYS_COMPARED_ONE_BY_ONE) {
      const names = new Set<string>()
      for (let i = 0; i < count; i++) names.add(keyText(bytes, starts[i] ?? 0, ends[i] ?? 0))
      names.add(keyText(bytes, start, end))
      this.names = names
      return true
    }
    hashes[count] = hash
    starts[count] = start
    ends[count] = end
    this.count = count + 1
    return true
  }
}

/** One list per depth, created on first use. */
const seenAtDepth: SeenKeys[] = []
const seenKeysAt = (depth: number): SeenKeys => (seenAtDepth[depth] ??= new SeenKeys())

class Scanner {
  readonly bytes: Buffer
  readonly rules: ScanRules
  readonly members: number[] = []
  readonly oddKeys: number[] = []
  readonly itemStarts: number[] = []
  fault: JsonFault | null = null
  private items = 0
  private values = 0
  /** State of the last key. */
  private keyHash = 0
  private keyIsOdd = false

  constructor(bytes: Buffer, rules: ScanRules) {
    this.bytes = bytes
    this.rules = rules
  }

  fail(code: JsonFaultCode, offset: number, reason: string): number {
    this.fault ??= { code, offset, reason }
    return FAILED
  }

  /**
   * Each method below takes the offset of the first byte and returns the offset after the last one.
   */
  value(at: number, depth: number): number {
    const byte = byteAt(this.bytes, at)
    if (++this.values > this.rules.valuesMax) {
      return this.fail('too-many-values', at, 'too many values')
    }
    if (byte === QUOTE) return this.string(at)
    if (byte === OBJECT_OPEN || byte === ARRAY_OPEN) {
      if (++this.items > this.rules.itemsMax) return this.failAtItem(at)
      return byte === OBJECT_OPEN ? this.object(at, depth + 1) : this.array(at, depth + 1)
    }
    if (byte === MINUS || isDigit(byte)) return this.number(at)
    if (byte === 0x74) return this.literal(at, 'true')
    if (byte === 0x66) return this.literal(at, 'false')
    if (byte === 0x6e) return this.literal(at, 'null')
    return this.fail('syntax', at, 'a value expected')
  }

  object(at: number, depth: number): number {
    const { bytes, rules } = this
    if (depth > rules.depthMax) return this.fail('depth', at, 'nested too deeply')
    const seen = rules.uniqueKeys ? seenKeysAt(depth) : null
    seen?.clear()
    let here = skipSpace(bytes, at + 1)
    if (byteAt(bytes, here) === OBJECT_CLOSE) return here + 1
    for (let count = 1; ; count++) {
      if (byteAt(bytes, here) !== QUOTE) return this.fail('syntax', here, 'a key expected')
      const keyStart = here + 1
      here = this.key(here)
      if (here < 0) return FAILED
      const keyEnd = here - 1
      if (count > rules.keysMax) return this.fail('too-many-keys', keyStart, 'too many keys')
      if (seen !== null && !seen.add(bytes, keyStart, keyEnd, this.keyHash)) {
        return this.fail('duplicate-key', keyStart, 'this key was given twice')
      }
      if (depth === 1 && this.keyIsOdd) this.oddKeys.push(keyStart, keyEnd)
      here = skipSpace(bytes, here)
      if (byteAt(bytes, here) !== COLON) return this.fail('syntax', here, '":" expected')
      const valueStart = skipSpace(bytes, here + 1)
      here = this.value(valueStart, depth)
      if (here < 0) return FAILED
      if (depth === 1) this.members.push(keyStart, keyEnd, valueStart, here)
      here = skipSpace(bytes, here)
      const byte = byteAt(bytes, here)
      if (byte === OBJECT_CLOSE) break
      if (byte !== COMMA) return this.fail('syntax', here, '"," or "}" expected')
      here = skipSpace(bytes, here + 1)
    }
    // Frees a large set of names after the scan.
    seen?.clear()
    return here + 1
  }

  private array(at: number, depth: number): number {
    const { bytes } = this
    if (depth > this.rules.depthMax) return this.fail('depth', at, 'nested too deeply')
    let here = skipSpace(bytes, at + 1)
    if (byteAt(bytes, here) === ARRAY_CLOSE) return here + 1
    let toNote = depth === 2 ? ITEMS_NOTED : 0
    for (;;) {
      if (toNote > 0) {
        toNote -= 1
        this.itemStarts.push(here)
      }
      const isText = byteAt(bytes, here) === QUOTE
      if (isText && ++this.items > this.rules.itemsMax) return this.failAtItem(here)
      here = this.value(here, depth)
      if (here < 0) return FAILED
      here = skipSpace(bytes, here)
      const byte = byteAt(bytes, here)
      if (byte === ARRAY_CLOSE) return here + 1
      if (byte !== COMMA) return this.fail('syntax', here, '"," or "]" expected')
      here = skipSpace(bytes, here + 1)
    }
  }

  private failAtItem(at: number): number {
    return this.fail('too-many-items', at, 'too many elements')
  }

  private string(at: number): number {
    const { bytes } = this
    for (let here = at + 1; ; here++) {
      // Hot loop: nearly all bytes pass through it. Reading beyond the end stops it.
      while (STRING_STOP[bytes[here] ?? 0] === 0) here++
      const byte = byteAt(bytes, here)
      if (byte === QUOTE) return here + 1
      if (byte !== BACKSLASH) return this.failInString(here)
      here = this.escape(here)
      if (here < 0) return FAILED
    }
  }

  private failInString(at: number): number {
    return at >= this.bytes.length
      ? this.fail('syntax', at, 'a string does not end')
      : this.fail('syntax', at, 'a control character inside a string')
  }

  /** Scans a string as a key and computes its hash. */
  private key(at: number): number {
    const { bytes } = this
    let hash = HASH_SEED
    let isOdd = false
    let isEscaped = false
    for (let here = at + 1; ; here++) {
      const byte = byteAt(bytes, here)
      if (byte === QUOTE) {
        this.keyIsOdd = isOdd || isEscaped
        this.keyHash = hash
        return isEscaped ? this.escapedKey(at + 1, here) : here + 1
      }
      if (byte < 0x20) return this.failInString(here)
      if (byte === BACKSLASH) {
        isEscaped = true
        here = this.escape(here)
        if (here < 0) return FAILED
      }
      if (byte >= 0x80 || (byte >= 0x41 && byte <= 0x5a)) isOdd = true
      hash = hashStep(hash, byte)
    }
  }

  private escapedKey(start: number, end: number): number {
    const key = keyText(this.bytes, start, end)
    if (!this.rules.escapedNames && ORDINARY_NAME.test(key)) {
      return this.fail('disguised-key', start, 'a name spelled with escapes')
    }
    this.keyHash = hashText(key)
    return end + 1
  }

  /** Returns the offset of the last byte of the escape that begins here. */
  private escape(at: number): number {
    const { bytes } = this
    const byte = byteAt(bytes, at + 1)
    if (byte === 0x75) {
      for (let here = at + 2; here < at + 6; here++) {
        if (!isHexDigit(byteAt(bytes, here))) {
          return this.fail('syntax', here, 'four hexadecimal digits expected')
        }
      }
      return at + 5
    }
    // " \ / b f n r t
    const isShort =
      byte === QUOTE ||
      byte === BACKSLASH ||
      byte === 0x2f ||
      byte === 0x62 ||
      byte === 0x66 ||
      byte === 0x6e ||
      byte === 0x72 ||
      byte === 0x74
    return isShort ? at + 1 : this.fail('syntax', at, 'an unknown escape')
  }

  private number(at: number): number {
    const { bytes } = this
    let here = byteAt(bytes, at) === MINUS ? at + 1 : at
    const leading = byteAt(bytes, here)
    here = leading === ZERO ? here + 1 : this.digits(here)
    if (here >= 0 && byteAt(bytes, here) === 0x2e) here = this.digits(here + 1)
    if (here < 0) return FAILED
    const exponent = byteAt(bytes, here)
    if (exponent !== 0x65 && exponent !== 0x45) return here
    const sign = byteAt(bytes, here + 1)
    return this.digits(sign === MINUS || sign === 0x2b ? here + 2 : here + 1)
  }

  private digits(at: number): number {
    const { bytes } = this
    let here = at
    while (isDigit(byteAt(bytes, here))) here++
    return here > at ? here : this.fail('syntax', at, 'a digit expected')
  }

  private literal(at: number, word: string): number {
    for (let i = 0; i < word.length; i++) {
      if (byteAt(this.bytes, at + i) !== word.charCodeAt(i)) {
        return this.fail('syntax', at, 'an unknown word')
      }
    }
    return at + word.length
  }
}

/** Scans a text that must be one JSON object. Never throws; `bytes` must be well-formed UTF-8. */
export function scanJsonObject(bytes: Buffer, rules: ScanRules): ScannedObject | JsonFault {
  const scanner = new Scanner(bytes, rules)
  const start = skipSpace(bytes, 0)
  const isObject = byteAt(bytes, start) === OBJECT_OPEN
  const end = isObject ? scanner.object(start, 1) : scanner.value(start, 0)
  if (end >= 0) {
    const rest = skipSpace(bytes, end)
    if (rest < bytes.length) scanner.fail('trailing', rest, 'something follows the JSON value')
    else if (!isObject) scanner.fail('not-object', start, 'an object expected')
  }
  const { fault, members, oddKeys, itemStarts } = scanner
  return fault ?? { members, oddKeys, itemStarts }
}
