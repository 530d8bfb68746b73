import {
  textEvent,
  type ChatEvent,
  type Finish,
  type FinishReason,
} from '../canonical/chat-answer.ts'
import { objectText } from '../canonical/arguments-text.ts'
import { CallAssembly, type AssembledCall } from '../canonical/tool-calls.ts'
import { countedUsage, USAGE_TOKENS_MAX, type UsageReading } from '../canonical/token-usage.ts'
import type { AnswerReading, EventReport, StreamReader, AnswerReader } from '../dialect/dialect.ts'
import {
  appendAll,
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  textOr,
  type JsonRecord,
} from '../../json/json-value.ts'
import { blockAsEvents } from './message-events.ts'
import { citationsOf, SearchBlocks } from './search-blocks.ts'
import { joinedUsage, readAnthropicUsage, wroteNothing } from './usage.ts'
import { anthropicStatus } from '../dialect/error-words.ts'

/**
 * Reads a message, whole or streamed, into events. Source: Anthropic's API reference, "Messages"
 * and "Streaming messages". Of Anthropic's hosted tools, a converted request can have only web
 * search.
 */

/**
 * Whether the vendor does not charge for a message. For a stream, `message` has the members of the
 * message's end and, unless blocks came one by one, its `content`.
 */
type IsUnbilled = (message: JsonRecord) => boolean

const alwaysBilled: IsUnbilled = () => false

const UNBILLED: UsageReading = { usage: countedUsage(0, 0), fault: null, notes: ['unbilled'] }

export function readAnthropicAnswer(bytes: Buffer, isUnbilled = alwaysBilled): AnswerReading {
  const message = parseJson(bytes.toString('utf8'))
  if (!isRecord(message)) return { kind: 'malformed' }
  const { error } = message
  if (message.type === 'error' || (error !== undefined && error !== null)) {
    return { kind: 'error', error }
  }
  if (!Array.isArray(message.content)) return { kind: 'malformed' }
  const usage = isUnbilled(message) ? UNBILLED : readAnthropicUsage(message.usage, USAGE_TOKENS_MAX)
  return { kind: 'ok', usage, events: () => eventsOfMessage(message) }
}

function eventsOfMessage(message: JsonRecord): ChatEvent[] {
  const reader = new AnthropicStreamReader()
  const events = [{ type: 'message_start', message }, { type: 'message_stop' }].flatMap(
    (event) => reader.read(event).events ?? [],
  )
  return [{ kind: 'start', id: textOr(message.id) }, ...events, ...reader.end()]
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

/**
 * Reads a stream event by event. Several blocks may be open at the same time: each delta has the
 * index of its block.
 *
 * The figures of `message_delta` are cumulative: they replace those of `message_start`.
 */
export class AnthropicStreamReader implements StreamReader {
  private readonly isUnbilled: IsUnbilled
  private hasBlocks = false
  /**
   * The message of `message_start`, if it has a stop reason and no `message_delta` has come: only
   * `message_stop` proves it complete.
   */
  private opening: JsonRecord | null = null
  private figures: JsonRecord = {}
  private hasFigures = false
  /** Searches with results: a stream that breaks off never reports their number. */
  private foundCount = 0
  /** The answer's end has reported the completion tokens; `message_start` counts only the first. */
  private isTold = false

  private readonly calls = new CallAssembly()
  private readonly searches = new SearchBlocks()
  /** The open search block, and the part of its input that has arrived. */
  private searching: { block: JsonRecord; input: string } | null = null
  /** Citations of the open text, which follow it. */
  private readonly cited: unknown[] = []
  /** Start of the open text within the whole text, and the length of the whole text so far. */
  private textStart = 0
  private said = 0
  private readonly blocks = new Map<unknown, OpenBlock>()

  constructor(isUnbilled = alwaysBilled) {
    this.isUnbilled = isUnbilled
  }

  read(event: JsonRecord): EventReport {
    if (event.type === 'error' || isRecord(event.error)) return { error: event.error ?? event }
    switch (event.type) {
      case 'content_block_delta':
        return { events: this.readDelta(event.index, recordOr(event.delta)) }
      case 'message_start':
        return this.open(recordOr(event.message))
      case 'content_block_start':
        return this.startBlock(event.index, recordOr(event.content_block))
      case 'content_block_stop':
        return { events: this.stopBlock(event.index) }
      case 'message_delta':
        this.opening = null
        return this.close({ ...recordOr(event.delta), usage: event.usage })
      case 'message_stop': {
        const ended = this.opening === null ? {} : this.close(this.opening)
        return { ...ended, kind: 'last', isEnd: true }
      }
      case 'ping':
        return { kind: 'idle' }
      default:
        return {}
    }
  }

  end(): ChatEvent[] {
    return this.calls.endAll()
  }

  /**
   * The message may already have content, as Anthropic sends it for programmatic tool calling
   * (vercel/ai, `anthropic-programmatic-tool-calling.1.chunks.txt`).
   */
  private open(message: JsonRecord): EventReport {
    this.opening = typeof message.stop_reason === 'string' ? message : null
    const blocks = arrayOr(message.content).flatMap((block, index) =>
      blockAsEvents(recordOr(block), index),
    )
    const usage = this.take(withoutTools(message.usage))
    const reports = blocks.map((event) => this.read(event))
    return {
      id: textOr(message.id),
      events: reports.flatMap(({ events = [] }) => events),
      ...(usage === undefined ? {} : { usage: this.measured() }),
      ...this.found(),
    }
  }

  /** Reads the end of a message: `message_delta`, or a message that came whole. */
  private close(end: JsonRecord): EventReport {
    this.isTold ||= Boolean(recordOr(end.usage).output_tokens)
    const told = this.take(end.usage)
    const content = this.hasBlocks ? end.content : []
    const usage = this.isUnbilled({ ...end, content }) ? UNBILLED : told
    const measured = usage === undefined ? {} : { usage }
    if (typeof end.stop_reason !== 'string') return measured
    const finish = { kind: 'finish' as const, choice: 0, finish: finishOf(end) }
    return { ...measured, events: [...this.calls.open(0), finish] }
  }

  private take(usage: unknown): UsageReading | undefined {
    if (!isRecord(usage)) return undefined
    this.figures = joinedUsage(this.figures, usage)
    this.hasFigures = true
    return this.measured()
  }

  private measured(): UsageReading {
    const { figures, foundCount } = this
    const server_tool_use = figures.server_tool_use ?? { web_search_requests: foundCount }
    const reading = readAnthropicUsage({ ...figures, server_tool_use }, USAGE_TOKENS_MAX)
    return this.isTold ? reading : { ...reading, notes: [...reading.notes, 'completion-begun'] }
  }

  private found(): EventReport {
    return this.foundCount === 0 ? {} : { extras: { tools: { web_search: this.foundCount } } }
  }

  private startBlock(index: unknown, block: JsonRecord): EventReport {
    this.hasBlocks = true
    const events = this.beginBlock(index, block)
    if (!isSearch(block)) return { events }
    this.foundCount += 1
    return { events, ...this.found(), ...(this.hasFigures ? { usage: this.measured() } : {}) }
  }

  private beginBlock(index: unknown, block: JsonRecord): ChatEvent[] {
    const opened = this.calls.open(0)
    if (block.type === 'tool_use') {
      const call = this.calls.begin(0)
      this.blocks.set(index, { call, input: block.input })
      const { id, name } = block
      return [...opened, ...this.calls.add(call, { id: textOr(id), name: textOr(name) })]
    }
    this.blocks.delete(index)
    this.searching = block.type === 'server_tool_use' ? { block, input: '' } : null
    if (this.searching !== null) return [...opened, ...textEvent('hostedTool', calledIn(block))]
    if (block.type === 'web_search_tool_result') {
      const found = this.searches.end(block)
      return [...opened, ...found.map((search) => ({ kind: 'search' as const, choice: 0, search }))]
    }
    if (block.type === 'text') this.textStart = this.said
    if (block.type === 'redacted_thinking') {
      return [...opened, { kind: 'redacted', choice: 0, redacted: textOr(block.data) }]
    }
    // The initial text is usually empty; some servers send the first piece in it.
    const kind = block.type === 'thinking' ? 'thinking' : 'text'
    if (kind === 'text') this.takeText(block.text, arrayOr(block.citations))
    return [...opened, ...textEvent(kind, block[kind]), ...textEvent('hostedTool', calledIn(block))]
  }

  private readDelta(index: unknown, delta: JsonRecord): ChatEvent[] {
    switch (delta.type) {
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
        const args = textOr(delta.partial_json)
        const block = this.searching === null ? this.blockAt(index) : undefined
        if (block !== undefined) return this.calls.add(block.call, { args })
        if (this.searching !== null) this.searching.input += args
        return textEvent('hostedTool', args)
      }
      default:
        // Handles `text_delta`, whose type some servers omit.
        this.takeText(delta.text, [])
        return textEvent('text', delta.text)
    }
  }

  private takeText(text: unknown, citations: readonly unknown[]): void {
    this.said += textOr(text).length
    appendAll(this.cited, citations)
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

  /** Ends a block. A call without input deltas uses the input of its start. */
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

/** At its beginning a message reports that no tool has run, which is only known at its end. */
const withoutTools = (usage: unknown): unknown =>
  isRecord(usage) ? { ...usage, server_tool_use: null } : usage

/**
 * Whether a block has search results; a failed search is not charged. Source: "Web search tool:
 * pricing".
 */
const isSearch = ({ type, content }: JsonRecord): boolean =>
  type === 'web_search_tool_result' && Array.isArray(content)

/** Name of a tool, and its input unless that follows in deltas. */
function calledIn({ name, input }: JsonRecord): string {
  const isWhole = isRecord(input) && Object.keys(input).length > 0
  return textOr(name) + (isWhole ? JSON.stringify(input) : '')
}

/** A block of a tool call. */
interface OpenBlock {
  call: AssembledCall
  /** Input from the start of the block. */
  input: unknown
}

/**
 * Reasons of refusals that Anthropic does not charge if no text was written before; null is a
 * refusal without a category. Refusals with other reasons are charged like any answer. Sources:
 * Claude Platform release notes of June 2 and September 24, 2026; "Refusals and fallback", "How
 * refusals are billed".
 */
const UNBILLED_CATEGORIES: ReadonlySet<unknown> = new Set([null, 'cyber', 'general_harms'])

const isUnbilledRefusal = ({ content, stop_reason, stop_details }: JsonRecord): boolean =>
  stop_reason === 'refusal' &&
  Array.isArray(content) &&
  content.length === 0 &&
  UNBILLED_CATEGORIES.has(recordOr(stop_details).category ?? null)

/**
 * Calls by code that the model wrote in an earlier turn: no model runs, and the usage is zero.
 * Source: Anthropic's documentation, "Programmatic tool calling: token efficiency".
 */
const isCalledByCode = ({ content, usage }: JsonRecord): boolean => {
  const blocks = arrayOr(content).map(recordOr)
  return (
    blocks.length > 0 &&
    blocks.every(({ caller }) => textOr(recordOr(caller).type).startsWith('code_execution')) &&
    recordOr(usage).input_tokens === 0
  )
}

const isUnbilled = (message: JsonRecord): boolean =>
  (isUnbilledRefusal(message) || isCalledByCode(message)) && wroteNothing(recordOr(message.usage))

/** For Anthropic's own API; billing of other servers with this dialect is unknown. */
export const anthropicItself: AnswerReader = {
  readAnswer: (bytes) => readAnthropicAnswer(bytes, isUnbilled),
  readStream: () => new AnthropicStreamReader(isUnbilled),
  statusOf: anthropicStatus,
}
