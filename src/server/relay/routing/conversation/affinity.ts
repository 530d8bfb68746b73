import { sha256 } from '../../../secrets.ts'
import type { DialectName } from '../../canonical/chat-request.ts'
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
 * Where conversations were served last. Upstreams keep the beginnings of prompts by account: who
 * goes on with another channel or key pays for all that was said once more. Per process, and never
 * more than a wish: see `chooseChannel`. Of a conversation that is not known, its name decides
 * (`homeOf`), so that all processes begin it at the same place.
 */
export interface Affinity {
  /** Null: nowhere that is known, or too long ago. `conversation` null: the call is of none. */
  placeOf(conversation: string | null): Place | null
  /** The channel, with the key that was used, has served the conversation. */
  remember(conversation: string | null, channel: RoutableChannel): void
}

export interface Place {
  channelId: number
  /** Empty: the channel has one key. */
  keyId: string
}

/** Conversations that are kept, some 200 bytes each; those not heard of longest go first. */
export const CONVERSATIONS_MAX = 100_000
/** Since the last call that was served. */
export const KEPT_MS = 3_600_000

export function createAffinity(nowMs: () => number): Affinity {
  /** In the order of their last use. */
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
 * How the conversation is known here that such a call belongs to, by the name that its client gave
 * it or else by its beginning; null: to none.
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

/** Nobody steers another's conversations, and caches are by model. */
interface Owner {
  userId: number
  group: string
  model: string
}

/** The same by its client's own name. */
export function conversationNamed(name: unknown, owner: Owner): string | null {
  if (typeof name !== 'string' || name === '') return null
  return sha256(`${ownerText(owner)}${JSON.stringify({ name })}`)
}

const ownerText = ({ userId, group, model }: Owner): string =>
  JSON.stringify([userId, group, model])

/** Names are far shorter; what is longer is not read. */
const NAME_BYTES_MAX = 4096

/**
 * What the client calls the conversation. OpenAI's dialect has a member for just this; its older
 * `user` may name a whole program, whose calls are to be spread. In Anthropic's it is where Claude
 * Code writes its session. Gemini's requests name nothing of the kind. Sources: OpenAI's guide,
 * "Prompt caching", which is about Chat Completions too; New API's default rules for channel
 * affinity; `GenerateContentConfig` of `@google/genai`.
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
