import { sha256 } from '../../../secrets.ts'
import type { DialectName } from '../../protocols/canonical/chat-request.ts'
import {
  itemsOf,
  memberObject,
  memberRange,
  memberValue,
  type ByteRange,
  type ScannedBody,
} from '../../json/body-scan.ts'
import { itemStarts, memberStart, valueEnd } from '../../json/json-walk.ts'
import type { RoutableChannel } from '../choose-channel.ts'

/**
 * Remembers which channel last served a conversation. Upstreams cache prompt prefixes by account: a
 * conversation that moves to another channel or key pays for its whole prompt again. Per process,
 * and only a preference: see `chooseChannel`. An unknown conversation is assigned by the hash of
 * its name (`homeOf`), so that all processes choose the same channel.
 */
export interface Affinity {
  /**
   * Returns the place that last served the conversation; null if unknown or expired, or if
   * `conversation` is null (the call belongs to none).
   */
  placeOf(conversation: string | null): Place | null
  /** Records that the channel, with its chosen key, has served the conversation. */
  remember(conversation: string | null, channel: RoutableChannel): void
}

export interface Place {
  channelId: number
  /** Id of the key; '' if the channel has one key. */
  keyId: string
}

/**
 * Maximum number of conversations, at about 200 bytes each; the least recently used are dropped.
 */
export const CONVERSATIONS_MAX = 100_000
/** Lifetime in milliseconds since the last served call. */
export const KEPT_MS = 3_600_000

export function createAffinity(nowMs: () => number): Affinity {
  /** Places in the order of their last use. */
  const places = new Map<string, Place & { usedMs: number }>()

  const isOver = ({ usedMs }: { usedMs: number }): boolean => nowMs() - usedMs >= KEPT_MS

  function forgetOld(): void {
    for (const [conversation, place] of places) {
      if (!isOver(place) && places.size < CONVERSATIONS_MAX) return
      places.delete(conversation)
    }
  }

  return {
    placeOf(conversation) {
      const place = conversation === null ? undefined : places.get(conversation)
      return place === undefined || isOver(place) ? null : place
    },
    remember(conversation, { id, keyId }) {
      if (conversation === null) return
      places.delete(conversation)
      forgetOld()
      places.set(conversation, { channelId: id, keyId, usedMs: nowMs() })
    },
  }
}

/**
 * Returns the key of the call's conversation, from the client's conversation id or else from its
 * beginning; null if the call belongs to none.
 */
export function conversationOf(
  dialect: DialectName,
  body: ScannedBody,
  owner: Owner,
): string | null {
  const named = conversationNamed(nameIn(dialect, body), owner)
  if (named !== null) return named
  const beginning = beginningOf(dialect, body)
  return beginning === null ? null : sha256(`${ownerText(owner)}${beginning}`)
}

/** Part of the key: users cannot affect each other's conversations, and caches are per model. */
interface Owner {
  userId: number
  group: string
  model: string
}

/** Returns the key of a conversation that has a client-supplied id. */
export function conversationNamed(name: unknown, owner: Owner): string | null {
  if (typeof name !== 'string' || name === '') return null
  return sha256(`${ownerText(owner)}${JSON.stringify({ name })}`)
}

const ownerText = ({ userId, group, model }: Owner): string =>
  JSON.stringify([userId, group, model])

/** Longest id that is read, in bytes; real ids are far shorter. */
const NAME_BYTES_MAX = 4096

/**
 * Returns the client's conversation id. OpenAI's dialect has a member for this; its older `user`
 * may name a whole program, whose calls should be spread. In Anthropic's dialect it is where Claude
 * Code writes its session. Gemini's requests contain no id. Sources: OpenAI's guide, "Prompt
 * caching", which covers Chat Completions too; New API's default rules for channel affinity;
 * `GenerateContentConfig` of `@google/genai`.
 */
function nameIn(dialect: DialectName, body: ScannedBody): unknown {
  if (dialect === 'openai' && isShort(memberRange(body, 'prompt_cache_key'))) {
    return memberValue(body, 'prompt_cache_key')
  }
  if (dialect === 'anthropic' && isShort(memberRange(body, 'metadata'))) {
    const metadata = memberObject(body, 'metadata')
    return metadata === null ? undefined : memberValue(metadata, 'user_id')
  }
  return undefined
}

const isShort = (range: ByteRange | null): boolean =>
  range !== null && range.end - range.start <= NAME_BYTES_MAX

/**
 * Identifies a conversation without an id by its beginning: its instructions and the first user
 * message, which are the same in every turn. Tools are excluded because they change. Read directly
 * from the bytes, and only the beginning of each text, because upstreams cache prefixes. OpenRouter
 * and NVIDIA's NeMo Switchyard identify conversations in the same way ("Prompt Caching", "Provider
 * Sticky Routing"; "Sticky Routing").
 */

/** Bytes read of each text; the user's message is what differs most between conversations. */
const INSTRUCTION_BYTES_MAX = 512
const USER_BYTES_MAX = 1024
/** Maximum number of parts of a turn that are searched for its text. */
const PARTS_MAX = 8

/** Members that hold the turns, and those that hold instructions, on any surface. */
const TURNS = ['messages', 'input', 'contents'] as const
const INSTRUCTIONS = ['system', 'instructions', 'systemInstruction', 'system_instruction'] as const
/**
 * A client that marks a cache prefix will continue the conversation. In a text the quotes would be
 * escaped.
 */
const CACHE_MARK = '"cache_control"'

/**
 * Returns the beginning of a conversation; null if the body is not a conversation. A single
 * question is not one, and may use any channel.
 */
export function beginningOf(dialect: DialectName, body: ScannedBody): string | null {
  const { bytes } = body
  const list = rangeOf(body, TURNS)
  const turns = list === null ? [] : itemsOf(body, list)
  // Excludes nearly all bodies that are not a conversation.
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

/** Roles of turns that prompt the model; all others are the model's or answer its tool calls. */
const PROMPTING: ReadonlySet<string> = new Set(['"user"', '"system"', '"developer"'])

function roleOf(bytes: Buffer, turnStart: number): string {
  const start = memberStart(bytes, turnStart, 'role')
  return start < 0 ? '' : textAt(bytes, start, 16)
}

/**
 * Returns the beginning of a turn's or an instruction's text. Only the first text part is read,
 * because clients move their cache marks from turn to turn, and write a text sometimes as a string
 * and sometimes as a part. If there is no text, the raw content is used.
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
