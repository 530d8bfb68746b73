import type {
  AssistantPart,
  ChatRequest,
  MediaPart,
  Message,
  TextPart,
  ToolResultPart,
  UserPart,
} from './chat-request.ts'
import { capabilitiesOf, type AskedModel } from '../../model/model-table.ts'

/** What is said in a conversation, as it comes: in some dialects instructions stand anywhere. */
export type Said = Message | { role: 'system'; parts: readonly TextPart[] }

/**
 * A conversation, and its instructions apart. Those behind the assistant's last words are what is
 * asked now, as programs ask that have a conversation summarised: in front of it nothing would be
 * asked, and the assistant's words would be gone on with.
 */
export function conversationOf(said: readonly Said[]): Pick<ChatRequest, 'system' | 'messages'> {
  const last = said.findLastIndex(({ role }) => role !== 'system')
  const isAnswered = said[last]?.role === 'assistant'
  const system: TextPart[] = []
  const messages: Message[] = []
  for (const [index, { role, parts }] of said.entries()) {
    if (role === 'user') messages.push({ role, parts })
    else if (role === 'assistant') messages.push({ role, parts })
    else if (!isAnswered || index < last) system.push(...parts)
    else if (parts.length > 0) messages.push({ role: 'user', parts })
  }
  return { system, messages }
}

/**
 * The request with a user's turn. OpenAI accepts instructions alone, as forms with one field send
 * them; providers that demand a user's turn get the instructions as the user's words.
 */
export const withQuestion = (request: ChatRequest): ChatRequest =>
  request.messages.length > 0
    ? request
    : { ...request, system: [], messages: [{ role: 'user', parts: request.system }] }

/**
 * The conversation with neighbours of one role joined, as providers want it that take turns. Of the
 * user's parts, results of tools come first: they answer the turn before, and stand in the order of
 * its calls, which for some providers is all that tells two calls of one tool apart.
 */
export function turnsOf(messages: readonly Message[]): Message[] {
  const turns: { role: Message['role']; parts: (UserPart | AssistantPart)[] }[] = []
  for (const { role, parts } of messages) {
    const last = turns.at(-1)
    if (last?.role === role) last.parts.push(...parts)
    else turns.push({ role, parts: [...parts] })
  }
  return turns.map(({ role, parts }, index) =>
    role === 'user'
      ? { role, parts: resultsFirst(parts.filter(isUserPart), turns[index - 1]?.parts ?? []) }
      : { role, parts: parts.filter(isAssistantPart) },
  )
}

const words = (text: string): TextPart => ({ kind: 'text', text, cache: null })

/** What the user says who says nothing, or who should have begun the conversation. */
const NOTHING_SAID = words('.')
/** User message added after an assistant turn that the model cannot continue (no prefill). */
const GO_ON = words('Continue.')

/**
 * The conversation for models that must have a question. It begins with the user, and ends so where
 * the model takes no beginning of its answer. Where the assistant says nothing its turn is left
 * out. The user's is not: who says nothing still asks for an answer, and without the turn the
 * assistant's last one would go on.
 */
export function dialogueOf(messages: readonly Message[], to: AskedModel): Message[] {
  const heard = turnsOf(messages).filter(
    ({ role, parts }) => role === 'user' || saysAnything(parts),
  )
  const turns = turnsOf(heard).map((turn) =>
    saysAnything(turn.parts) ? turn : fromUser(NOTHING_SAID),
  )
  const last = turns.at(-1)
  const isOpen =
    last?.role === 'assistant' && !callsTool(last) && capabilitiesOf(to).prefill !== true
  return [
    ...(turns[0]?.role === 'assistant' ? [fromUser(NOTHING_SAID)] : []),
    ...turns,
    ...(isOpen ? [fromUser(GO_ON)] : []),
  ]
}

/** What a tool is to answer, no word of the user's can. */
const callsTool = ({ parts }: Message): boolean => parts.some(({ kind }) => kind === 'toolCall')

const fromUser = (part: UserPart): Message => ({ role: 'user', parts: [part] })

const saysAnything = (parts: readonly (UserPart | AssistantPart)[]): boolean =>
  parts.some((part) => (part.kind === 'text' ? part.text.trim() !== '' : part.kind !== 'thinking'))

const isUserPart = (part: UserPart | AssistantPart): part is UserPart =>
  part.kind !== 'thinking' && part.kind !== 'toolCall'

const isAssistantPart = (part: UserPart | AssistantPart): part is AssistantPart =>
  part.kind !== 'toolResult'

function resultsFirst(
  parts: readonly UserPart[],
  before: readonly (UserPart | AssistantPart)[],
): UserPart[] {
  const calls = before.filter((part) => part.kind === 'toolCall')
  const places = new Map(calls.map(({ id }, place) => [id, place]))
  const placeOf = ({ callId }: ToolResultPart): number => places.get(callId) ?? calls.length
  return [
    ...parts
      .filter((part) => part.kind === 'toolResult')
      .toSorted((one, other) => placeOf(one) - placeOf(other)),
    ...parts.filter((part) => part.kind !== 'toolResult'),
  ]
}

/** For providers whose tools speak for themselves: their results, and what else the user says. */
export function resultsApart(parts: readonly UserPart[]): {
  results: ToolResultPart[]
  /** Pictures in results are the user's: no provider takes them from a tool. */
  said: (TextPart | MediaPart)[]
} {
  const results = parts.filter((part) => part.kind === 'toolResult')
  const rest = parts.filter((part) => part.kind !== 'toolResult')
  return { results, said: [...results.flatMap((result) => mediaOf(result.parts)), ...rest] }
}

/** What of a tool's result is not text. */
export const mediaOf = (parts: readonly (TextPart | MediaPart)[]): MediaPart[] =>
  parts.filter((part) => part.kind === 'media')

/** Names of the tools that were called, by the id of the call. */
export function toolNames(messages: readonly Message[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const { role, parts } of messages) {
    if (role !== 'assistant') continue
    for (const part of parts) if (part.kind === 'toolCall') names.set(part.id, part.name)
  }
  return names
}
