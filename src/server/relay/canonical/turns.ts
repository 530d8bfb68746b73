import type {
  AssistantPart,
  ChatRequest,
  MediaPart,
  Message,
  TextPart,
  ToolResultPart,
  UserPart,
} from './chat-request.ts'

/**
 * The request with a question in it. OpenAI answers to nothing but instructions, as forms begin
 * with that have one field; to those who want a conversation they are what the user says.
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
