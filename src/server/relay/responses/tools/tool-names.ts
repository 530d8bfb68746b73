import { plainName } from '../../canonical/plain-name.ts'
import { arrayOr, recordOr, wordOf, type JsonRecord } from '../../json/json-value.ts'

/**
 * Tools that the client runs itself are functions to every provider, also those that take a bare
 * text, those that stand in a namespace, and the search for further tools. Here is which function
 * stands for which of them. Source: OpenAI's API reference, "Create a model response",
 * `FunctionTool`, `CustomTool`, `NamespaceTool` and `ToolSearchTool`.
 */
export interface ClientTool {
  type: 'function' | 'custom' | 'tool_search'
  name: string
  /** Null: it stands in none. */
  namespace: string | null
  /** OpenAI would seal some of its arguments, such as what one agent of Codex tells another. */
  isSealed?: boolean
}

/** The search has no name of its own. */
export const SEARCH: ClientTool = { type: 'tool_search', name: 'tool_search', namespace: null }

/** The tools of one request, by their own names and by the names that the model has for them. */
export class ToolNames {
  private readonly functions = new Map<string, string>()
  private readonly tools = new Map<string, ClientTool>()

  constructor(body: JsonRecord) {
    const declared = declaredIn(body)
    const isPlain = ({ type, namespace }: ClientTool): boolean =>
      type !== 'tool_search' && namespace === null
    // Who goes by its own name keeps it; the others take what is free.
    for (const tool of declared.filter(isPlain)) this.add(tool)
    for (const tool of declared.filter((other) => !isPlain(other))) this.add(tool)
  }

  /**
   * What the model calls it by, also one that is only remembered from earlier turns. OpenAI repeats
   * the name of a plain function that its search has found as its namespace.
   */
  functionOf(tool: ClientTool): string {
    const known = this.functions.get(keyOf(tool))
    if (known !== undefined) return known
    return functionName(tool.namespace === tool.name ? { ...tool, namespace: null } : tool)
  }

  /** What the model has called; null: nothing that was declared. */
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

/** Namespaces of some clients end as they are joined to their tools here. */
function functionName({ name, namespace }: ClientTool): string {
  if (namespace === null) return name
  return plainName(namespace.endsWith('__') ? namespace + name : `${namespace}__${name}`)
}

/** What may be called: tools can also come in the course of a conversation. */
function declaredIn({ tools, input }: JsonRecord): ClientTool[] {
  const later = arrayOr(input)
    .map(recordOr)
    .filter(({ type }) => bringsTools(wordOf(type)))
  return [tools, ...later.map((item) => item.tools)].flatMap((list) =>
    arrayOr(list).flatMap((tool) => toolsOf(recordOr(tool), null)),
  )
}

/** Whether items of such a type declare tools. */
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

/** Whether a schema says of some argument that it is to be sealed, in Codex' word for it. */
export const hasSealed = (schema: unknown): boolean =>
  Object.values(recordOr(recordOr(schema).properties)).some(
    (property) => recordOr(property).encrypted === true,
  )
