import {
  textEvent,
  type AnswerPart,
  type ChatAnswer,
  type ChatEvent,
  type Finish,
  type FinishReason,
} from '../canonical/chat-answer.ts'
import { objectText } from '../canonical/arguments-text.ts'
import { CallAssembly, type AssembledCall } from '../canonical/call-assembly.ts'
import { USAGE_TOKENS_MAX } from '../canonical/token-usage.ts'
import type { StreamReader } from '../dialect/dialect.ts'
import { arrayOr, recordOr, textOr, type JsonRecord } from '../json/json-value.ts'
import { unfoldedStart } from './stream.ts'
import { readAnthropicUsage } from './usage.ts'

/**
 * A message, whole or streamed, in the canonical form. Source: Anthropic's API reference,
 * "Messages" and "Streaming messages". Blocks of tools that Anthropic runs itself are not asked for
 * by those who get a converted answer.
 */
export function readAnthropicAnswer(message: JsonRecord): ChatAnswer {
  return {
    id: textOr(message.id),
    choices: [
      {
        parts: arrayOr(message.content).flatMap((block) => readBlock(recordOr(block))),
        finish: finishOf(message),
      },
    ],
    usage: readAnthropicUsage(message.usage, USAGE_TOKENS_MAX).usage,
  }
}

const FINISHES: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'toolCalls',
  refusal: 'filtered',
}

function finishOf({ stop_reason, stop_sequence }: JsonRecord): Finish {
  return {
    reason: FINISHES[textOr(stop_reason)] ?? 'stop',
    stopSequence: typeof stop_sequence === 'string' ? stop_sequence : null,
  }
}

const sealOf = (value: unknown) =>
  typeof value === 'string' && value !== '' ? { by: 'anthropic' as const, value } : null

function readBlock(block: JsonRecord): AnswerPart[] {
  switch (block.type) {
    case 'text':
      return [{ kind: 'text', text: textOr(block.text) }]
    case 'thinking':
      return [
        {
          kind: 'thinking',
          text: textOr(block.thinking),
          signature: sealOf(block.signature),
          redacted: null,
        },
      ]
    case 'redacted_thinking':
      return [{ kind: 'thinking', text: '', signature: null, redacted: textOr(block.data) }]
    case 'tool_use':
      return [
        {
          kind: 'toolCall',
          id: textOr(block.id),
          name: textOr(block.name),
          argumentsJson: objectText(block.input),
          signature: null,
        },
      ]
    default:
      return []
  }
}

/** Event by event. Several blocks may be open at once: pieces name theirs by its index. */
export class AnthropicStreamReader implements StreamReader {
  private readonly calls = new CallAssembly()
  private readonly blocks = new Map<unknown, OpenBlock>()

  read(event: JsonRecord): ChatEvent[] {
    return unfoldedStart(event).flatMap((unfolded) => this.readEvent(unfolded))
  }

  private readEvent(event: JsonRecord): ChatEvent[] {
    switch (event.type) {
      case 'message_start':
        return [{ kind: 'start', id: textOr(recordOr(event.message).id) }]
      case 'content_block_start':
        return this.startBlock(event.index, recordOr(event.content_block))
      case 'content_block_delta':
        return this.readDelta(event.index, recordOr(event.delta))
      case 'content_block_stop':
        return this.stopBlock(event.index)
      case 'message_delta': {
        const delta = recordOr(event.delta)
        if (typeof delta.stop_reason !== 'string') return []
        return [...this.calls.open(0), { kind: 'finish', choice: 0, finish: finishOf(delta) }]
      }
      case 'ping':
        return [{ kind: 'ping' }]
      default:
        return []
    }
  }

  end(): ChatEvent[] {
    return this.calls.endAll()
  }

  private startBlock(index: unknown, block: JsonRecord): ChatEvent[] {
    const opened = this.calls.open(0)
    if (block.type === 'tool_use') {
      const call = this.calls.begin(0)
      this.blocks.set(index, { call, input: block.input })
      const { id, name } = block
      return [...opened, ...this.calls.add(call, { id: textOr(id), name: textOr(name) })]
    }
    this.blocks.delete(index)
    if (block.type === 'redacted_thinking') {
      return [...opened, { kind: 'redacted', choice: 0, redacted: textOr(block.data) }]
    }
    // Usually empty; some servers begin with the first words.
    const kind = block.type === 'thinking' ? 'thinking' : 'text'
    return [...opened, ...textEvent(kind, block[kind])]
  }

  private readDelta(index: unknown, delta: JsonRecord): ChatEvent[] {
    switch (delta.type) {
      case 'text_delta':
        return textEvent('text', delta.text)
      case 'thinking_delta':
        return textEvent('thinking', delta.thinking)
      case 'signature_delta': {
        const signature = sealOf(delta.signature)
        return signature === null ? [] : [{ kind: 'signature', choice: 0, signature }]
      }
      case 'input_json_delta': {
        const block = this.blockAt(index)
        return block === undefined
          ? []
          : this.calls.add(block.call, { args: textOr(delta.partial_json) })
      }
      default:
        return []
    }
  }

  /** Servers that open one block at a time may leave the index out. */
  private blockAt(index: unknown): OpenBlock | undefined {
    return typeof index === 'number' ? this.blocks.get(index) : [...this.blocks.values()].at(-1)
  }

  /** A call whose input came in no pieces has the one that it began with. */
  private stopBlock(index: unknown): ChatEvent[] {
    const block = this.blockAt(index)
    if (block === undefined) return []
    this.blocks.delete(index)
    const { call, input } = block
    const args = call.args === '' ? objectText(input) : ''
    return [...this.calls.add(call, { args }), ...this.calls.end(call)]
  }
}

/** A block of a tool call. */
interface OpenBlock {
  call: AssembledCall
  /** As the block began. */
  input: unknown
}
