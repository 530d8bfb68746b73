import type { UsedExtras } from '../../ledger/price/price-lines.ts'
import { countedUsage, NO_USAGE, type UsageReading } from '../canonical/token-usage.ts'
import type {
  AnswerReading,
  DeltaText,
  StreamChunk,
  StreamEnding,
  StreamFollower,
  StreamOutcome,
} from '../dialect/dialect.ts'
import { outcomeOf, type StreamFlaw } from '../dialect/outcome.ts'
import { laneText, toolText } from '../dialect/lane.ts'
import { arrayOr, isRecord, parseJson, recordOr, type JsonRecord } from '../json/json-value.ts'
import type { SseEvent } from '../transport/sse.ts'
import { joinedUsage, readAnthropicUsage } from './usage.ts'

/** Answers of Anthropic's dialect as far as the relay itself looks at them. */

/**
 * Whether the vendor charges nothing for a message. Of a stream it has the members of the message's
 * end and, unless blocks came one by one, its `content`.
 */
type IsUnbilled = (message: JsonRecord) => boolean

const alwaysBilled: IsUnbilled = () => false

const UNBILLED: UsageReading = { usage: countedUsage(0, 0), fault: null, notes: ['unbilled'] }

export function lookAtMessage(
  bytes: Buffer,
  tokensMax: number,
  isUnbilled: IsUnbilled = alwaysBilled,
): AnswerReading {
  const value = parseJson(bytes.toString('utf8'))
  if (!isRecord(value)) return { kind: 'malformed' }
  if (value.type === 'error') return { kind: 'error', error: value.error }
  if (value.error !== undefined && value.error !== null)
    return { kind: 'error', error: value.error }
  if (!Array.isArray(value.content)) return { kind: 'malformed' }
  const usage = isUnbilled(value) ? UNBILLED : readAnthropicUsage(value.usage, tokensMax)
  return { kind: 'ok', usage }
}

const TEXT_MEMBERS = ['text', 'thinking', 'partial_json'] as const

/** Each block is a lane of its own. */
export function textsOfMessage(message: JsonRecord): DeltaText[] {
  return arrayOr(message.content).flatMap((sent, lane) => {
    const block = recordOr(sent)
    const input = isRecord(block.input) ? JSON.stringify(block.input) : ''
    return [
      ...laneText(lane, block.text),
      ...laneText(lane, block.thinking),
      ...toolText(lane, block.name, input),
    ]
  })
}

const LANES_MAX = 4096

function laneOf({ index }: JsonRecord): number {
  return typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < LANES_MAX
    ? index
    : 0
}

/**
 * Follows one stream. It is complete when the message has its stop reason, and then `message_stop`
 * or the stream's orderly end has come. The usage of `message_start` grows by that of
 * `message_delta`, whose figures are cumulative: they replace, they do not add. A message that
 * stands whole in `message_start` has no `message_delta`: only `message_stop` proves it complete.
 */
export class AnthropicStream implements StreamFollower {
  usage: UsageReading = NO_USAGE
  isDone = false

  private readonly tokensMax: number
  private readonly isUnbilled: IsUnbilled
  private hasBlocks = false
  /** The message of `message_start`, if it has a stop reason and no `message_delta` has come. */
  private opening: JsonRecord | null = null
  private figures: JsonRecord = {}
  /** Searches that have brought results: a stream that breaks off never tells their number. */
  private searches = 0
  private hasStopReason = false
  /** The answer's end has told what was written: its beginning knows of the first word. */
  private isTold = false
  private flaw: StreamFlaw = null

  constructor(tokensMax: number, isUnbilled: IsUnbilled = alwaysBilled) {
    this.tokensMax = tokensMax
    this.isUnbilled = isUnbilled
  }

  read({ data }: SseEvent): StreamChunk {
    const value = data === null ? undefined : parseJson(data.toString('utf8'))
    const chunk: StreamChunk = { kind: 'malformed', texts: [], error: undefined, value: null }
    if (!isRecord(value)) return chunk
    chunk.value = value
    if (value.type === 'error' || isRecord(value.error)) {
      return { ...chunk, kind: 'error', error: value.error ?? value }
    }
    if (value.type === 'ping') return { ...chunk, kind: 'idle' }
    if (value.type === 'message_stop') return { ...chunk, kind: 'last' }
    if (value.type === 'message_start') {
      return { ...chunk, kind: 'delta', texts: textsOfMessage(recordOr(value.message)) }
    }
    const source = recordOr(value.delta ?? value.content_block)
    const lane = laneOf(value)
    chunk.texts = [
      ...TEXT_MEMBERS.flatMap((name) => laneText(lane, source[name])),
      ...toolText(lane, source.name),
    ]
    return { ...chunk, kind: 'delta' }
  }

  see(chunk: StreamChunk, isTerminated = true): void {
    if (this.isOver) return
    if (chunk.kind === 'malformed') {
      if (isTerminated) this.flaw = 'malformed'
      return
    }
    if (chunk.kind === 'error') this.flaw = 'error-chunk'
    const value = chunk.value ?? {}
    switch (value.type) {
      case 'message_start':
        this.open(recordOr(value.message))
        break
      case 'content_block_start':
        this.addBlock(value.content_block)
        break
      case 'message_delta':
        this.opening = null
        this.close({ ...recordOr(value.delta), usage: value.usage })
        break
      case 'message_stop':
        if (this.opening !== null) this.close(this.opening)
        this.isDone = true
        break
      default:
    }
  }

  get isOver(): boolean {
    return this.isDone || this.flaw !== null
  }

  outcome(ending: StreamEnding): StreamOutcome {
    const { flaw, usage } = this
    const isComplete = this.hasStopReason && (this.isDone || ending === 'end')
    return outcomeOf({ flaw, isComplete, usage }, ending)
  }

  get extras(): UsedExtras {
    return this.searches === 0 ? {} : { tools: { web_search: this.searches } }
  }

  private open(message: JsonRecord): void {
    this.opening = typeof message.stop_reason === 'string' ? message : null
    this.take(withoutTools(message.usage))
    for (const block of arrayOr(message.content)) this.addBlock(block)
  }

  private addBlock(block: unknown): void {
    this.hasBlocks = true
    if (!isSearch(block)) return
    this.searches += 1
    if (this.usage.fault !== 'absent') this.measure()
  }

  /** Takes what the end of a message says: of `message_delta`, or of a message that came whole. */
  private close(end: JsonRecord): void {
    const { usage, stop_reason } = end
    this.isTold ||= Boolean(recordOr(usage).output_tokens)
    this.take(usage)
    this.hasStopReason ||= typeof stop_reason === 'string'
    const content = this.hasBlocks ? end.content : []
    if (this.isUnbilled({ ...end, content })) this.usage = UNBILLED
  }

  private take(usage: unknown): void {
    if (!isRecord(usage)) return
    this.figures = joinedUsage(this.figures, usage)
    this.measure()
  }

  private measure(): void {
    const { figures, searches } = this
    const server_tool_use = figures.server_tool_use ?? { web_search_requests: searches }
    const reading = readAnthropicUsage({ ...figures, server_tool_use }, this.tokensMax)
    this.usage = this.isTold
      ? reading
      : { ...reading, notes: [...reading.notes, 'completion-begun'] }
  }
}

/** At its beginning a message says that no tool has run, which only its end can know. */
function withoutTools(usage: unknown): unknown {
  return isRecord(usage) ? { ...usage, server_tool_use: null } : usage
}

/** The results of a search; one that failed is not charged. Source: "Web search tool: pricing". */
function isSearch(block: unknown): boolean {
  const { type, content } = recordOr(block)
  return type === 'web_search_tool_result' && Array.isArray(content)
}

/** A whole message as the events it could have come in, but for the last, which says it is whole. */
export function messageAsEvents(message: JsonRecord): JsonRecord[] {
  const { content, stop_reason, stop_sequence, ...head } = message
  const open = { ...head, content: [], stop_reason: null, stop_sequence: null }
  return [
    { type: 'message_start', message: open },
    ...arrayOr(content).flatMap((block, index) => blockAsEvents(recordOr(block), index)),
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage: message.usage },
  ]
}

/**
 * The events of a `message_start` that already holds content, as Anthropic sends it for calls of
 * programmatic tool calling (vercel/ai, `anthropic-programmatic-tool-calling.1.chunks.txt`); any
 * other event as it is. The stop reason among them gives way to that of a later `message_delta`.
 */
export function unfoldedStart(event: JsonRecord): JsonRecord[] {
  if (event.type !== 'message_start') return [event]
  const message = recordOr(event.message)
  if (typeof message.stop_reason === 'string') return messageAsEvents(message)
  return arrayOr(message.content).length === 0 ? [event] : messageAsEvents(message).slice(0, -1)
}

function blockAsEvents(block: JsonRecord, index: number): JsonRecord[] {
  const { empty, deltas } = deltasOf(block)
  return [
    { type: 'content_block_start', index, content_block: { ...block, ...empty } },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
}

/** What a block begins without, and how that follows. Blocks nobody knows come whole. */
function deltasOf(block: JsonRecord): { empty: JsonRecord; deltas: JsonRecord[] } {
  switch (block.type) {
    case 'text':
      return { empty: { text: '' }, deltas: [{ type: 'text_delta', text: block.text }] }
    case 'thinking':
      return {
        empty: { thinking: '', signature: '' },
        deltas: [
          { type: 'thinking_delta', thinking: block.thinking },
          { type: 'signature_delta', signature: block.signature },
        ],
      }
    case 'tool_use':
      return {
        empty: { input: {} },
        deltas: [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }],
      }
    default:
      return { empty: {}, deltas: [] }
  }
}
