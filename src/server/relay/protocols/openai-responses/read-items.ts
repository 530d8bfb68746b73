import { AppError } from '../../../app-error.ts'
import type {
  AssistantPart,
  ChatRequest,
  Message,
  ThinkingPart,
  Tool,
  ToolResultPart,
  UserPart,
} from '../canonical/chat-request.ts'
import { instruction, unsupportedField, type Members } from '../canonical/reading.ts'
import { hiddenThought, unwrapSignature } from '../canonical/signature.ts'
import { conversationOf, type Said } from '../canonical/turns.ts'
import { isRecord, parseJson } from '../../json/json-value.ts'
import { asArguments } from '../canonical/custom-tools.ts'
import { readTools } from './tools/read-tools.ts'
import { SEARCH, type ClientTool, type ToolNames } from './tools/tool-names.ts'
import { OF_CODEX } from './upstream/of-codex.ts'
import { readContent, textPart } from './read-content.ts'

/** Type of an item that changes effort or format for the rest of the conversation. */
export const CONFIGURATION_UPDATE = 'configuration_update'

/** Contents of a conversation: messages, reasoning, calls, and tools that were added later. */
interface ReadInput extends Pick<ChatRequest, 'system' | 'messages'> {
  tools: Tool[]
}

/** Messages of an item, and tools that it adds. */
interface ReadItem {
  said: Said[]
  tools: Tool[]
}

/** Reads the input items. Source: OpenAI's API reference, "Create a model response", `input`. */
export function readInput(request: Members, names: ToolNames): ReadInput {
  const input = request.any('input')
  if (typeof input === 'string') {
    return { system: [], messages: [fromUser(textPart(input))], tools: [] }
  }
  const items = request.objects('input').map((item) => {
    // `caller`: the model, or a program of the model that has already run elsewhere.
    item.ignore('id', 'status', 'phase', 'caller', OF_CODEX.memberOfItems)
    const read = readItem(item, names)
    item.done()
    return read
  })
  return {
    ...conversationOf(items.flatMap(({ said }) => said)),
    tools: items.flatMap(({ tools }) => tools),
  }
}

const read = (item: Partial<ReadItem>): ReadItem => ({ said: [], tools: [], ...item })

const fromUser = (...parts: UserPart[]): Message => ({ role: 'user', parts })
const fromModel = (...parts: AssistantPart[]): Message => ({ role: 'assistant', parts })

function readItem(item: Members, names: ToolNames): ReadItem {
  const type = item.text('type') ?? 'message'
  switch (type) {
    case 'message':
      return readMessage(item)
    case 'reasoning':
      return read({ said: [fromModel(readReasoning(item))] })
    case 'function_call':
    case 'custom_tool_call':
      return read({ said: [fromModel(readCall(item, type, names))] })
    case 'function_call_output':
    case 'custom_tool_call_output':
      return read({ said: [fromUser(readResult(item, type, names))] })
    case 'tool_search_call':
      return readSearch(item, names)
    case 'tool_search_output':
      return readFound(item, names)
    case 'additional_tools':
      item.ignore('role')
      return read({ tools: readTools(item, names) })
    case 'agent_message':
      return readAgentMessage(item)
    case 'web_search_call':
      // The results of an earlier search are in the text that follows.
      item.ignore('action', 'results')
      return read({})
    case CONFIGURATION_UPDATE:
      // `readResponsesRequest` has applied it to the request.
      item.object('reasoning')
      item.object('text')
      return read({})
    case 'item_reference':
      throw new AppError('relay_items_not_kept', { field: item.at })
    default:
      throw unsupportedField(item.place('type'))
  }
}

function readMessage(item: Members): ReadItem {
  const role = item.textOrThrow('role')
  const parts = readContent(item, 'content')
  switch (role) {
    case 'system':
    case 'developer':
      return read({ said: [{ role: 'system', parts: parts.map(instruction) }] })
    case 'user':
    case 'assistant':
      return read({ said: [{ role, parts }] })
    default:
      throw unsupportedField(item.place('role'))
  }
}

/** A message between two agents of Codex; its text also names both agents. */
function readAgentMessage(item: Members): ReadItem {
  item.ignore('author', 'recipient')
  return read({ said: [fromUser(...readContent(item, 'content'))] })
}

function toolNamed(item: Members, type: ClientTool['type']): ClientTool {
  return { type, name: item.textOrThrow('name'), namespace: item.text('namespace') }
}

/**
 * Reads a call. Clients without custom tools send back such calls as functions, with the plain text
 * as arguments.
 */
function readCall(
  item: Members,
  type: 'function_call' | 'custom_tool_call',
  names: ToolNames,
): AssistantPart {
  const isCustom = type === 'custom_tool_call'
  const name = names.functionOf(toolNamed(item, isCustom ? 'custom' : 'function'))
  const given = item.text(isCustom ? 'input' : 'arguments') ?? ''
  const isBare = isCustom || (names.toolOf(name)?.type === 'custom' && !isRecord(parseJson(given)))
  return callPart(item.textOrThrow('call_id'), name, isBare ? asArguments(given) : given)
}

const callPart = (id: string, name: string, argumentsJson: string): AssistantPart => ({
  kind: 'toolCall',
  id,
  name,
  argumentsJson,
  signature: null,
  cache: null,
})

function readResult(item: Members, type: string, names: ToolNames): UserPart {
  const namespace = item.text('namespace')
  const name = item.text('name')
  // The name of a custom tool comes from its call: results do not contain the namespace.
  const isNamed = name !== null && type === 'function_call_output'
  return resultPart(
    item.textOrThrow('call_id'),
    isNamed ? names.functionOf({ type: 'function', name, namespace }) : null,
    readContent(item, 'output'),
  )
}

const resultPart = (
  callId: string,
  name: string | null,
  parts: ToolResultPart['parts'],
): ToolResultPart => ({ kind: 'toolResult', callId, name, parts, isError: false, cache: null })

/** A search that OpenAI ran (`execution: server`, or no id) needs no result from the client. */
function readSearch(item: Members, names: ToolNames): ReadItem {
  const id = item.text('call_id')
  const given = item.any('arguments')
  if (item.text('execution') === 'server' || id === null) return read({})
  const argumentsJson = typeof given === 'string' ? given : JSON.stringify(given ?? {})
  return read({ said: [fromModel(callPart(id, names.functionOf(SEARCH), argumentsJson))] })
}

/** Adds the tools that a search has found to the request's tools. */
function readFound(item: Members, names: ToolNames): ReadItem {
  const tools = readTools(item, names)
  const callId = item.text('call_id')
  if (item.text('execution') === 'server' || callId === null) return read({ tools })
  const list = tools.map(({ name }) => name).join(', ')
  const text = list === '' ? 'No tools were found.' : `Tools to call now: ${list}`
  const result = resultPart(callId, names.functionOf(SEARCH), [textPart(text)])
  return read({ said: [fromUser(result)], tools })
}

/** Reads reasoning: its text in `summary`, its signature in `encrypted_content`. */
function readReasoning(item: Members): ThinkingPart {
  const texts = [...item.objects('summary'), ...item.objects('content')].map((part) => {
    part.ignore('type')
    const text = part.textOrThrow('text')
    part.done()
    return text
  })
  const sealed = item.text('encrypted_content') ?? ''
  const signature = sealed === '' ? null : unwrapSignature(sealed, 'openai')
  const redacted = hiddenThought(signature)
  return {
    kind: 'thinking',
    text: texts.join('\n\n'),
    signature: redacted === null ? signature : null,
    redacted,
  }
}
