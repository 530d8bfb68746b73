import {
  EFFORTS,
  type ChatRequest,
  type Effort,
  type TextPart,
  type Tool,
} from '../canonical/chat-request.ts'
import {
  invalidField,
  missingField,
  readCacheMark,
  unsupportedField,
  type Members,
} from '../canonical/reading.ts'
import { dropHostedTool } from '../canonical/hosted-tools.ts'
import { conversationOf, type Said } from '../canonical/turns.ts'
import {
  isAnthropicSearch,
  locationOption,
  plainSearch,
  textsOption,
  type WebSearch,
} from '../canonical/web-search.ts'
import { readAssistant, readText, readTexts, readUser } from './read-content.ts'

/**
 * A conversation with the changes that its system messages make: instructions, tools and effort.
 * Source: Anthropic's documentation, "Mid-conversation system messages and tool changes" and
 * "Per-message effort". Claude Code announces tools that connect late this way.
 */
export interface Conversation extends Pick<ChatRequest, 'system' | 'messages'> {
  /** Tools available at the end of the conversation. */
  tools: readonly Tool[]
  search: WebSearch | undefined
  /** Effort of the last message that sets one; null if not set. */
  effort: Effort | null
}

export function readConversation(request: Members): Conversation {
  const declared = request.objects('tools')
  const search = declared.find(isSearch)
  const tools = new Tools(declared.filter(isCallable).map(readTool))
  const said: Said[] = []
  let effort: Effort | null = null
  const sent = request.objects('messages')
  const lastUser = sent.findLastIndex((message) => message.any('role') === 'user')
  for (const [index, message] of sent.entries()) {
    const role = message.textOrThrow('role')
    if (role === 'system') {
      const texts = readSystem(message, tools)
      if (!isClearedByUser(message) || index > lastUser) said.push({ role, parts: texts })
      const config = message.object('output_config')
      effort = readEffort(config) ?? effort
      config?.done()
    } else if (role === 'user') said.push({ role, parts: readUser(message) })
    else if (role === 'assistant') said.push({ role, parts: readAssistant(message) })
    else throw invalidField(message.place('role'))
    message.done()
  }
  return {
    ...conversationOf(said),
    tools: tools.offered(),
    search: search && readSearch(search),
    effort,
  }
}

/** Effort of an `output_config`; null if not set. */
export function readEffort(config: Members | null): Effort | null {
  const word = config?.text('effort') ?? null
  if (config === null || word === null) return null
  const effort = EFFORTS.find((name) => name === word)
  if (effort === undefined) throw invalidField(config.place('effort'))
  return effort
}

/** Whether a text applies to one turn only: "until a later user message exists". */
function isClearedByUser(message: Members): boolean {
  const until = message.text('clear_at') ?? 'never'
  if (until !== 'never' && until !== 'next_user_message') {
    throw invalidField(message.place('clear_at'))
  }
  return until === 'next_user_message'
}

/** Returns the texts of a system message, and applies its tool changes. */
function readSystem(message: Members, tools: Tools): TextPart[] {
  if (typeof message.any('content') === 'string') return readTexts(message, 'content')
  return message.objects('content').flatMap((block): TextPart[] => {
    const type = block.textOrThrow('type')
    if (type === 'text') return [readText(block)]
    if (type === 'tool_addition') tools.add(readChangedTool(block))
    else if (type === 'tool_removal') tools.remove(readChangedTool(block))
    else throw unsupportedField(block.place('type'))
    return []
  })
}

/** Name of a tool of the request, or a tool that comes with the change. */
type ChangedTool = string | Tool

function readChangedTool(block: Members): ChangedTool {
  block.ignore('cache_control')
  const tool = objectOrThrow(block, 'tool')
  block.done()
  switch (tool.textOrThrow('type')) {
    case 'tool_reference':
      return tool.textOrThrow('name')
    case 'tool_definition':
      return readDefinition(objectOrThrow(tool, 'definition'))
    default:
      // Tools of an MCP server run at Anthropic only.
      throw unsupportedField(tool.place('type'))
  }
}

function readDefinition(tool: Members): Tool {
  if (!isCallable(tool)) throw unsupportedField(tool.place('type'))
  return readTool(tool)
}

function objectOrThrow(owner: Members, name: string): Members {
  const object = owner.object(name)
  if (object === null) throw missingField(owner.place(name))
  return object
}

const isSearch = (tool: Members): boolean => isAnthropicSearch(tool.text('type'))

function readSearch(tool: Members): WebSearch {
  tool.ignore('name', 'allowed_callers', 'defer_loading', 'strict', 'cache_control')
  tool.ignore('response_inclusion')
  const search: WebSearch = {
    ...plainSearch(tool.textOrThrow('type'), tool.place('type')),
    allowedDomains: textsOption(tool, 'allowed_domains'),
    blockedDomains: textsOption(tool, 'blocked_domains'),
    location: locationOption(tool),
    usesMax: { value: tool.count('max_uses'), at: tool.place('max_uses') },
  }
  tool.done()
  return search
}

/**
 * Whether the client runs the tool. Hosted tool search is left out: deferred tools are declared
 * from the beginning, so there is nothing to find.
 */
function isCallable(tool: Members): boolean {
  const type = tool.text('type') ?? 'custom'
  if (type === 'custom') return true
  if (isSearch(tool)) return false
  if (type.startsWith('tool_search_tool')) tool.notes.adjust(tool.at)
  else dropHostedTool(tool.notes, type, tool.place('type'))
  return false
}

function readTool(tool: Members): Tool {
  tool.ignore('type')
  // Members about the delivery of calls and about allowed callers have no effect here.
  tool.ignore('eager_input_streaming', 'defer_loading', 'allowed_callers')
  const read: Tool = {
    name: tool.textOrThrow('name'),
    description: withExamples(tool.text('description'), tool.list('input_examples') ?? []),
    schema: tool.record('input_schema'),
    isStrict: tool.flag('strict'),
    cache: readCacheMark(tool),
  }
  tool.done()
  return read
}

/** Adds examples of calls to the description: other dialects have no member for them. */
function withExamples(description: string | null, examples: readonly unknown[]): string | null {
  const told = examples.map((example) => `Example of its input: ${JSON.stringify(example)}`)
  return told.length === 0
    ? description
    : [description, told.join('\n')].filter(Boolean).join('\n\n')
}

/**
 * Tools available at this point of the conversation. Tools with deferred loading are included from
 * the beginning, since other dialects cannot add tools later; removed tools are not sent.
 */
class Tools {
  private readonly known: Map<string, Tool>
  private readonly removed = new Set<string>()

  constructor(declared: readonly Tool[]) {
    this.known = new Map(declared.map((tool) => [tool.name, tool]))
  }

  add(tool: ChangedTool): void {
    if (typeof tool !== 'string') this.known.set(tool.name, tool)
    this.removed.delete(nameOf(tool))
  }

  remove(tool: ChangedTool): void {
    this.removed.add(nameOf(tool))
  }

  offered(): Tool[] {
    return [...this.known.values()].filter(({ name }) => !this.removed.has(name))
  }
}

const nameOf = (tool: ChangedTool): string => (typeof tool === 'string' ? tool : tool.name)
