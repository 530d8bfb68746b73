import {
  finishNamed,
  textEvent,
  type ChatEvent,
  type FinishReason,
} from '../canonical/chat-answer.ts'
import type { Signature } from '../canonical/chat-request.ts'
import { unwrapSignature } from '../canonical/signature.ts'
import type { EventReport, StreamReader, StreamState } from '../dialect/dialect.ts'
import {
  appendAll,
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  textOr,
  type JsonRecord,
} from '../../json/json-value.ts'
import { NO_USAGE, USAGE_TOKENS_MAX, type UsageReading } from '../canonical/token-usage.ts'
import { CallAssembly, type AssembledCall } from '../canonical/tool-calls.ts'
import { errorOf } from './answer-error.ts'
import { callSeals, detailedThoughts, imagesIn } from './answer-parts.ts'
import { citationsIn } from './citations.ts'
import { isOfMinimax } from './thinking/reasoning.ts'
import { readUsage, usageOfChunk } from './usage.ts'

/** Returns a whole completion as events. Members of the wrong type are ignored. */
export function eventsOfCompletion(bytes: Buffer): ChatEvent[] {
  const reader = new OpenaiStreamReader()
  const { events, id = '' } = reader.read(recordOr(parseJson(bytes.toString('utf8'))))
  return [{ kind: 'start', id }, ...events, ...reader.end()]
}

/** Tool calls, including the single call of the older spelling. */
function callsOf({ tool_calls: calls, function_call: called }: JsonRecord): JsonRecord[] {
  const sent = arrayOr(calls).filter(isRecord)
  return sent.length === 0 && isFunctionCall(called) ? [{ function: called }] : sent
}

/**
 * Whether a `function_call` has any content. Servers that marshal Go structs send one with an empty
 * name and empty arguments in every answer (Snowflake Cortex).
 */
export const isFunctionCall = (called: unknown): called is JsonRecord =>
  isRecord(called) && (textOr(called.name) !== '' || textOr(called.arguments) !== '')

/**
 * Whether a call is one of a custom tool, whose input is plain text; servers that marshal Go
 * structs send an empty one with every function (Snowflake Cortex). Converted requests declare no
 * such tool.
 */
export const isCustomCall = ({ custom }: JsonRecord): boolean =>
  isRecord(custom) && (textOr(custom.name) !== '' || textOr(custom.input) !== '')

function customText({ custom }: JsonRecord, choice: number): ChatEvent[] {
  const { name, input } = recordOr(custom)
  return [...textEvent('hostedTool', name, choice), ...textEvent('hostedTool', input, choice)]
}

/** `dialect/answer-changes.ts` makes calls and finish reason consistent for all dialects. */
const FINISHES: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  // Mistral's finish reason.
  model_length: 'length',
  tool_calls: 'toolCalls',
  function_call: 'toolCalls',
  content_filter: 'filtered',
  // Zhipu's finish reason.
  sensitive: 'filtered',
  model_context_window_exceeded: 'length',
}

/** The reasoning of a message or delta, by either name. */
const thoughtText = (message: JsonRecord): string =>
  textOr(message.reasoning_content) || textOr(message.reasoning)

/** Reasoning in Mistral's content parts: `thinking` contains parts again. */
function nestedThought(content: unknown): string {
  if (!Array.isArray(content)) return ''
  return arrayOr(content)
    .flatMap((part) => arrayOr(recordOr(part).thinking))
    .map((part) => textOr(recordOr(part).text))
    .join('')
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return arrayOr(content)
    .map((part) => textOr(recordOr(part).text))
    .join('')
}

function sealOf(call: JsonRecord) {
  const seal = recordOr(recordOr(call.extra_content).google).thought_signature
  return typeof seal === 'string' ? unwrapSignature(seal, 'gemini') : null
}

function readCall(call: JsonRecord, seals: ReadonlyMap<string, Signature>) {
  const called = recordOr(call.function)
  const id = textOr(call.id)
  return {
    id,
    name: textOr(called.name),
    args: called.arguments,
    signature: sealOf(call) ?? seals.get(id) ?? null,
  }
}

/** Adds texts, images and citations. */
function readSaid(delta: JsonRecord, choice: number, events: ChatEvent[]): void {
  const text = contentText(delta.content)
  if (text !== '') events.push({ kind: 'text', choice, text })
  const refusal = textOr(delta.refusal)
  if (refusal !== '') events.push({ kind: 'refusal', choice, text: refusal })
  if (delta.images !== undefined) appendAll(events, imagesIn(delta, choice))
  if (delta.annotations === undefined) return
  for (const citation of citationsIn(arrayOr(delta.annotations))) {
    events.push({ kind: 'citation', choice, citation })
  }
}

/** Maximum index; no upstream offers more choices. */
const INDEX_MAX = 1024

export const indexOr = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < INDEX_MAX
    ? value
    : otherwise

/**
 * Reads a stream chunk by chunk; a whole answer is a chunk with messages instead of deltas.
 *
 * Nearly every chunk has only a piece of text, so rare members are read only if they are present.
 */
export class OpenaiStreamReader implements StreamReader {
  private usage: UsageReading = NO_USAGE
  private readonly choices = new Set<number>()
  private readonly finished = new Set<number>()
  private hasDeltas = false
  private readonly calls = new CallAssembly()
  /** Last call of each index of a choice; some providers give every call the same index. */
  private readonly latest = new Map<string, AssembledCall>()
  /** Signatures of calls that have not begun. */
  private readonly seals = new Map<string, Signature>()
  /** MiniMax's reasoning so far, by choice. */
  private readonly thoughts = new Map<number, string>()

  read(chunk: JsonRecord): EventReport & { events: ChatEvent[] } {
    const events: ChatEvent[] = []
    const choices = arrayOr(chunk.choices)
    for (let place = 0; place < choices.length; place += 1) {
      const choice = choices[place]
      if (isRecord(choice)) this.readChoice(choice, indexOr(choice.index, place), events)
    }
    const report: EventReport & { events: ChatEvent[] } = { events }
    if (choices.length > 0) report.id = textOr(chunk.id)
    const error = errorOf(chunk)
    if (error !== undefined) report.error = error
    const usage = usageOfChunk(chunk)
    if (usage === undefined) return report
    if (choices.length === 0 && isRecord(usage)) report.kind = 'usage'
    report.usage = this.takeUsage(usage)
    return report
  }

  end(): ChatEvent[] {
    return this.calls.endAll()
  }

  /**
   * Whether the stream is complete: every choice has its finish reason, followed by the stream's
   * orderly end, `[DONE]`, or final usage. `[DONE]` alone proves little, since gateways append it
   * to streams that broke off upstream; with usage, which upstreams compute last, it replaces a
   * missing finish reason.
   */
  isComplete({ isDone, hasUsage, ending }: StreamState): boolean {
    const isFinished = this.finished.size > 0 && this.finished.size === this.choices.size
    return isFinished ? isDone || hasUsage || ending === 'end' : isDone && hasUsage
  }

  /** Servers that send usage with every chunk send zeros until they know it. */
  private takeUsage(sent: unknown): UsageReading {
    const reading = readUsage(sent, USAGE_TOKENS_MAX)
    const isBlank = reading.fault === 'absent' || reading.fault === 'empty'
    if (!isBlank || this.usage.fault === 'absent') this.usage = reading
    return this.usage
  }

  private readChoice(choice: JsonRecord, index: number, events: ChatEvent[]): void {
    this.choices.add(index)
    const delta = this.deltaOf(choice)
    const at = events.length
    this.readThoughts(delta, index, events)
    readSaid(delta, index, events)
    if (events.length > at) events.splice(at, 0, ...this.calls.open(index))
    if (delta.reasoning_details !== undefined) appendAll(events, this.readSeals(delta, index))
    if (delta.tool_calls !== undefined || delta.function_call !== undefined) {
      for (const [place, call] of callsOf(delta).entries()) {
        const placed = { choice: index, index: indexOr(call.index, place) }
        events.push(...(isCustomCall(call) ? customText(call, index) : this.readCall(call, placed)))
      }
    }
    const word = choice.finish_reason
    // Some servers send '' instead of null with every chunk.
    if (typeof word !== 'string' || word === '') return
    this.finished.add(index)
    const finish = finishNamed(FINISHES, word)
    events.push(...this.calls.open(index), { kind: 'finish', choice: index, finish })
  }

  /** Some servers stream messages instead of deltas. Others repeat the whole message at the end. */
  private deltaOf({ delta, message, text }: JsonRecord): JsonRecord {
    if (isRecord(delta)) this.hasDeltas = true
    if (this.hasDeltas) return recordOr(delta)
    return isRecord(message) ? message : { content: text }
  }

  /** Reads pieces of a thought, and the signature after the last one. */
  private readThoughts(delta: JsonRecord, choice: number, events: ChatEvent[]): void {
    const told = thoughtText(delta) || nestedThought(delta.content)
    if (delta.reasoning_details === undefined) {
      if (told !== '') events.push({ kind: 'thinking', choice, text: told })
      return
    }
    const isMinimax = isOfMinimax(delta)
    const detailed = detailedThoughts(delta)
    const inDetails = detailed.map((thought) => thought.text).join('')
    const isInDetails = inDetails !== '' && !isMinimax
    const sent = isInDetails ? '' : told || inDetails
    const text = isMinimax ? this.newThought(sent, choice) : sent
    if (text !== '') events.push({ kind: 'thinking', choice, text })
    for (const thought of detailed) {
      const { signature, redacted } = thought
      if (isInDetails) events.push(...textEvent('thinking', thought.text, choice))
      if (signature !== null) events.push({ kind: 'signature', choice, signature })
      if (redacted !== null) events.push({ kind: 'redacted', choice, redacted })
    }
  }

  /**
   * Keeps the signatures of calls until the calls begin. A signature that arrives later becomes an
   * event of its own.
   */
  private readSeals(delta: JsonRecord, choice: number): ChatEvent[] {
    return [...callSeals(delta)].flatMap(([id, signature]): ChatEvent[] => {
      const call = this.calls.find(choice, id)
      if (call === undefined) this.seals.set(id, signature)
      else if (call.call === null) call.signature ??= signature
      else return [{ kind: 'signature', choice, signature }]
      return []
    })
  }

  /**
   * Returns the new part of a thought: some of MiniMax's endpoints send only the new part, others
   * repeat the whole thought with the new part at its end (MiniMax-AI/MiniMax-M2#95,
   * t8y2/dbx#5921).
   */
  private newThought(sent: string, choice: number): string {
    const before = this.thoughts.get(choice) ?? ''
    const repeats = before !== '' && sent.startsWith(before)
    this.thoughts.set(choice, repeats ? sent : before + sent)
    return repeats ? sent.slice(before.length) : sent
  }

  private readCall(sent: JsonRecord, at: { choice: number; index: number }): ChatEvent[] {
    const { choice, index } = at
    const { args: given, ...piece } = readCall(sent, this.seals)
    // Some servers send an object instead of its text.
    const args = isRecord(given) ? JSON.stringify(given) : textOr(given)
    const place = `${choice}/${index}`
    const begun = this.latest.get(place)
    if (begun !== undefined && !beginsAnother(begun, piece, args)) {
      return this.calls.add(begun, { ...piece, args })
    }
    const opened = this.calls.open(choice)
    const call = this.calls.begin(choice)
    this.latest.set(place, call)
    return [...opened, ...this.calls.add(call, { ...piece, args })]
  }
}

/**
 * Whether a piece begins a new call, since some providers give every call the same index. A new
 * call has a name, and another id than the last; without ids, the last call's arguments are
 * complete.
 */
function beginsAnother(
  begun: AssembledCall,
  { id, name }: { id: string; name: string },
  args: string,
): boolean {
  if (name === '' || begun.name === '') return false
  if (id !== '' && begun.id !== '') return id !== begun.id
  return (args !== '' || name !== begun.name) && isRecord(parseJson(begun.args))
}
