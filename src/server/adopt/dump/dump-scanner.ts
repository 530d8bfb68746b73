import { DumpError, type DumpValue } from './dump-value.ts'

/**
 * Scans MySQL's syntax at byte level: white space and comments, names, literals. It works on the
 * bytes received so far. If they end within a token, `INCOMPLETE` is thrown, and the caller
 * restarts that piece with more bytes: the only state is the position.
 */
export const INCOMPLETE = Symbol('more bytes are needed')

const BACKSLASH = 0x5c
const QUOTE = 0x27
const DOUBLE_QUOTE = 0x22
const BACKTICK = 0x60
const SLASH = 0x2f
const STAR = 0x2a
const DASH = 0x2d
const HASH = 0x23

/** Characters with a special meaning after a backslash. `\%` and `\_` keep their backslash. */
const ESCAPES = new Map(
  [
    ['0', 0x00],
    ['b', 0x08],
    ['n', 0x0a],
    ['r', 0x0d],
    ['t', 0x09],
    ['Z', 0x1a],
  ].map(([letter, byte]) => [String(letter).charCodeAt(0), Number(byte)] as const),
)

/** Bytes of unquoted names and numbers. */
const isWordByte = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(/[A-Za-z0-9_$.+-]/.test(String.fromCharCode(byte))),
)

export class DumpScanner {
  #bytes: Buffer = Buffer.alloc(0)
  position = 0
  isLast = false
  /** Decodes a literal; the dump states its character set. */
  decode: (bytes: Buffer) => string = (bytes) => bytes.toString()
  /**
   * Called for comments: some contain statements, some identify the program that wrote the dump.
   */
  onComment: (text: string) => void = () => {}

  /** Appends bytes to the unread ones. */
  add(chunks: readonly Buffer[], isLast: boolean): void {
    this.#bytes = Buffer.concat([this.#bytes.subarray(this.position), ...chunks])
    this.position = 0
    this.isLast = isLast
  }

  get pending(): number {
    return this.#bytes.length - this.position
  }

  /** Returns the byte at the position plus `ahead`; -1 after the last byte of the dump. */
  peek(ahead = 0): number {
    const byte = this.#bytes[this.position + ahead]
    if (byte !== undefined) return byte
    if (this.isLast) return -1
    throw INCOMPLETE
  }

  /** Consumes a byte if it is this one. */
  take(character: string): boolean {
    if (this.peek() !== character.charCodeAt(0)) return false
    this.position += 1
    return true
  }

  expect(character: string): void {
    if (!this.take(character)) throw this.#unexpected(`"${character}"`)
  }

  #unexpected(wanted: string): DumpError {
    if (this.isLast && this.pending === 0) {
      return new DumpError(`the dump was cut off where ${wanted} was expected`)
    }
    const near = this.#bytes.subarray(this.position, this.position + 20).toString('latin1')
    return new DumpError(`${wanted} was expected before ${JSON.stringify(near)}`)
  }

  #indexOf(text: string, from: number): number {
    const found = this.#bytes.indexOf(text, from, 'latin1')
    if (found >= 0) return found
    if (this.isLast) return this.#bytes.length
    throw INCOMPLETE
  }

  /** Skips white space and comments. */
  skipSpace(): void {
    for (;;) {
      const byte = this.peek()
      if (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)) this.position += 1
      else if (byte === HASH || (byte === DASH && this.#isDashComment())) this.#skipComment('\n')
      else if (byte === SLASH && this.peek(1) === STAR) this.#skipComment('*/')
      else return
    }
  }

  /** `--` begins a comment only before white space or at the end of a line. */
  #isDashComment(): boolean {
    if (this.peek(1) !== DASH) return false
    const next = this.peek(2)
    return next === -1 || next <= 0x20
  }

  #skipComment(end: string): void {
    const from = this.position
    const until = this.#indexOf(end, from + (end === '*/' ? 2 : 1))
    this.position = Math.min(until + end.length, this.#bytes.length)
    this.onComment(this.#bytes.subarray(from, until).toString('latin1'))
  }

  /** Returns the next keyword in upper case, or an empty text. Does not move the position. */
  peekWord(): string {
    let length = 0
    while (isWordByte[this.peek(length)] === 1) length += 1
    const end = this.position + length
    return this.#bytes.subarray(this.position, end).toString('latin1').toUpperCase()
  }

  takeWord(): string {
    const word = this.peekWord()
    this.position += word.length
    return word
  }

  /** Reads a name, quoted or not, without the database before it. */
  name(): string {
    let name = this.#nameParts()
    this.skipSpace()
    while (this.take('.')) {
      name = this.#nameParts()
      this.skipSpace()
    }
    return name
  }

  #nameParts(): string {
    const quote = this.peek()
    if (quote === BACKTICK || quote === DOUBLE_QUOTE) return this.quoted().toString()
    const word = /^[^.]*/.exec(this.peekWord())?.[0] ?? ''
    if (word === '') throw this.#unexpected('a name')
    const from = this.position
    this.position += word.length
    return this.#bytes.subarray(from, this.position).toString('latin1')
  }

  /** Reads a quoted text and resolves quotes and backslashes. */
  quoted(): Buffer {
    const quote = this.peek()
    const from = this.position + 1
    const end = this.#closingQuote(from, quote)
    this.position = end.at + 1
    const inner = this.#bytes.subarray(from, end.at)
    return end.isPlain ? inner : unescaped(inner, quote)
  }

  #closingQuote(from: number, quote: number): { at: number; isPlain: boolean } {
    const bytes = this.#bytes
    let isPlain = true
    for (let at = from; at < bytes.length; at += 1) {
      const byte = bytes[at]
      if (byte === BACKSLASH && quote !== BACKTICK) {
        isPlain = false
        at += 1
      } else if (byte === quote) {
        if (bytes[at + 1] === quote) {
          isPlain = false
          at += 1
        } else if (at + 1 < bytes.length || this.isLast) return { at, isPlain }
        // The next byte may double the quote, and has not arrived yet.
        else throw INCOMPLETE
      }
    }
    if (this.isLast) throw new DumpError('a quoted text is not closed; the dump was cut off')
    throw INCOMPLETE
  }

  /** Reads a literal. */
  value(): DumpValue {
    const byte = this.peek()
    if (byte === QUOTE || byte === DOUBLE_QUOTE) return this.decode(this.quoted())
    const word = this.takeWord()
    if (word === 'NULL') return null
    if (/^-?\d{1,15}$/.test(word)) return Number(word)
    const isQuoted = this.peek() === QUOTE
    if (word === 'TRUE' || word === 'FALSE') return word === 'TRUE'
    if (word === 'X' && isQuoted) return Buffer.from(this.quoted().toString('latin1'), 'hex')
    if (word === 'B' && isQuoted) return Number(`0b${this.quoted().toString('latin1') || '0'}`)
    if (/^0X([0-9A-F]{2})*$/.test(word)) return Buffer.from(word.slice(2), 'hex')
    if (/^0B[01]+$/.test(word)) return Number(word)
    if (/^[+-]?\d+$/.test(word)) return wholeNumber(word)
    if (/^[+-]?(\d+(\.\d*)?|\.\d+)(E[+-]?\d+)?$/.test(word)) return Number(word)
    // A character set before a literal: `_binary 'x'`.
    if (/^_[A-Z0-9]+$/.test(word)) {
      this.skipSpace()
      return this.value()
    }
    throw this.#unexpected('a value')
  }

  /** Skips a bracketed expression, including the brackets. */
  skipBrackets(): void {
    this.expect('(')
    for (let depth = 1; depth > 0;) {
      if (this.#skipQuotedOrComment()) continue
      if (this.peek() === -1) throw new DumpError('a bracket is not closed; the dump was cut off')
      if (this.take('(')) depth += 1
      else if (this.take(')')) depth -= 1
      else this.position += 1
    }
  }

  /** Skips to the position after the next `end` outside texts and comments. */
  skipStatement(end: string): void {
    const first = end.charCodeAt(0)
    while (this.peek() !== -1) {
      if (this.#skipQuotedOrComment()) continue
      const isEnd =
        this.peek() === first &&
        [...end].every((letter, ahead) => this.peek(ahead) === letter.charCodeAt(0))
      this.position += isEnd ? end.length : 1
      if (isEnd) return
    }
  }

  #skipQuotedOrComment(): boolean {
    const before = this.position
    const byte = this.peek()
    if (byte === QUOTE || byte === DOUBLE_QUOTE || byte === BACKTICK) this.quoted()
    else if (byte === SLASH || byte === DASH || byte === HASH) this.skipSpace()
    return this.position > before
  }

  /** Reads the rest of the line, for commands of the MySQL client. */
  restOfLine(): string {
    const end = this.#indexOf('\n', this.position)
    const line = this.#bytes.subarray(this.position, end).toString('latin1')
    this.position = Math.min(end + 1, this.#bytes.length)
    return line.trim()
  }
}

const wholeNumber = (digits: string): number | bigint => {
  const value = Number(digits)
  return Number.isSafeInteger(value) ? value : BigInt(digits)
}

function unescaped(inner: Buffer, quote: number): Buffer {
  const plain = Buffer.allocUnsafe(inner.length)
  let length = 0
  for (let at = 0; at < inner.length; at += 1) {
    let byte = inner[at] ?? 0
    if (byte === BACKSLASH && quote !== BACKTICK) {
      at += 1
      const letter = inner[at] ?? BACKSLASH
      if (letter === 0x25 || letter === 0x5f) plain[length++] = BACKSLASH
      byte = ESCAPES.get(letter) ?? letter
    } else if (byte === quote) {
      // The first of two.
      at += 1
    }
    plain[length++] = byte
  }
  return plain.subarray(0, length)
}
