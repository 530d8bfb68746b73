import { isRecord, parseJson, type JsonRecord } from '../json/json-value.ts'

/** The arguments of a call as an object; a text that is none calls without arguments. */
export function argumentsOf(argumentsJson: string): JsonRecord {
  const value = parseJson(argumentsJson)
  return isRecord(value) ? value : {}
}

/**
 * The arguments of a call as JSON text of an object, whatever an upstream made of them: the object
 * itself, its text, that text as a JSON string, or `null`, blanks or nothing where there are none.
 * The text of an object stays as the model wrote it, and so does what is no JSON.
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
 * The arguments of a tool's call as their pieces come. Tells without parsing whether they are a
 * whole object: it is asked with every event, and an answer can have thousands of calls.
 */
export class ArgumentsText {
  text = ''
  /** Of the object that the text is; null: nothing has come, -1: it is none. */
  private depth: number | null = null
  private isInString = false
  private isEscaped = false

  add(piece: string): void {
    this.text += piece
    for (let at = 0; at < piece.length; at++) this.take(piece.charCodeAt(at))
  }

  /** Arguments that are a whole object have come to their end. */
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
