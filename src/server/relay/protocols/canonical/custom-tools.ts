import { isRecord, parseJson } from '../../json/json-value.ts'
import type { ChatEvent } from './chat-answer.ts'
import type { Tool } from './chat-request.ts'
import type { Members } from './reading.ts'

/**
 * Tools of OpenAI's two text APIs with plain text input, such as a patch, instead of JSON. They
 * become functions with that text as their only argument. Source: OpenAI's API reference, "Create a
 * model response", `CustomTool`, `custom_tool_call` and `custom_tool_call_output`; "Create chat
 * completion", `ChatCompletionCustomTool`.
 */

/** The function's argument. */
const INPUT = 'input'

/**
 * Converts a custom tool to a function. Its grammar cannot be enforced, so the description has it.
 */
export function readCustomTool(tool: Members, name: string): Tool {
  const format = tool.object('format')
  // Chat has another object around the grammar.
  const described = format?.object('grammar') ?? format
  const grammar = described?.text('definition') ?? ''
  const rules =
    grammar === ''
      ? []
      : [`"${INPUT}" follows this ${described?.text('syntax') ?? ''} grammar:`, grammar]
  const texts = [tool.text('description') ?? '', ...rules].filter((text) => text !== '')
  described?.ignore('type', 'syntax')
  described?.done()
  format?.ignore('type')
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

/** Wraps a plain text as the function's arguments. */
export const asArguments = (input: string): string => JSON.stringify({ [INPUT]: input })

/**
 * Returns the text of a function's arguments. Models without strict schemas may rename the
 * argument.
 */
export function inputOf(argumentsJson: string): string {
  const value = parseJson(argumentsJson)
  if (typeof value === 'string') return value
  if (!isRecord(value)) return argumentsJson
  const [only, ...others] = Object.values(value)
  const text = value[INPUT] ?? (others.length === 0 ? only : undefined)
  return typeof text === 'string' ? text : argumentsJson
}

const BEGINNING = /^\s*\{\s*"input"\s*:\s*"/
/** Maximum characters before the text begins. */
const BEGINNING_MAX = 100

/**
 * Extracts the text of a call whose arguments come in pieces. Text after it, or arguments with an
 * unexpected beginning, are not scanned again with each piece, which would take quadratic time.
 */
export class StreamedInput {
  private json = ''
  private hasBegun = false

  /** Returns the new part of the text. */
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

  /** Returns the rest of the text at the end of the arguments. */
  rest(): string {
    return this.hasBegun ? this.take(true) : inputOf(this.json)
  }

  private take(isWhole: boolean): string {
    const { text, length } = unescaped(this.json, isWhole)
    this.json = this.json.slice(length)
    return text
  }
}

/** Turns the arguments of calls of custom tools, in the events of a stream, into their text. */
export class PlainInputs {
  private readonly isCustom: (tool: string) => boolean
  /** Inputs of such calls, by choice and number. */
  private readonly inputs = new Map<
    string,
    { choice: number; call: number; input: StreamedInput }
  >()

  constructor(isCustom: (tool: string) => boolean) {
    this.isCustom = isCustom
  }

  /** Returns the events in place of one event. */
  of(event: ChatEvent): ChatEvent[] {
    if (event.kind === 'toolCall' && this.isCustom(event.name)) {
      const { choice, call } = event
      this.inputs.set(`${choice}/${call}`, { choice, call, input: new StreamedInput() })
    }
    if (event.kind === 'toolArguments') {
      const { choice, call } = event
      const input = this.inputs.get(`${choice}/${call}`)?.input
      return input === undefined ? [event] : said(choice, call, input.push(event.text))
    }
    if (event.kind !== 'finish') return [event]
    const ended = [...this.inputs.values()].filter(({ choice }) => choice === event.choice)
    return [...ended.flatMap(({ choice, call, input }) => said(choice, call, input.rest())), event]
  }
}

const said = (choice: number, call: number, text: string): ChatEvent[] =>
  text === '' ? [] : [{ kind: 'toolArguments', choice, call, text }]

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
 * Decodes a JSON text up to the next quote, and returns how much JSON it used; invalid JSON is used
 * as it is. It goes character by character, because there can be millions of escapes, which would
 * overflow a regex with a repeated group.
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

/** Null if it, or the other half of its pair, has not arrived yet. */
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
