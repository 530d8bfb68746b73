import { argumentsOf } from '../canonical/arguments-text.ts'
import type { StreamGatherer } from '../dialect/dialect.ts'
import { recordOr, textOr, type JsonRecord, append } from '../../json/json-value.ts'
import { unfoldedStart } from './message-events.ts'
import { joinedUsage } from './usage.ts'

/**
 * Joins the events of a message. Source: Anthropic's API reference, "Streaming messages", and its
 * SDK, `MessageStream`.
 */
export class GatheredMessage implements StreamGatherer {
  private message: JsonRecord = {}
  private usage: JsonRecord = {}
  private readonly blocks = new Map<unknown, JsonRecord>()
  /** Arguments of each tool call as JSON text, by the index of its block. */
  private readonly inputs = new Map<unknown, string>()

  add(event: JsonRecord): void {
    for (const unfolded of unfoldedStart(event)) this.addEvent(unfolded)
  }

  private addEvent(event: JsonRecord): void {
    switch (event.type) {
      case 'message_start':
        this.message = { ...recordOr(event.message) }
        this.usage = recordOr(this.message.usage)
        break
      case 'content_block_start':
        this.blocks.set(event.index, { ...recordOr(event.content_block) })
        break
      case 'content_block_delta':
        this.addPiece(event.index, recordOr(event.delta))
        break
      case 'message_delta': {
        const { type: _type, delta, usage, ...others } = event
        Object.assign(this.message, others, recordOr(delta))
        this.usage = joinedUsage(this.usage, recordOr(usage))
        break
      }
      default:
    }
  }

  whole(): JsonRecord {
    const content = [...this.blocks].map(([index, block]) => {
      const input = this.inputs.get(index)
      return input === undefined ? block : { ...block, input: argumentsOf(input) }
    })
    return { ...this.message, content, usage: this.usage }
  }

  private addPiece(index: unknown, delta: JsonRecord): void {
    const block = this.blocks.get(index)
    if (block === undefined) return
    switch (delta.type) {
      case 'text_delta':
        block.text = textOr(block.text) + textOr(delta.text)
        break
      case 'thinking_delta':
        block.thinking = textOr(block.thinking) + textOr(delta.thinking)
        break
      case 'signature_delta':
        block.signature = textOr(block.signature) + textOr(delta.signature)
        break
      case 'citations_delta':
        append(block, 'citations', [delta.citation])
        break
      case 'input_json_delta':
        this.inputs.set(index, (this.inputs.get(index) ?? '') + textOr(delta.partial_json))
        break
      case 'compaction_delta': {
        // Contains the final values, not a piece of them.
        const { type: _type, ...values } = delta
        Object.assign(block, values)
        break
      }
      default:
    }
  }
}
