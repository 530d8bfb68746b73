import { plainName } from '../../canonical/tool-calls.ts'
import { arrayOr, recordOr, wordOf, type JsonRecord } from '../../../json/json-value.ts'

/**
 * Maps the client's tools to functions, which every provider supports: tools with plain text input,
 * tools of a namespace, and client tool search. Source: OpenAI's API reference, "Create a model
 * response", `FunctionTool`, `CustomTool`, `NamespaceTool` and `ToolSearchTool`.
 */
export interface ClientTool {
  type: 'function' | 'custom' | 'tool_search'
  name: string
  /** Namespace; null if not set. */
  namespace: string | null
  /**
   * Whether OpenAI encrypts some of the tool's arguments, such as messages between Codex agents.
   */
  isSealed?: boolean
}

/** The tool search, which has no name of its own. */
export const SEARCH: ClientTool = { type: 'tool_search', name: 'tool_search', namespace: null }

/** Tools of one request, by their own names and by their function names. */
export class ToolNames {
  private readonly functions = new Map<string, string>()
  private readonly tools = new Map<string, ClientTool>()

  constructor(body: JsonRecord) {
    const declared = declaredIn(body)
    const isPlain = ({ type, namespace }: ClientTool): boolean =>
      type !== 'tool_search' && namespace === null
    // Plain functions keep their names; the other tools get names that are free.
    for (const tool of declared.filter(isPlain)) this.add(tool)
    for (const tool of declared.filter((other) => !isPlain(other))) this.add(tool)
  }

  /**
   * Function name of a tool, also of one that only appears in earlier turns. For a plain function
   * found by tool search, OpenAI repeats its name as the namespace.
   */
  functionOf(tool: ClientTool): string {
    const known = this.functions.get(keyOf(tool))
    if (known !== undefined) return known
    return functionName(tool.namespace === tool.name ? { ...tool, namespace: null } : tool)
  }

  /** Tool of a function that the model called; null if it was not declared. */
  toolOf(functionNamed: string): ClientTool | null {
    return this.tools.get(functionNamed) ?? null
  }

  private add(tool: ClientTool): void {
    const key = keyOf(tool)
    if (this.functions.has(key)) return
    const name = functionName(tool)
    const free = this.tools.has(name) ? plainName(`${tool.namespace ?? ''}.${tool.name}`) : name
    this.functions.set(key, free)
    this.tools.set(free, tool)
  }
}

const keyOf = ({ type, name, namespace }: ClientTool): string =>
  JSON.stringify([type === 'tool_search', namespace, name])

/** Joins namespace and name; some clients' namespaces already end with the separator. */
function functionName({ name, namespace }: ClientTool): string {
  if (namespace === null) return name
  return plainName(namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`)
}

/** Declared tools, including those that are added during the conversation. */
function declaredIn({ tools, input }: JsonRecord): ClientTool[] {
  const later = arrayOr(input)
    .map(recordOr)
    .filter(({ type }) => bringsTools(wordOf(type)))
  return [tools, ...later.map((item) => item.tools)].flatMap((list) =>
    arrayOr(list).flatMap((tool) => toolsOf(recordOr(tool), null)),
  )
}

/** Whether items of this type declare tools. */
const bringsTools = (type: string): boolean =>
  type === 'additional_tools' || type === 'tool_search_output'

function toolsOf(tool: JsonRecord, namespace: string | null): ClientTool[] {
  const { type } = tool
  const name = wordOf(tool.name)
  if (type === 'tool_search') return tool.execution === 'client' ? [SEARCH] : []
  if (type === 'function' || type === 'custom') {
    return [{ type, name, namespace, isSealed: hasSealed(tool.parameters) }]
  }
  if (type !== 'namespace' || namespace !== null) return []
  return arrayOr(tool.tools).flatMap((inner) => toolsOf(recordOr(inner), name))
}

/** Whether a schema marks an argument as encrypted, with Codex's keyword. */
export const hasSealed = (schema: unknown): boolean =>
  Object.values(recordOr(recordOr(schema).properties)).some(
    (property) => recordOr(property).encrypted === true,
  )
