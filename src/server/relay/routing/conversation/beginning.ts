import type { DialectName } from '../../canonical/chat-request.ts'
import { itemsOf, memberRange, type ByteRange, type ScannedBody } from '../../json/body-scan.ts'
import { itemStarts, memberStart, valueEnd } from '../../json/json-walk.ts'

/**
 * What a conversation that its client gives no name begins with: its instructions and the first
 * message of its user, which are the same in every turn. Not the tools, which come and go. Read
 * from the bytes as they lie there, and of each text only the beginning: upstreams keep beginnings.
 * OpenRouter and NVIDIA's NeMo Switchyard tell conversations apart in the same way ("Prompt
 * Caching", "Provider Sticky Routing"; "Sticky Routing").
 */

/** Bytes of each text; what the user says is what differs most between conversations. */
const INSTRUCTION_BYTES_MAX = 512
const USER_BYTES_MAX = 1024
/** Parts of a turn that are looked at for its text. */
const PARTS_MAX = 8

/** Members that hold the turns, and those that hold instructions, on any surface. */
const TURNS = ['messages', 'input', 'contents'] as const
const INSTRUCTIONS = ['system', 'instructions', 'systemInstruction', 'system_instruction'] as const
/** Whoever marks what is to be cached will go on from there. In a text the quotes are escaped. */
const CACHE_MARK = '"cache_control"'

/**
 * The beginning; null: the body is no conversation. A single question is none, and goes to
 * whichever channel is its turn.
 */
export function beginningOf(dialect: DialectName, body: ScannedBody): string | null {
  const { bytes } = body
  const list = rangeOf(body, TURNS)
  const turns = list === null ? [] : itemsOf(body, list)
  // Nearly all of those that are no conversation are told by this.
  if (turns.length < 2 && dialect !== 'anthropic') return null
  const first = turns.findIndex((turn) => roleOf(bytes, turn) === '"user"')
  if (first < 0) return null
  const goesOn =
    turns.slice(first + 1).some((turn) => !PROMPTING.has(roleOf(bytes, turn))) ||
    (dialect === 'anthropic' && bytes.includes(CACHE_MARK))
  if (!goesOn) return null
  const instructions = rangeOf(body, INSTRUCTIONS)
  const said = turns
    .slice(0, first + 1)
    .map((turn, index) =>
      spokenIn(bytes, turn, index === first ? USER_BYTES_MAX : INSTRUCTION_BYTES_MAX),
    )
  if (instructions !== null) said.push(spokenIn(bytes, instructions.start, INSTRUCTION_BYTES_MAX))
  return said.join('\n')
}

function rangeOf(body: ScannedBody, names: readonly string[]): ByteRange | null {
  for (const name of names) {
    const range = memberRange(body, name)
    if (range !== null) return range
  }
  return null
}

/** Whose turns ask; all others are the model's, or answer its calls. */
const PROMPTING: ReadonlySet<string> = new Set(['"user"', '"system"', '"developer"'])

function roleOf(bytes: Buffer, turnStart: number): string {
  const start = memberStart(bytes, turnStart, 'role')
  return start < 0 ? '' : textAt(bytes, start, 16)
}

/**
 * The beginning of what a turn or instructions say: of their first text alone, because clients move
 * their cache marks on from turn to turn, and write one text now as such and now as a part. Where
 * there is no text, of what there is, as it is spelled.
 */
function spokenIn(bytes: Buffer, itemStart: number, bytesMax: number): string {
  const content = memberStart(bytes, itemStart, 'content')
  const inside = content < 0 ? memberStart(bytes, itemStart, 'parts') : content
  const start = inside < 0 ? itemStart : inside
  let count = 0
  for (const part of itemStarts(bytes, start)) {
    const text = memberStart(bytes, part, 'text')
    if (text >= 0) return textAt(bytes, text, bytesMax)
    count += 1
    if (count === PARTS_MAX) break
  }
  return textAt(bytes, start, bytesMax)
}

function textAt(bytes: Buffer, start: number, bytesMax: number): string {
  const seen = bytes.subarray(start, start + bytesMax)
  return seen.toString('latin1', 0, valueEnd(seen, 0))
}
