import type { ChatEvent, Finish } from '../canonical/chat-answer.ts'
import type { Signature } from '../canonical/chat-request.ts'
import { dataUrl } from '../canonical/media.ts'
import { sealOfHidden, wrapSignature } from '../canonical/signature.ts'
import type { TokenUsage } from '../canonical/token-usage.ts'
import type { Citation, RunSearch } from '../canonical/web-search.ts'
import type { AnswerHead, StreamPiece, StreamWriter } from '../dialect/dialect.ts'
import type { JsonRecord } from '../../json/json-value.ts'
import { annotationOf } from '../openai-chat/citations.ts'
import { writeCompletionDetails, writePromptDetails } from '../openai-chat/usage.ts'
import { OpenCall } from './tools/open-call.ts'
import { actionOf } from './tools/searches.ts'
import type { ToolNames } from './tools/tool-names.ts'

/**
 * Writes a response, event by event. Its output is a list of items: messages, reasoning, calls.
 * Source: OpenAI's API reference, "Streaming events" of responses.
 */
export class ResponseWriter implements StreamWriter {
  private readonly head: AnswerHead
  private readonly asked: Asked
  private readonly output: JsonRecord[] = []
  private readonly numbers: EventNumbers
  private hasBegun = false
  /** Length of all text so far, which citations refer to by position. */
  private said = 0
  private message: OpenMessage | null = null
  private thought: OpenThought | null = null
  /** Calls whose arguments are incomplete, by number: several may be open at the same time. */
  private readonly calls = new Map<number, PlacedCall>()
  /** Open calls whose arguments are complete. */
  private readonly wholeCalls = new Set<number>()
  private finish: Finish = { reason: 'stop', stopSequence: null }

  constructor(head: AnswerHead, asked: Asked, numbers: EventNumbers) {
    this.head = head
    this.asked = asked
    this.numbers = numbers
  }

  write(event: ChatEvent): StreamPiece[] {
    // The API has only one choice.
    if ('choice' in event && event.choice > 0) return []
    if (event.kind === 'ping' || event.kind === 'hostedTool') return []
    const pieces = this.begin()
    switch (event.kind) {
      case 'start':
        break
      case 'text':
      case 'refusal':
        pieces.push(...this.say(event.kind, event.text))
        break
      case 'image':
        pieces.push(...this.say('text', `![image](${dataUrl(event)})`))
        break
      case 'search':
        pieces.push(...this.search(event.search))
        break
      case 'citation':
        pieces.push(...this.cite(event.citation))
        break
      case 'thinking':
        pieces.push(...this.think(event.text))
        break
      case 'signature':
        pieces.push(...this.seal(wrapSignature(event.signature, 'openai')))
        break
      case 'redacted':
        pieces.push(...this.closeTexts(), ...this.seal(sealOfHidden(event.redacted, 'openai')))
        break
      case 'toolCall':
        pieces.push(...this.call(event))
        break
      case 'toolArguments':
        pieces.push(...this.callText(event.call, event.text))
        break
      case 'finish':
        this.finish = event.finish
        break
      default:
        event satisfies never
    }
    return pieces
  }

  end(usage: TokenUsage): StreamPiece[] {
    const pieces = [...this.begin(), ...this.closeAll()]
    const response = this.response(usage)
    return [...pieces, this.piece(`response.${String(response.status)}`, { response })]
  }

  /** Returns the complete response. */
  response(usage: TokenUsage | null): JsonRecord {
    this.closeAll()
    const reason = REASONS[this.finish.reason]
    return {
      ...this.shape(reason === null ? 'completed' : 'incomplete'),
      incomplete_details: reason === null ? null : { reason },
      output: this.output,
      usage: usage === null ? null : usageOf(usage),
    }
  }

  private shape(status: string): JsonRecord {
    const { id, model, nowSeconds } = this.head
    return {
      id,
      object: 'response',
      created_at: nowSeconds,
      status,
      error: null,
      incomplete_details: null,
      model,
      output: [],
      usage: null,
      ...this.asked.echo,
    }
  }

  private piece(type: string, members: JsonRecord): StreamPiece {
    const data = JSON.stringify({ type, sequence_number: this.numbers.next, ...members })
    this.numbers.next += 1
    return { name: type, data }
  }

  private begin(): StreamPiece[] {
    if (this.hasBegun) return []
    this.hasBegun = true
    const response = this.shape('in_progress')
    return ['response.created', 'response.in_progress'].map((type) =>
      this.piece(type, { response }),
    )
  }

  /** Adds an item at the end of the list. */
  private open(prefix: string): Place {
    const index = this.output.push({}) - 1
    return { id: `${prefix}_${this.head.id.replace(/^resp_/, '')}_${index}`, index }
  }

  private added(index: number, item: JsonRecord): StreamPiece {
    this.output[index] = item
    return this.piece('response.output_item.added', { output_index: index, item })
  }

  private done(index: number, item: JsonRecord): StreamPiece {
    this.output[index] = item
    return this.piece('response.output_item.done', { output_index: index, item })
  }

  private say(kind: PartKind, text: string): StreamPiece[] {
    const pieces = this.closeThought()
    if (this.message === null) {
      const place = this.open('msg')
      this.message = { ...place, content: [], kind: null, text: '', annotations: [] }
      pieces.push(this.added(place.index, messageItem(this.message, 'in_progress')))
    }
    const { message } = this
    if (message.kind !== kind) {
      pieces.push(...this.closePart(message))
      message.kind = kind
      const part = partOf(kind, '')
      pieces.push(this.piece('response.content_part.added', { ...partPlace(message), part }))
    }
    message.text += text
    if (kind === 'text') this.said += text.length
    const logprobs = kind === 'text' ? { logprobs: [] } : {}
    pieces.push(
      this.piece(`response.${WORDS[kind]}.delta`, {
        ...partPlace(message),
        delta: text,
        ...logprobs,
      }),
    )
    return pieces
  }

  /** A closed text can get no more citations. */
  private cite(citation: Citation): StreamPiece[] {
    const { message } = this
    if (message?.kind !== 'text') return []
    const { length } = message.text
    const annotation = annotationOf(citation, { base: this.said - length, length })
    const annotation_index = message.annotations.push(annotation) - 1
    return [
      this.piece('response.output_text.annotation.added', {
        ...partPlace(message),
        annotation_index,
        annotation,
      }),
    ]
  }

  private search(search: RunSearch): StreamPiece[] {
    const pieces = [...this.closeTexts(), ...this.closeWholeCalls()]
    const { id, index } = this.open('ws')
    const place = { output_index: index, item_id: id }
    const item = { id, type: 'web_search_call', status: 'completed', action: actionOf(search) }
    return [
      ...pieces,
      this.added(index, { ...item, status: 'in_progress' }),
      ...['in_progress', 'searching', 'completed'].map((state) =>
        this.piece(`response.web_search_call.${state}`, place),
      ),
      this.done(index, item),
    ]
  }

  private closePart(message: OpenMessage): StreamPiece[] {
    const { kind, text } = message
    if (kind === null) return []
    const place = partPlace(message)
    const part = partOf(kind, text, message.annotations.splice(0))
    const whole = kind === 'text' ? { text, logprobs: [] } : { refusal: text }
    message.content.push(part)
    message.kind = null
    message.text = ''
    return [
      this.piece(`response.${WORDS[kind]}.done`, { ...place, ...whole }),
      this.piece('response.content_part.done', { ...place, part }),
    ]
  }

  private closeMessage(status = 'completed'): StreamPiece[] {
    const { message } = this
    if (message === null) return []
    this.message = null
    const pieces = this.closePart(message)
    return [...pieces, this.done(message.index, messageItem(message, status))]
  }

  private think(text: string): StreamPiece[] {
    const pieces = this.closeMessage()
    if (this.thought === null) {
      this.thought = { ...this.open('rs'), text: '' }
      const { index } = this.thought
      pieces.push(this.added(index, thoughtItem(this.thought, null)))
      const part = { type: 'summary_text', text: '' }
      const place = summaryPlace(this.thought)
      pieces.push(this.piece('response.reasoning_summary_part.added', { ...place, part }))
    }
    this.thought.text += text
    const place = summaryPlace(this.thought)
    pieces.push(this.piece('response.reasoning_summary_text.delta', { ...place, delta: text }))
    return pieces
  }

  private closeThought(seal: string | null = null): StreamPiece[] {
    const { thought } = this
    if (thought === null) return []
    this.thought = null
    const place = summaryPlace(thought)
    const { text } = thought
    const part = { type: 'summary_text', text }
    return [
      this.piece('response.reasoning_summary_text.done', { ...place, text }),
      this.piece('response.reasoning_summary_part.done', { ...place, part }),
      this.done(thought.index, thoughtItem(thought, seal)),
    ]
  }

  /**
   * Adds the signature to the open reasoning item, or to a new item without text if none is open.
   */
  private seal(seal: string): StreamPiece[] {
    if (this.thought !== null) return this.closeThought(seal)
    const pieces = this.closeMessage()
    const hidden: OpenThought = { ...this.open('rs'), text: '' }
    const added = this.added(hidden.index, thoughtItem(hidden, null))
    return [...pieces, added, this.done(hidden.index, thoughtItem(hidden, seal))]
  }

  private call(event: ChatEvent & { kind: 'toolCall' }): StreamPiece[] {
    const { call, id, name, signature } = event
    const pieces = [...this.closeTexts(), ...this.closeWholeCalls(), ...this.sealCall(signature)]
    const tool = this.asked.names.toolOf(name) ?? { type: 'function', name, namespace: null }
    const opened = new OpenCall(id, tool)
    const place = this.open(opened.prefix)
    this.calls.set(call, { place, opened })
    return [...pieces, this.added(place.index, opened.item(place.id, 'in_progress'))]
  }

  /**
   * The API signs reasoning, not calls: an empty reasoning item before the call has its signature.
   */
  private sealCall(signature: Signature | null): StreamPiece[] {
    return signature === null ? [] : this.seal(wrapSignature(signature, 'openai'))
  }

  private callText(number: number, text: string): StreamPiece[] {
    const call = this.calls.get(number)
    if (call === undefined || text === '') return []
    const pieces = this.callPieces(call, call.opened.add(text))
    if (call.opened.isWhole) this.wholeCalls.add(number)
    else this.wholeCalls.delete(number)
    return pieces
  }

  private callPieces({ place }: PlacedCall, told: ReturnType<OpenCall['add']>): StreamPiece[] {
    const at = { item_id: place.id, output_index: place.index }
    return told.map(({ type, members }) => this.piece(type, { ...at, ...members }))
  }

  private closeCall(number: number, call: PlacedCall, status = 'completed'): StreamPiece[] {
    this.calls.delete(number)
    this.wholeCalls.delete(number)
    const { place, opened } = call
    const pieces = this.callPieces(call, opened.end())
    return [...pieces, this.done(place.index, opened.item(place.id, status))]
  }

  private closeWholeCalls(): StreamPiece[] {
    return [...this.wholeCalls].flatMap((number) => {
      const call = this.calls.get(number)
      return call === undefined ? [] : this.closeCall(number, call)
    })
  }

  private closeTexts(): StreamPiece[] {
    return [...this.closeThought(), ...this.closeMessage()]
  }

  private closeAll(): StreamPiece[] {
    const status = REASONS[this.finish.reason] === null ? 'completed' : 'incomplete'
    return [
      ...this.closeThought(),
      ...this.closeMessage(status),
      ...[...this.calls].flatMap(([number, call]) => this.closeCall(number, call, status)),
    ]
  }
}

/** Data of the request that the answer needs. */
interface Asked {
  /** Members that a response repeats. */
  echo: JsonRecord
  /** Client's tools and their function names at the model. */
  names: ToolNames
}

/** Sequence number of a stream's events, shared with other writers. */
export interface EventNumbers {
  next: number
}

interface Place {
  id: string
  /** Index in the list of items. */
  index: number
}

type PartKind = 'text' | 'refusal'

interface OpenMessage extends Place {
  /** Complete parts. */
  content: JsonRecord[]
  /** Kind of the open part; null if none is open. */
  kind: PartKind | null
  text: string
  /** Citations of its text. */
  annotations: JsonRecord[]
}

interface OpenThought extends Place {
  text: string
}

interface PlacedCall {
  place: Place
  opened: OpenCall
}

/** Why a response is incomplete; null if it is complete. */
const REASONS = {
  stop: null,
  toolCalls: null,
  length: 'max_output_tokens',
  filtered: 'content_filter',
} as const satisfies Record<Finish['reason'], string | null>

const WORDS = { text: 'output_text', refusal: 'refusal' } as const

const partOf = (
  kind: PartKind,
  text: string,
  annotations: readonly JsonRecord[] = [],
): JsonRecord =>
  kind === 'text'
    ? { type: 'output_text', text, annotations, logprobs: [] }
    : { type: 'refusal', refusal: text }

const partPlace = ({ id, index, content }: OpenMessage): JsonRecord => ({
  item_id: id,
  output_index: index,
  content_index: content.length,
})

const summaryPlace = ({ id, index }: OpenThought): JsonRecord => ({
  item_id: id,
  output_index: index,
  summary_index: 0,
})

const messageItem = ({ id, content }: OpenMessage, status: string): JsonRecord => ({
  id,
  type: 'message',
  status,
  role: 'assistant',
  content: [...content],
})

const thoughtItem = ({ id, text }: OpenThought, seal: string | null): JsonRecord => ({
  id,
  type: 'reasoning',
  summary: text === '' ? [] : [{ type: 'summary_text', text }],
  ...(seal === null ? {} : { encrypted_content: seal }),
})

function usageOf(usage: TokenUsage): JsonRecord {
  const { promptTokens, completionTokens } = usage
  return {
    input_tokens: promptTokens,
    // This API, unlike chat, always reports both figures of the cache.
    input_tokens_details: { cache_write_tokens: 0, ...writePromptDetails(usage) },
    output_tokens: completionTokens,
    output_tokens_details: writeCompletionDetails(usage),
    total_tokens: promptTokens + completionTokens,
  }
}
