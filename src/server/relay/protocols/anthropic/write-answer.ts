import type {
  AnswerPart,
  ChatAnswer,
  ChatEvent,
  Finish,
  FinishReason,
} from '../canonical/chat-answer.ts'
import { ArgumentsText } from '../canonical/arguments-text.ts'
import { dataUrl } from '../canonical/media.ts'
import type { Signature } from '../canonical/chat-request.ts'
import { wrapSignature } from '../canonical/signature.ts'
import type { RunSearch } from '../canonical/web-search.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { AnswerHead, StreamHead, StreamPiece, StreamWriter } from '../dialect/dialect.ts'
import { isRecord, parseJson, type JsonRecord } from '../../json/json-value.ts'
import { clientCallId } from './call-ids.ts'
import { citationMember, searchBlocks } from './search-blocks.ts'
import { writeAnthropicUsage } from './usage.ts'

/**
 * Writes a message, whole or streamed, for clients of Anthropic's dialect, which has one choice.
 */
export function writeAnthropicAnswer(answer: ChatAnswer, head: AnswerHead): JsonRecord {
  const [choice] = answer.choices
  const finish = choice?.finish ?? { reason: 'stop' as const, stopSequence: null }
  return {
    ...headOf(answer.id, head),
    content: withCitations(choice?.parts ?? []),
    ...stopOf(finish),
    usage: answer.usage === null ? NOTHING_USED : writeAnthropicUsage(answer.usage),
  }
}

const NOTHING_USED = { input_tokens: 0, output_tokens: 0 }

const headOf = (id: string, head: AnswerHead): JsonRecord => ({
  id: id.startsWith('msg_') ? id : `msg_${id === '' ? head.id : id}`,
  type: 'message',
  role: 'assistant',
  model: head.model,
})

const STOPS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  toolCalls: 'tool_use',
  filtered: 'refusal',
}

const stopOf = ({ reason, stopSequence }: Finish): JsonRecord => ({
  stop_reason: stopSequence === null ? STOPS[reason] : 'stop_sequence',
  stop_sequence: stopSequence,
})

/** Signature for the client: another provider's is wrapped; a missing one becomes ''. */
const sealText = (signature: Signature | null): string =>
  signature === null ? '' : wrapSignature(signature, 'anthropic')

/** Returns the blocks; the citations of a text are in its block. */
function withCitations(parts: readonly AnswerPart[]): JsonRecord[] {
  const blocks: JsonRecord[] = []
  /** Citations of the last block; null before its first one. */
  let citations: JsonRecord[] | null = null
  for (const part of parts) {
    const last = blocks.at(-1)
    if (part.kind !== 'citation') {
      blocks.push(...writePart(part))
      citations = null
    } else if (last?.type === 'text') {
      if (citations === null) {
        citations = []
        blocks.splice(-1, 1, { ...last, citations })
      }
      citations.push(citationMember(part.citation))
    }
  }
  return blocks
}

function writePart(part: AnswerPart): JsonRecord[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [{ type: 'text', text: part.text, citations: null }]
    case 'image':
      return [{ type: 'text', text: `![image](${dataUrl(part)})`, citations: null }]
    case 'thinking':
      return part.redacted === null
        ? [{ type: 'thinking', thinking: part.text, signature: sealText(part.signature) }]
        : [{ type: 'redacted_thinking', data: part.redacted }]
    case 'toolCall': {
      const input = parseJson(part.argumentsJson)
      const { name, signature } = part
      const id = clientCallId(part.id)
      const call = { type: 'tool_use', id, name, input: isRecord(input) ? input : {} }
      // The dialect signs thoughts, not calls: an empty thought before the call has its signature.
      return signature === null
        ? [call]
        : [{ type: 'thinking', thinking: '', signature: sealText(signature) }, call]
    }
    case 'search':
      return searchBlocks(part.search)
    case 'citation':
      return []
    default:
      return part satisfies never
  }
}

/** Events that begin or continue a block other than a call. */
const BLOCKS: ReadonlySet<ChatEvent['kind']> = new Set([
  'text',
  'refusal',
  'image',
  'thinking',
  'signature',
  'redacted',
  'search',
  'citation',
])

type BlockKind = 'text' | 'thinking' | 'call'

interface WaitingCall {
  id: string
  name: string
  /** Arguments received so far. */
  args: ArgumentsText
}

/**
 * Writes blocks one after the other, never side by side. A call whose pieces arrive while another
 * call is open waits until that one is closed: when the next block begins, or the answer ends. Text
 * between the pieces of a call's arguments waits until the arguments are complete.
 */
export class AnthropicStreamWriter implements StreamWriter {
  private readonly head: StreamHead
  private index = -1
  private open: BlockKind | null = null
  private openCall = -1
  /** Arguments of the open call received so far. */
  private openArguments = new ArgumentsText()
  /** Calls that began while another was open. */
  private readonly waiting = new Map<number, WaitingCall>()
  /** Number of waiting calls with incomplete arguments. */
  private halfWaiting = 0
  /** Events that came between the pieces of calls. */
  private readonly said: ChatEvent[] = []
  private finish: Finish = { reason: 'stop', stopSequence: null }

  constructor(head: StreamHead) {
    this.head = head
  }

  write(event: ChatEvent): StreamPiece[] {
    // The dialect has only one choice.
    if ('choice' in event && event.choice > 0) return []
    if (BLOCKS.has(event.kind) && this.hasHalfCall()) {
      this.said.push(event)
      return []
    }
    switch (event.kind) {
      case 'start':
        return [this.start(event.id)]
      case 'text':
      case 'refusal':
        return [...this.block('text'), this.delta({ type: 'text_delta', text: event.text })]
      case 'image': {
        const text = `![image](${dataUrl(event)})`
        return [...this.block('text'), this.delta({ type: 'text_delta', text })]
      }
      case 'thinking': {
        const delta = { type: 'thinking_delta', thinking: event.text }
        return [...this.block('thinking'), this.delta(delta)]
      }
      case 'signature':
        return this.seal(event.signature)
      case 'redacted':
        return this.whole({ type: 'redacted_thinking', data: event.redacted })
      case 'search':
        return this.search(event.search)
      case 'citation': {
        const citation = citationMember(event.citation)
        // A closed text can get no more citations.
        return this.open === 'text' ? [this.delta({ type: 'citations_delta', citation })] : []
      }
      case 'toolCall':
        return this.beginCall(event)
      case 'toolArguments':
        return this.callText(event.call, event.text)
      case 'finish':
        this.finish = event.finish
        return []
      case 'hostedTool':
        return []
      case 'ping':
        return [named('ping', {})]
      default:
        return event satisfies never
    }
  }

  end(usage: TokenUsage): StreamPiece[] {
    return [
      ...this.close(),
      named('message_delta', { delta: stopOf(this.finish), usage: writeAnthropicUsage(usage) }),
      named('message_stop', {}),
    ]
  }

  private start(id: string): StreamPiece {
    const message = {
      ...headOf(id, this.head),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...NOTHING_USED, input_tokens: this.head.promptTokens ?? 0 },
    }
    return named('message_start', { message })
  }

  private delta(delta: JsonRecord): StreamPiece {
    return named('content_block_delta', { index: this.index, delta })
  }

  /** Opens a block of this kind, unless it is open. */
  private block(kind: 'text' | 'thinking'): StreamPiece[] {
    if (this.open === kind) return []
    const empty = kind === 'text' ? { text: '', citations: null } : { thinking: '', signature: '' }
    return [...this.close(), ...this.openBlock(kind, { type: kind, ...empty })]
  }

  private openBlock(kind: BlockKind, content: JsonRecord): StreamPiece[] {
    this.index += 1
    this.open = kind
    return [named('content_block_start', { index: this.index, content_block: content })]
  }

  /** Closes the open block, and writes the calls that waited for that. */
  private close(): StreamPiece[] {
    const pieces = this.closeOpen()
    for (const [, { id, name, args }] of [...this.waiting].toSorted(([a], [b]) => a - b)) {
      const { text } = args
      pieces.push(...this.openBlock('call', { type: 'tool_use', id, name, input: {} }))
      if (text !== '') pieces.push(this.delta({ type: 'input_json_delta', partial_json: text }))
      pieces.push(...this.closeOpen())
    }
    this.waiting.clear()
    this.halfWaiting = 0
    for (const event of this.said.splice(0)) pieces.push(...this.write(event))
    return [...pieces, ...this.closeOpen()]
  }

  /** Whether any call has incomplete arguments. */
  private hasHalfCall(): boolean {
    return this.open === 'call' && (this.halfWaiting > 0 || !this.openArguments.isWhole)
  }

  /**
   * A thought ends with its signature, even an empty one: clients do not send back a thought
   * without it, and some models require theirs back.
   */
  private closeOpen(signature: Signature | null = null): StreamPiece[] {
    const { open } = this
    if (open === null) return []
    this.open = null
    this.openCall = -1
    const seal = { type: 'signature_delta', signature: sealText(signature) }
    return [
      ...(open === 'thinking' ? [this.delta(seal)] : []),
      named('content_block_stop', { index: this.index }),
    ]
  }

  private seal(signature: Signature): StreamPiece[] {
    return [...this.block('thinking'), ...this.closeOpen(signature)]
  }

  private whole(content: JsonRecord): StreamPiece[] {
    return [...this.close(), ...this.openBlock('text', content), ...this.closeOpen()]
  }

  private search(search: RunSearch): StreamPiece[] {
    const [call, result] = searchBlocks(search)
    const partial_json = JSON.stringify(call.input)
    return [
      ...this.close(),
      ...this.openBlock('text', { ...call, input: {} }),
      this.delta({ type: 'input_json_delta', partial_json }),
      ...this.closeOpen(),
      ...this.whole(result),
    ]
  }

  private beginCall(event: ChatEvent & { kind: 'toolCall' }): StreamPiece[] {
    const { call, name, signature } = event
    const id = clientCallId(event.id)
    if (this.hasHalfCall()) {
      // A call that begins twice starts its arguments anew.
      if (this.waiting.get(call)?.args.isWhole !== false) this.halfWaiting += 1
      this.waiting.set(call, { id, name, args: new ArgumentsText() })
      return []
    }
    const sealed = signature === null ? [] : this.seal(signature)
    const pieces = [...sealed, ...this.close()]
    this.openCall = call
    this.openArguments = new ArgumentsText()
    return [...pieces, ...this.openBlock('call', { type: 'tool_use', id, name, input: {} })]
  }

  private callText(call: number, text: string): StreamPiece[] {
    if (this.open === 'call' && this.openCall === call) {
      this.openArguments.add(text)
      return [this.delta({ type: 'input_json_delta', partial_json: text })]
    }
    const args = this.waiting.get(call)?.args
    if (args === undefined) return []
    const wasWhole = args.isWhole
    args.add(text)
    this.halfWaiting += Number(wasWhole) - Number(args.isWhole)
    return []
  }
}

const named = (name: string, members: JsonRecord): StreamPiece => ({
  name,
  data: JSON.stringify({ type: name, ...members }),
})
