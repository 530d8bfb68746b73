import { createHash } from 'node:crypto'
import type { AssistantPart, Message, UserPart } from './chat-request.ts'

/**
 * Makes an id for a call without one, since clients need it to assign results. `seed`: must be
 * unique to the call.
 */
export const madeId = (seed: string): string =>
  `call_${createHash('sha256').update(seed).digest('hex').slice(0, 24)}`

/** Returns the ids of all calls of a conversation. */
export const callIdsIn = (messages: readonly Message[]): Set<string> =>
  new Set(
    messages.flatMap(({ parts }) => parts.flatMap((p) => (p.kind === 'toolCall' ? p.id : []))),
  )

/**
 * Gives each call of a conversation a unique id, if its client or an earlier upstream reused one:
 * Anthropic rejects that ("`tool_use` ids must be unique"). Results follow their calls in order.
 * The same conversation always gets the same ids, so that its prompt stays cached.
 */
export function withOwnCallIds(messages: readonly Message[]): readonly Message[] {
  const uses = new Map<string, number>()
  /** Calls of the turn before that have no result yet, by their original ids. */
  let waiting = new Map<string, string[]>()
  /** Last call of each original id. */
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
