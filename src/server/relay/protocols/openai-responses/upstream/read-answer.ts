import type { UsedExtras } from '../../../../ledger/price/price-lines.ts'
import {
  textEvent,
  type ChatEvent,
  type Finish,
  type FinishReason,
} from '../../canonical/chat-answer.ts'
import { objectText } from '../../canonical/arguments-text.ts'
import { CallAssembly, type AssembledCall } from '../../canonical/tool-calls.ts'
import type { Signature } from '../../canonical/chat-request.ts'
import { USAGE_TOKENS_MAX, type UsageReading } from '../../canonical/token-usage.ts'
import type { AnswerReading, EventReport, StreamReader } from '../../dialect/dialect.ts'
import {
  arrayOr,
  isRecord,
  parseJson,
  recordOr,
  textOr,
  type JsonRecord,
} from '../../../json/json-value.ts'
import { errorOf } from '../../openai-chat/answer-error.ts'
import { citationsIn } from '../../openai-chat/citations.ts'
import { readUsage } from '../../openai-chat/usage.ts'
import { searchesIn, searchOf } from '../tools/searches.ts'
import { withBilledSearches } from '../tools/told-usage.ts'
import { failureOf } from './failure.ts'
import { sealOf } from './seal.ts'

/**
 * Reads OpenAI's responses, whole or streamed. Source: OpenAI's API reference, "The Response
 * object" and "Streaming events". A call gets the signature of the reasoning before it: some
 * clients send back their calls without the reasoning.
 */

/** Reads a whole response. A failed one is not an answer. */
export function readResponsesAnswer(bytes: Buffer): AnswerReading {
  const response = parseJson(bytes.toString('utf8'))
  if (!isRecord(response)) return { kind: 'malformed' }
  const error = response.status === 'failed' ? recordOr(response.error) : errorOf(response)
  if (error !== undefined) return { kind: 'error', error: failureOf(error) }
  if (!Array.isArray(response.output)) return { kind: 'malformed' }
  const extras = searchExtrasOf(searchesIn(response.output), response)
  const usage = withExtras(readUsage(response.usage, USAGE_TOKENS_MAX), extras)
  return { kind: 'ok', usage, extras, events: () => eventsOfResponse(response) }
}

/** Returns a whole response as events. */
export function eventsOfResponse(response: JsonRecord): ChatEvent[] {
  const reader = new ResponsesStreamReader()
  const events = reader.eventsOf({ type: 'response.completed', response })
  return [{ kind: 'start', id: textOr(response.id) }, ...events, ...reader.end()]
}

/**
 * Billed number of searches if the response reports it, else the number of searches that it
 * contains.
 */
const searchExtrasOf = (count: number, response: JsonRecord = {}): UsedExtras => {
  const counts = count === 0 ? {} : { web_search: count }
  const tools = withBilledSearches(counts, response, 'web_search')
  return Object.keys(tools).length === 0 ? {} : { tools }
}

function withExtras(reading: UsageReading, extras: UsedExtras): UsageReading {
  const { usage } = reading
  if (usage === null || extras.tools === undefined) return reading
  return { ...reading, usage: { ...usage, extras: { ...usage.extras, ...extras } } }
}

const CUTS: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: 'length',
  content_filter: 'filtered',
}

function finishOf(response: JsonRecord): Finish {
  const cut = CUTS[textOr(recordOr(response.incomplete_details).reason)] ?? 'length'
  return { reason: response.status === 'incomplete' ? cut : 'stop', stopSequence: null }
}

const isCall = (item: JsonRecord | undefined): boolean => item?.type === 'function_call'

const nameOf = ({ call_id: id, name }: JsonRecord): { id: string; name: string } => ({
  id: textOr(id),
  name: textOr(name),
})

/** Separator between the parts of a summary. */
const BREAK = '\n\n'

/** The reasoning itself, if a server shows it, else its summary. */
const thoughtText = ({ content, summary }: JsonRecord): string =>
  [summary, content]
    .map((parts) =>
      arrayOr(parts)
        .map((part) => textOr(recordOr(part).text))
        .join(BREAK),
    )
    .find((text) => text !== '') ?? ''

const isLater = (index: unknown): boolean => typeof index === 'number' && index > 0

/** Events before the answer begins, which only confirm the request. */
const BEGINNINGS: ReadonlySet<unknown> = new Set([
  'response.queued',
  'response.created',
  'response.in_progress',
  'keepalive',
])

/**
 * Reads a stream event by event. Items are identified by their index in the output. Some servers
 * leave out the pieces of an item, its beginning or everything but the last event: content that
 * first appears in an item's end, or in that event, is reported then.
 */
export class ResponsesStreamReader implements StreamReader {
  private readonly assembly = new CallAssembly()
  private readonly calls = new Map<unknown, AssembledCall>()
  /** Indexes of items whose text or reasoning has been reported. */
  private readonly told = new Set<unknown>()
  /** Signature of complete reasoning, until its following item is known. */
  private seal: Signature | null = null
  /** Length of the text so far, and start of its open part. */
  private said = 0
  private partStart = 0
  /** Number of web searches so far. */
  private searches = 0

  read(event: JsonRecord): EventReport {
    const { type } = event
    if (BEGINNINGS.has(type)) return { kind: 'idle' }
    if (type === 'error' || (type === undefined && isRecord(event.error))) {
      return { error: failureOf(isRecord(event.error) ? event.error : event) }
    }
    const response = recordOr(event.response)
    if (type === 'response.failed') {
      return { error: failureOf(response.error), ...this.used(response) }
    }
    const events = this.eventsOf(event)
    if (type === 'response.output_item.done') {
      this.searches += searchesIn([event.item])
      return { id: '', events, extras: searchExtrasOf(this.searches) }
    }
    if (type !== 'response.completed' && type !== 'response.incomplete') return { id: '', events }
    return { id: '', events, ...this.used(response), kind: 'last', isEnd: true }
  }

  private used(response: JsonRecord): EventReport {
    const count = Math.max(this.searches, searchesIn(arrayOr(response.output)))
    const usage = readUsage(response.usage, USAGE_TOKENS_MAX)
    const extras = searchExtrasOf(count, response)
    return { usage: withExtras(usage, extras), extras: searchExtrasOf(count) }
  }

  end(): ChatEvent[] {
    return this.assembly.endAll()
  }

  /** Returns the part of the answer that an event contains. */
  eventsOf(event: JsonRecord): ChatEvent[] {
    const { output_index: place, delta } = event
    switch (event.type) {
      case 'response.output_item.added':
        return this.begin(place, recordOr(event.item))
      case 'response.content_part.added':
        this.partStart = this.said
        return []
      case 'response.output_text.annotation.added':
        return citationEvents([event.annotation], this.partStart)
      case 'response.output_text.delta':
        return this.say(place, textEvent('text', delta))
      case 'response.refusal.delta':
        return this.say(place, textEvent('refusal', delta))
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return this.say(place, textEvent('thinking', delta))
      case 'response.reasoning_summary_part.added':
        return isLater(event.summary_index) ? textEvent('thinking', BREAK) : []
      case 'response.function_call_arguments.delta':
        return this.giveArguments(place, textOr(delta))
      case 'response.custom_tool_call_input.delta':
      case 'response.code_interpreter_call_code.delta':
        this.told.add(place)
        return textEvent('hostedTool', textOr(delta))
      case 'response.function_call_arguments.done':
        return this.giveMissing(place, event.arguments)
      case 'response.output_item.done':
        return this.close(place, recordOr(event.item))
      case 'response.completed':
      case 'response.incomplete':
        return this.finish(recordOr(event.response))
      default:
        return []
    }
  }

  private say(place: unknown, events: ChatEvent[]): ChatEvent[] {
    if (events.length > 0) this.told.add(place)
    for (const event of events) if (event.kind === 'text') this.said += event.text.length
    return [...this.assembly.open(0), ...events]
  }

  private begin(place: unknown, item: JsonRecord): ChatEvent[] {
    const opened = this.assembly.open(0)
    this.partStart = this.said
    if (!isCall(item)) {
      const name = textOr(item.name)
      if (name !== '') this.told.add(place)
      return [...opened, ...this.sealThought(), ...textEvent('hostedTool', name)]
    }
    const call = this.assembly.begin(0)
    this.calls.set(place, call)
    const signature = this.seal
    this.seal = null
    return [...opened, ...this.assembly.add(call, { ...nameOf(item), signature })]
  }

  private sealThought(): ChatEvent[] {
    const { seal } = this
    this.seal = null
    return seal === null ? [] : [{ kind: 'signature', choice: 0, signature: seal }]
  }

  private giveArguments(place: unknown, args: string): ChatEvent[] {
    const call = this.calls.get(place)
    return call === undefined ? [] : this.assembly.add(call, { args })
  }

  /** Reports arguments that did not come in pieces. */
  private giveMissing(place: unknown, given: unknown): ChatEvent[] {
    const isMissing = this.calls.get(place)?.args === ''
    return isMissing ? this.giveArguments(place, isGiven(given) ? objectText(given) : '') : []
  }

  private close(place: unknown, item: JsonRecord): ChatEvent[] {
    if (isCall(item)) {
      const begun = this.calls.has(place) ? [] : this.begin(place, item)
      const call = this.calls.get(place)
      const named = call === undefined ? [] : this.assembly.add(call, nameOf(item))
      const given = this.giveMissing(place, item.arguments)
      return [...begun, ...named, ...given, ...(call === undefined ? [] : this.assembly.end(call))]
    }
    const sealed = item.type === 'reasoning' ? this.sealThought() : []
    const missing = this.told.has(place) ? [] : this.sayWhole(place, item)
    if (item.type === 'reasoning') this.seal = sealOf(item)
    return [...sealed, ...missing]
  }

  /**
   * Reports what did not come in pieces: always a search, and texts if the server sends no deltas.
   */
  private sayWhole(place: unknown, item: JsonRecord): ChatEvent[] {
    const searches = searchOf(item).map((search) => ({
      kind: 'search' as const,
      choice: 0,
      search,
    }))
    if (searches.length > 0) {
      this.told.add(place)
      return [...this.assembly.open(0), ...searches]
    }
    if (item.type === 'reasoning') {
      return this.say(place, textEvent('thinking', thoughtText(item)))
    }
    if (item.type !== 'message') return textEvent('hostedTool', calledIn(item))
    return arrayOr(item.content).flatMap((sent) => {
      const { text, refusal, annotations } = recordOr(sent)
      const base = this.said
      const words = [...textEvent('text', text), ...textEvent('refusal', refusal)]
      return [...this.say(place, words), ...citationEvents(arrayOr(annotations), base)]
    })
  }

  private finish(response: JsonRecord): ChatEvent[] {
    // Indexes may differ from those of earlier events, so either everything is missing or nothing.
    const isBare = this.told.size === 0 && this.calls.size === 0
    const items = isBare ? arrayOr(response.output).map(recordOr) : []
    const missing = items.flatMap((item, place) => this.close(place, item))
    const finish = finishOf(response)
    return [
      ...missing,
      ...this.sealThought(),
      ...this.assembly.open(0),
      { kind: 'finish', choice: 0, finish },
    ]
  }
}

const citationEvents = (annotations: readonly unknown[], base: number): ChatEvent[] =>
  citationsIn(annotations, base).map((citation) => ({ kind: 'citation', choice: 0, citation }))

const isGiven = (value: unknown): boolean => isRecord(value) || textOr(value) !== ''

/** Name and input of a tool other than a function. */
const calledIn = ({ name, arguments: given, input, code }: JsonRecord): string =>
  [name, given, input, code].map(textOr).join('')
