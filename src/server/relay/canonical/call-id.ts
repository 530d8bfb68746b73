import { createHash } from 'node:crypto'
import type { AssistantPart, Message, UserPart } from './chat-request.ts'

/**
 * An id for a call whose provider names none, and which clients need to say what a result belongs
 * to. `seed`: what makes the call this one and no other.
 */
export const madeId = (seed: string): string =>
  `call_${createHash('sha256').update(seed).digest('hex').slice(0, 24)}`

/** The ids of all calls of a conversation. */
export const callIdsIn = (messages: readonly Message[]): Set<string> =>
  new Set(
    messages.flatMap(({ parts }) => parts.flatMap((p) => (p.kind === 'toolCall' ? p.id : []))),
  )

/**
 * The conversation with an id of its own for each call, where its client, or an upstream before,
 * has used one again: Anthropic refuses that ("`tool_use` ids must be unique"). Results follow
 * their calls in order. The same conversation always gets the same ids, so that its prompt stays
 * cached.
 */
export function withOwnCallIds(messages: readonly Message[]): readonly Message[] {
  const uses = new Map<string, number>()
  /** Of the turn before: its calls without a result yet, by their first ids. */
  let waiting = new Map<string, string[]>()
  /** The last call of each first id. */
  const last = new Map<string, string>()
  const called = (part: AssistantPart): AssistantPart => {
    if (part.kind !== 'toolCall') return part
    const before = uses.get(part.id) ?? 0
    uses.set(part.id, before + 1)
    const id = before === 0 ? part.id : madeId(`${part.id} ${before}`)
    waiting.set(part.id, [...(waiting.get(part.id) ?? []), id])
    last.set(part.id, id)
    return { ...part, id }
  }
  const answered = (part: UserPart): UserPart => {
    if (part.kind !== 'toolResult') return part
    const { callId } = part
    return { ...part, callId: waiting.get(callId)?.shift() ?? last.get(callId) ?? callId }
  }
  const renamed = messages.map((message, index): Message => {
    if (message.role === 'user') return { role: 'user', parts: message.parts.map(answered) }
    if (messages[index - 1]?.role === 'user') waiting = new Map()
    return { role: 'assistant', parts: message.parts.map(called) }
  })
  return [...uses.values()].some((count) => count > 1) ? renamed : messages
}
