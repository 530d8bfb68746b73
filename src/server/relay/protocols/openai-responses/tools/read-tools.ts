import type { Tool } from '../../canonical/chat-request.ts'
import { dropHostedTool } from '../../canonical/hosted-tools.ts'
import type { Members } from '../../canonical/reading.ts'
import { isOpenaiSearch, readSearchTool, type WebSearch } from '../../canonical/web-search.ts'
import { recordOr, type JsonRecord } from '../../../json/json-value.ts'
import { readFunction } from '../../openai-chat/request-members.ts'
import { readCustomTool } from '../../canonical/custom-tools.ts'
import { hasSealed, SEARCH, type ToolNames } from './tool-names.ts'

/**
 * Reads the tools that an object declares, as functions, since the client runs them. Of OpenAI's
 * hosted tools, other vendors have web search.
 */
export const readTools = (declaring: Members, names: ToolNames): Tool[] =>
  declaring
    .objects('tools')
    .filter((tool) => !isSearch(tool))
    .flatMap((tool) => readTool(tool, names))

/** Reads OpenAI's web search; undefined if not requested. */
export function readWebSearch(request: Members): WebSearch | undefined {
  const usesMax = { value: request.count('max_tool_calls'), at: 'max_tool_calls' }
  const tool = request.objects('tools').find(isSearch)
  return tool && readSearchTool(tool, usesMax)
}

const isSearch = (tool: Members): boolean => isOpenaiSearch({ type: tool.text('type') })

/** Removes duplicates, since tool searches may find a tool again. */
export function onceEach(tools: readonly Tool[]): Tool[] {
  const byName = new Map<string, Tool>()
  for (const tool of tools) if (!byName.has(tool.name)) byName.set(tool.name, tool)
  return [...byName.values()]
}

function readTool(tool: Members, names: ToolNames): Tool[] {
  switch (tool.text('type')) {
    case 'namespace':
      return readNamespace(tool, names)
    case 'tool_search':
      // Deferred tools are declared from the beginning: a hosted search has nothing to find.
      if (tool.text('execution') === 'client') return [readSearch(tool, names)]
      tool.notes.adjust(tool.at)
      return []
    default:
      return readNamed(tool, names, null)
  }
}

function readNamed(tool: Members, names: ToolNames, namespace: string | null): Tool[] {
  const type = tool.text('type')
  if (type !== 'function' && type !== 'custom') {
    dropHostedTool(tool.notes, type ?? '', tool.place('type'))
    return []
  }
  const name = names.functionOf({ type, name: tool.textOrThrow('name'), namespace })
  // Schema of the result, for calls by code of the model.
  tool.ignore('output_schema')
  if (type === 'function') {
    const { schema, ...described } = readFunction(tool, null)
    return [{ ...described, name, schema: schema && withoutSeals(schema) }]
  }
  const read = readCustomTool(tool, name)
  tool.ignore('defer_loading', 'allowed_callers')
  tool.done()
  return [read]
}

/** Removes marks of encrypted arguments, which the gateway does not support. */
function withoutSeals(schema: JsonRecord): JsonRecord {
  if (!hasSealed(schema)) return schema
  const properties = Object.entries(recordOr(schema.properties)).map(([name, property]) => {
    const { encrypted: _seal, ...plain } = recordOr(property)
    return [name, plain]
  })
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** Adds the description of a namespace to the first of its tools only. */
function readNamespace(tool: Members, names: ToolNames): Tool[] {
  const namespace = tool.textOrThrow('name')
  const about = tool.text('description') ?? ''
  const [first, ...others] = tool
    .objects('tools')
    .flatMap((inner) => readNamed(inner, names, namespace))
  tool.done()
  if (first === undefined) return []
  const texts = [about, first.description ?? ''].filter((text) => text !== '')
  return [{ ...first, description: texts.join('\n\n') }, ...others]
}

/** Reads the tool search that the client runs itself. */
function readSearch(tool: Members, names: ToolNames): Tool {
  tool.ignore('execution')
  const read: Tool = {
    name: names.functionOf(SEARCH),
    description: tool.text('description'),
    schema: tool.record('parameters'),
    isStrict: null,
    cache: null,
  }
  tool.done()
  return read
}
