import { sha256 } from '../../../secrets.ts'
import type { DialectName } from '../../canonical/chat-request.ts'
import {
  memberObject,
  memberRange,
  memberValue,
  type ByteRange,
  type ScannedBody,
} from '../../json/body-scan.ts'
import { beginningOf } from './beginning.ts'
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
export function conversationOf({
  asked,
  body,
  caller,
  model,
  route,
}: ConversingCall): string | null {
  // Where the channel is given, nothing is to be chosen or learnt.
  if (route.isPinned) return null
  const { dialect } = asked.surface
  const owner: Owner = { userId: caller.user.id, group: route.group, model }
  const named = conversationNamed(nameIn(dialect, body), owner)
  if (named !== null) return named
  const beginning = beginningOf(dialect, body)
  return beginning === null ? null : sha256(`${ownerText(owner)}${beginning}`)
}

interface ConversingCall {
  asked: { surface: { dialect: DialectName } }
  body: ScannedBody
  caller: { user: { id: number } }
  model: string
  route: { group: string; isPinned: boolean }
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
