import { ArgumentsText } from '../../canonical/arguments-text.ts'
import { parseJson, type JsonRecord } from '../../../json/json-value.ts'
import { StreamedInput } from '../../canonical/custom-tools.ts'
import type { ClientTool } from './tool-names.ts'

/** Type and members of an event, without the id of its item. */
interface Told {
  type: string
  members: JsonRecord
}

/**
 * A call whose arguments are incomplete, as the type of item that its client expects. Source:
 * OpenAI's API reference, "The Response object", `function_call`, `custom_tool_call` and
 * `tool_search_call`; the events of the first two.
 */
export class OpenCall {
  private readonly callId: string
  private readonly tool: ClientTool
  private readonly args = new ArgumentsText()
  private readonly input = new StreamedInput()
  /** Input received so far. */
  private text = ''

  constructor(callId: string, tool: ClientTool) {
    this.callId = callId
    this.tool = tool
  }

  /** Prefix of the ids of such items. */
  get prefix(): string {
    return PREFIXES[this.tool.type]
  }

  /** Whether its arguments are complete. */
  get isWhole(): boolean {
    return this.args.isWhole
  }

  /** Adds a piece of the arguments. */
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

  /** Ends the call. */
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

  /** Current state of the item. */
  item(id: string, status: string): JsonRecord {
    const { name, namespace, isSealed = false } = this.tool
    const named = { name, ...(namespace === null ? {} : { namespace }) }
    // Codex treats the arguments as plain text if this list is empty, and as encrypted if it is
    // missing.
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
