import { ArgumentsText } from '../../canonical/arguments-text.ts'
import { parseJson, type JsonRecord } from '../../json/json-value.ts'
import { StreamedInput } from './custom-tools.ts'
import type { ClientTool } from './tool-names.ts'

/** What an event tells, beside whose item it is about. */
interface Told {
  type: string
  members: JsonRecord
}

/**
 * A call whose arguments are still coming, as the kind of item that its client knows it by. Source:
 * OpenAI's API reference, "The Response object", `function_call`, `custom_tool_call` and
 * `tool_search_call`; the events of the first two.
 */
export class OpenCall {
  private readonly callId: string
  private readonly tool: ClientTool
  private readonly args = new ArgumentsText()
  private readonly input = new StreamedInput()
  /** Of the input, what has come. */
  private text = ''

  constructor(callId: string, tool: ClientTool) {
    this.callId = callId
    this.tool = tool
  }

  /** How the ids of such items begin. */
  get prefix(): string {
    return PREFIXES[this.tool.type]
  }

  /** Its arguments have come to their end. */
  get isWhole(): boolean {
    return this.args.isWhole
  }

  /** Takes a piece of the arguments. */
  add(piece: string): Told[] {
    this.args.add(piece)
    switch (this.tool.type) {
      case 'function':
        return told('function_call_arguments.delta', { delta: piece })
      case 'custom':
        return this.say(this.input.push(piece))
      case 'tool_search':
        return []
      default:
        return this.tool.type satisfies never
    }
  }

  /** No more will come. */
  end(): Told[] {
    switch (this.tool.type) {
      case 'function':
        return told('function_call_arguments.done', {
          name: this.tool.name,
          arguments: this.args.text,
        })
      case 'custom': {
        const rest = this.say(this.input.rest())
        return [...rest, ...told('custom_tool_call_input.done', { input: this.text })]
      }
      case 'tool_search':
        return []
      default:
        return this.tool.type satisfies never
    }
  }

  /** As it is by now. */
  item(id: string, status: string): JsonRecord {
    const { name, namespace, isSealed = false } = this.tool
    const named = { name, ...(namespace === null ? {} : { namespace }) }
    // An empty list tells Codex that the arguments are plain text; without it, it hands them on as
    // sealed.
    const unsealed = isSealed ? { encrypted_function_args: [] } : {}
    const common = { id, status, call_id: this.callId }
    switch (this.tool.type) {
      case 'function':
        return {
          ...common,
          type: 'function_call',
          ...named,
          ...unsealed,
          arguments: this.args.text,
        }
      case 'custom':
        return { ...common, type: 'custom_tool_call', ...named, input: this.text }
      case 'tool_search': {
        const given = parseJson(this.args.text) ?? {}
        return { ...common, type: 'tool_search_call', execution: 'client', arguments: given }
      }
      default:
        return this.tool.type satisfies never
    }
  }

  private say(delta: string): Told[] {
    this.text += delta
    return delta === '' ? [] : told('custom_tool_call_input.delta', { delta })
  }
}

const PREFIXES = { function: 'fc', custom: 'ctc', tool_search: 'tsc' } as const

const told = (name: string, members: JsonRecord): Told[] => [{ type: `response.${name}`, members }]
