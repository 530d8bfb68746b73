import {
  textEvent,
  type AnswerPart,
  type ChatAnswer,
  type ChatEvent,
  type Finish,
  type FinishReason,
} from '../canonical/chat-answer.ts'
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
          argumentsJson: JSON.stringify(recordOr(block.input)),
          signature: null,
        },
      ]
    default:
      return []
  }
}

/** Event by event. Calls are numbered as they begin, whatever blocks stand between them. */
export class AnthropicStreamReader implements StreamReader {
  private calls = -1
  /** The last block to start is a call of a client's tool, not of one that Anthropic runs. */
  private isInCall = false
  /** The block that is open is a call, and nothing of its arguments has come. */
  private isBareCall = false
  /** Arguments that came whole with the start of the call. */
  private wholeArguments = '{}'

  read(event: JsonRecord): ChatEvent[] {
    return unfoldedStart(event).flatMap((unfolded) => this.readEvent(unfolded))
  }

  private readEvent(event: JsonRecord): ChatEvent[] {
    switch (event.type) {
      case 'message_start':
        return [{ kind: 'start', id: textOr(recordOr(event.message).id) }]
      case 'content_block_start':
        return this.startBlock(recordOr(event.content_block))
      case 'content_block_delta':
        return this.readDelta(recordOr(event.delta))
      case 'content_block_stop':
        return this.stopBlock()
      case 'message_delta': {
        const delta = recordOr(event.delta)
        if (typeof delta.stop_reason !== 'string') return []
        return [{ kind: 'finish', choice: 0, finish: finishOf(delta) }]
      }
      case 'ping':
        return [{ kind: 'ping' }]
      default:
        return []
    }
  }

  private startBlock(block: JsonRecord): ChatEvent[] {
    this.isInCall = block.type === 'tool_use'
    if (this.isInCall) {
      this.calls += 1
      this.isBareCall = true
      this.wholeArguments = JSON.stringify(recordOr(block.input))
      const { id, name } = block
      const call = this.calls
      return [
        { kind: 'toolCall', choice: 0, call, id: textOr(id), name: textOr(name), signature: null },
      ]
    }
    if (block.type === 'redacted_thinking') {
      return [{ kind: 'redacted', choice: 0, redacted: textOr(block.data) }]
    }
    // Usually empty; some servers begin with the first words.
    const kind = block.type === 'thinking' ? 'thinking' : 'text'
    return textEvent(kind, block[kind])
  }

  private readDelta(delta: JsonRecord): ChatEvent[] {
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
        const text = textOr(delta.partial_json)
        if (text === '' || !this.isInCall) return []
        this.isBareCall = false
        return [{ kind: 'toolArguments', choice: 0, call: this.calls, text }]
      }
      default:
        return []
    }
  }

  /** A call without arguments sends none; its object is what it began with. */
  private stopBlock(): ChatEvent[] {
    if (!this.isBareCall) return []
    this.isBareCall = false
    return [{ kind: 'toolArguments', choice: 0, call: this.calls, text: this.wholeArguments }]
  }
}
