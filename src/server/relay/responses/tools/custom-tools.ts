import type { Tool } from '../../canonical/chat-request.ts'
import type { Members } from '../../canonical/reading.ts'
import { isRecord, parseJson } from '../../json/json-value.ts'

/**
 * Tools of the Responses API that take a text as it is, such as a patch, instead of JSON. Models of
 * all providers call them as functions with that text as their one argument. Source: OpenAI's API
 * reference, "Create a model response", `CustomTool`, `custom_tool_call` and
 * `custom_tool_call_output`.
 */

/** The function's argument. */
const INPUT = 'input'

/**
 * Converts a custom tool to a function. Its grammar cannot be enforced, so the description has it.
 */
export function readCustomTool(tool: Members, name: string): Tool {
  const format = tool.object('format')
  const grammar = format?.text('definition') ?? ''
  const rules =
    grammar === ''
      ? []
      : [`"${INPUT}" follows this ${format?.text('syntax') ?? ''} grammar:`, grammar]
  const texts = [tool.text('description') ?? '', ...rules].filter((text) => text !== '')
  format?.ignore('type', 'syntax')
  format?.done()
  return {
    name,
    description: texts.length === 0 ? null : texts.join('\n\n'),
    schema: {
      type: 'object',
      properties: { [INPUT]: { type: 'string', description: 'The text, as it is' } },
      required: [INPUT],
      additionalProperties: false,
    },
    isStrict: null,
    cache: null,
  }
}

/** A bare text as the function's arguments. */
export const asArguments = (input: string): string => JSON.stringify({ [INPUT]: input })

/** The text that a function was called with. Models that were not told strictly may name it anew. */
export function inputOf(argumentsJson: string): string {
  const value = parseJson(argumentsJson)
  if (typeof value === 'string') return value
  if (!isRecord(value)) return argumentsJson
  const [only, ...others] = Object.values(value)
  const text = value[INPUT] ?? (others.length === 0 ? only : undefined)
  return typeof text === 'string' ? text : argumentsJson
}

const BEGINNING = /^\s*\{\s*"input"\s*:\s*"/
/** Characters in which the beginning comes, if it comes at all. */
const BEGINNING_MAX = 100

/**
 * The text of a call whose arguments come in pieces. What lies behind it, and what does not begin
 * as it should, is not looked at again with each piece: that would take ever longer.
 */
export class StreamedInput {
  private json = ''
  private hasBegun = false

  /** What is new of it. */
  push(piece: string): string {
    if (this.hasBegun && this.json.startsWith('"')) return ''
    const isLate = this.json.length > BEGINNING_MAX
    this.json += piece
    if (!this.hasBegun) {
      if (isLate) return ''
      const beginning = BEGINNING.exec(this.json)
      if (beginning === null) return ''
      this.hasBegun = true
      this.json = this.json.slice(beginning[0].length)
    }
    return this.take(false)
  }

  /** What is left of it when no more will come. */
  rest(): string {
    return this.hasBegun ? this.take(true) : inputOf(this.json)
  }

  private take(isWhole: boolean): string {
    const { text, length } = unescaped(this.json, isWhole)
    this.json = this.json.slice(length)
    return text
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const U = 0x75
const CODE = /^[0-9a-fA-F]{4}$/
const ESCAPES: ReadonlyMap<number, number> = new Map(
  Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(([sign, meant]) => [
    sign.charCodeAt(0),
    meant.charCodeAt(0),
  ]),
)

/**
 * The text that stands in JSON before the next quote, and how much of the JSON that is; what is no
 * JSON is taken as it stands. Sign by sign, because there can be millions of escapes: a pattern
 * that repeats itself keeps a place for each, and has no room for so many.
 */
function unescaped(json: string, isWhole: boolean): { text: string; length: number } {
  const units = new Uint16Array(json.length)
  let count = 0
  let at = 0
  while (at < json.length) {
    let unit = json.charCodeAt(at)
    let length = 1
    if (unit === QUOTE) break
    if (unit === BACKSLASH) {
      const escape = escapeAt(json, at, isWhole)
      if (escape === null) break
      ;({ unit, length } = escape)
    }
    units[count] = unit
    count += 1
    at += length
  }
  return { text: Buffer.from(units.buffer, 0, 2 * count).toString('utf16le'), length: at }
}

/** Null: it, or the other half of its pair, has not come. */
function escapeAt(
  json: string,
  at: number,
  isWhole: boolean,
): { unit: number; length: number } | null {
  const sign = json.charCodeAt(at + 1)
  const code = sign === U ? json.slice(at + 2, at + 6) : ''
  if (CODE.test(code)) {
    const unit = Number.parseInt(code, 16)
    const isFirstOfPair = unit >= 0xd800 && unit <= 0xdbff
    const isHalf = !isWhole && isFirstOfPair && at + 12 > json.length
    return isHalf ? null : { unit, length: 6 }
  }
  const isHalf = at + (sign === U && !isWhole ? 6 : 2) > json.length
  return isHalf ? null : { unit: ESCAPES.get(sign) ?? sign, length: 2 }
}
