import { isRecord, parseJson, type JsonRecord } from '../../json/json-value.ts'

/** Returns a call's arguments as an object; empty if the text is not an object. */
export function argumentsOf(argumentsJson: string): JsonRecord {
  const value = parseJson(argumentsJson)
  return isRecord(value) ? value : {}
}

/**
 * Returns a call's arguments as JSON text of an object. Upstreams send the object itself, its text,
 * or that text as a JSON string; for a call without arguments they send `null`, blanks or nothing.
 * The text of an object stays as the model wrote it, and so does invalid JSON.
 */
export function objectText(given: unknown): string {
  if (isRecord(given)) return JSON.stringify(given)
  if (typeof given !== 'string' || given.trim() === '') return '{}'
  if (given.trimStart().startsWith('{')) return given
  const value = parseJson(given)
  if (typeof value === 'string' && value !== given) return objectText(value)
  return value === undefined ? given : '{}'
}

const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d
const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20

/**
 * Collects the arguments of a tool call from their pieces. Detects without parsing whether they are
 * a complete object: this is checked with every event, and an answer can have thousands of calls.
 */
export class ArgumentsText {
  text = ''
  /** Nesting depth within the object; null: nothing received, -1: not an object. */
  private depth: number | null = null
  private isInString = false
  private isEscaped = false

  add(piece: string): void {
    this.text += piece
    for (let at = 0; at < piece.length; at++) this.take(piece.charCodeAt(at))
  }

  /** Whether the arguments are a complete object. */
  get isWhole(): boolean {
    return this.depth === 0
  }

  private take(code: number): void {
    if (this.isInString) {
      if (this.isEscaped) this.isEscaped = false
      else if (code === BACKSLASH) this.isEscaped = true
      else if (code === QUOTE) this.isInString = false
      return
    }
    if (code <= SPACE) return
    if (this.depth === null) this.depth = code === BRACE_OPEN ? 1 : -1
    else if (this.depth === 0) this.depth = -1
    else if (this.depth > 0) this.within(code)
  }

  private within(code: number): void {
    if (code === QUOTE) this.isInString = true
    else if (code === BRACE_OPEN) this.depth = (this.depth ?? 0) + 1
    else if (code === BRACE_CLOSE) this.depth = (this.depth ?? 0) - 1
  }
}
