import type {
  AssistantPart,
  ChatRequest,
  MediaPart,
  Message,
  TextPart,
  ToolResultPart,
  UserPart,
  OutputFormat,
  ToolCallPart,
} from './chat-request.ts'
import { capabilitiesOf, type AskedModel } from '../../../model/model-table.ts'

/** A message of a conversation; in some dialects instructions may stand anywhere. */
export type Said = Message | { role: 'system'; parts: readonly TextPart[] }

/**
 * Splits a conversation into messages and instructions. Instructions after the last assistant
 * message become the user's question, as from programs that have a conversation summarized: moved
 * to the front, they would leave no question, and the model would continue the assistant's text.
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
 * Ensures a user turn. OpenAI accepts instructions alone, which clients with a single input field
 * send; for providers that require a user turn, they become the user's text.
 */
export const withQuestion = (request: ChatRequest): ChatRequest =>
  request.messages.length > 0
    ? request
    : { ...request, system: [], messages: [{ role: 'user', parts: request.system }] }

/**
 * Joins adjacent messages of one role, for providers with alternating turns. Tool results come
 * first among the user's parts: they belong to the turn before, in the order of its calls, and some
 * providers distinguish two calls of one tool only by that order.
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

const textPart = (text: string): TextPart => ({ kind: 'text', text, cache: null })

/** Text of an empty user turn, or of one added at the beginning. */
const NOTHING_SAID = textPart('.')
/** User message added after an assistant turn that the model cannot continue (no prefill). */
const GO_ON = textPart('Continue.')

/**
 * Returns the conversation for models that require a question. It begins with the user, and ends
 * with the user unless the model supports prefill. Empty assistant turns are left out. Empty user
 * turns are kept with a placeholder: without one, the model would continue the assistant's last
 * turn.
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

/** A turn with tool calls needs their results, not a user text. */
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

/** For providers with separate tool messages: splits tool results from the user's other parts. */
export function resultsApart(parts: readonly UserPart[]): {
  results: ToolResultPart[]
  /** Images in results are the user's: no provider takes them from a tool. */
  said: (TextPart | MediaPart)[]
} {
  const results = parts.filter((part) => part.kind === 'toolResult')
  const rest = parts.filter((part) => part.kind !== 'toolResult')
  return { results, said: [...results.flatMap((result) => mediaOf(result.parts)), ...rest] }
}

/** Parts of a tool result other than text. */
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

const AS_JSON = 'Answer with JSON only: no other words, and no code fence around it.'

/**
 * Instruction that asks for the output format, for models that cannot enforce it; none if any text
 * will do.
 */
export function jsonInWords(output: OutputFormat | null): TextPart[] {
  if (output === null) return []
  const schema =
    output.kind === 'json' ? '' : ` Its JSON Schema is: ${JSON.stringify(output.schema)}`
  return [{ kind: 'text', text: AS_JSON + schema, cache: null }]
}

/** Joins the texts of a message, for providers that accept a single text. */
export const joinedText = (parts: readonly { kind: string; text?: string }[]): string =>
  parts.map((part) => (part.kind === 'text' ? (part.text ?? '') : '')).join('')

/** Joins the texts of a tool result. Each begins a new line. */
export function resultWords({ parts }: Pick<ToolResultPart, 'parts'>): string {
  let words = ''
  for (const part of parts) {
    if (part.kind !== 'text') continue
    words += (words === '' || words.endsWith('\n') ? '' : '\n') + part.text
  }
  return words
}

/** Text of a tool result; an error is marked as such. */
export const resultText = (result: ToolResultPart): string =>
  (result.isError ? 'Error: ' : '') + resultWords(result)

/** A tool call as text, for providers without tool calls. */
export const callText = ({ name, argumentsJson }: ToolCallPart): string =>
  `${name}(${argumentsJson})`

/**
 * A tool result as text, for providers without tool calls. `names`: names of the tools by call id.
 */
export const resultLine = (result: ToolResultPart, names: ReadonlyMap<string, string>): string =>
  `${names.get(result.callId) ?? result.name ?? ''}: ${resultText(result)}`
