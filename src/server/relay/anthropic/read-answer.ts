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
import { arrayOr, parseJson, recordOr, textOr, type JsonRecord } from '../json/json-value.ts'
import { citationsOf, SearchBlocks, type Span } from './search-blocks.ts'
import { unfoldedStart } from './stream.ts'
import { readAnthropicUsage } from './usage.ts'

/**
 * A message, whole or streamed, in the canonical form. Source: Anthropic's API reference,
 * "Messages" and "Streaming messages". Of the tools that Anthropic runs itself only its search can
 * have been asked for by those who get a converted answer.
 */
export function readAnthropicAnswer(message: JsonRecord): ChatAnswer {
  return {
    id: textOr(message.id),
    choices: [
      {
        parts: readContent(arrayOr(message.content).map(recordOr)),
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

function readContent(blocks: readonly JsonRecord[]): AnswerPart[] {
  const searches = new SearchBlocks()
  let said = 0
  return blocks.flatMap((block): AnswerPart[] => {
    const start = said
    if (block.type === 'text') said += textOr(block.text).length
    return readBlock(block, searches, { start, end: said })
  })
}

function readBlock(block: JsonRecord, searches: SearchBlocks, span: Span): AnswerPart[] {
  switch (block.type) {
    case 'text':
      return [
        { kind: 'text', text: textOr(block.text) },
        ...citationsOf(arrayOr(block.citations), span).map((citation) => ({
          kind: 'citation' as const,
          citation,
        })),
      ]
    case 'server_tool_use':
      searches.begin(block, block.input)
      return []
    case 'web_search_tool_result':
      return searches.end(block).map((search) => ({ kind: 'search', search }))
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
  private readonly searches = new SearchBlocks()
  /** The block that searches, and what has come of its input. */
  private searching: { block: JsonRecord; input: string } | null = null
  /** The citations of the open text, which follow it. */
  private readonly cited: unknown[] = []
  /** Where the open text begins in the whole text, and how long that is by now. */
  private textStart = 0
  private said = 0
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
    this.searching = block.type === 'server_tool_use' ? { block, input: '' } : null
    if (this.searching !== null) return opened
    if (block.type === 'web_search_tool_result') {
      const found = this.searches.end(block)
      return [...opened, ...found.map((search) => ({ kind: 'search' as const, choice: 0, search }))]
    }
    if (block.type === 'text') this.textStart = this.said
    if (block.type === 'redacted_thinking') {
      return [...opened, { kind: 'redacted', choice: 0, redacted: textOr(block.data) }]
    }
    // Usually empty; some servers begin with the first words.
    const kind = block.type === 'thinking' ? 'thinking' : 'text'
    if (kind === 'text') this.take(block.text, arrayOr(block.citations))
    return [...opened, ...textEvent(kind, block[kind])]
  }

  private readDelta(index: unknown, delta: JsonRecord): ChatEvent[] {
    switch (delta.type) {
      case 'text_delta':
        this.take(delta.text, [])
        return textEvent('text', delta.text)
      case 'citations_delta':
        this.cited.push(delta.citation)
        return []
      case 'thinking_delta':
        return textEvent('thinking', delta.thinking)
      case 'signature_delta': {
        const signature = sealOf(delta.signature)
        return signature === null ? [] : [{ kind: 'signature', choice: 0, signature }]
      }
      case 'input_json_delta': {
        if (this.searching !== null) {
          this.searching.input += textOr(delta.partial_json)
          return []
        }
        const block = this.blockAt(index)
        return block === undefined
          ? []
          : this.calls.add(block.call, { args: textOr(delta.partial_json) })
      }
      default:
        return []
    }
  }

  private take(text: unknown, citations: readonly unknown[]): void {
    this.said += textOr(text).length
    this.cited.push(...citations)
  }

  private tellCitations(): ChatEvent[] {
    const span = { start: this.textStart, end: this.said }
    const citations = citationsOf(this.cited.splice(0), span)
    return citations.map((citation) => ({ kind: 'citation', choice: 0, citation }))
  }

  /** Servers that open one block at a time may leave the index out. */
  private blockAt(index: unknown): OpenBlock | undefined {
    return typeof index === 'number' ? this.blocks.get(index) : [...this.blocks.values()].at(-1)
  }

  /** A call whose input came in no pieces has the one that it began with. */
  private stopBlock(index: unknown): ChatEvent[] {
    const { searching } = this
    if (searching !== null) {
      const { block, input } = searching
      this.searches.begin(block, input === '' ? block.input : parseJson(input))
      this.searching = null
      return []
    }
    if (this.cited.length > 0) return this.tellCitations()
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
