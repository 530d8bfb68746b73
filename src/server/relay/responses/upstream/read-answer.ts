import {
  textEvent,
  type AnswerPart,
  type ChatAnswer,
  type ChatEvent,
  type Finish,
  type FinishReason,
} from '../../canonical/chat-answer.ts'
import { objectText } from '../../canonical/arguments-text.ts'
import { CallAssembly, type AssembledCall } from '../../canonical/call-assembly.ts'
import type { Signature } from '../../canonical/chat-request.ts'
import { USAGE_TOKENS_MAX } from '../../canonical/token-usage.ts'
import type { StreamReader } from '../../dialect/dialect.ts'
import { arrayOr, isRecord, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { citationsIn } from '../../openai/citations.ts'
import { readUsage } from '../../openai/usage.ts'
import { searchOf } from '../tools/searches.ts'
import { sealOf } from './seal.ts'

/**
 * OpenAI's responses, whole or streamed. Source: OpenAI's API reference, "The Response object" and
 * "Streaming events". The seal of a thought that led to a call is the call's: some clients hand
 * back their calls and not their thoughts.
 */
export function readResponsesAnswer(response: JsonRecord): ChatAnswer {
  const items = arrayOr(response.output).map(recordOr)
  let said = 0
  const parts = items.flatMap((item, index) => {
    const read = readItem(item, [items[index - 1], items[index + 1]], said)
    for (const part of read) if (part.kind === 'text') said += part.text.length
    return read
  })
  return {
    id: textOr(response.id),
    choices: [{ parts, finish: finishOf(response) }],
    usage: readUsage(response.usage, USAGE_TOKENS_MAX).usage,
  }
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

function readItem(
  item: JsonRecord,
  [before, after]: readonly [JsonRecord | undefined, JsonRecord | undefined],
  said: number,
): AnswerPart[] {
  switch (item.type) {
    case 'message':
      return readMessage(item, said)
    case 'web_search_call':
      return searchOf(item).map((search) => ({ kind: 'search', search }))
    case 'reasoning': {
      const text = thoughtText(item)
      const signature = isCall(after) ? null : sealOf(item)
      return text === '' && signature === null
        ? []
        : [{ kind: 'thinking', text, signature, redacted: null }]
    }
    case 'function_call': {
      const signature = before?.type === 'reasoning' ? sealOf(before) : null
      const argumentsJson = objectText(item.arguments)
      return [{ kind: 'toolCall', ...nameOf(item), argumentsJson, signature }]
    }
    default:
      return []
  }
}

const nameOf = ({ call_id: id, name }: JsonRecord): { id: string; name: string } => ({
  id: textOr(id),
  name: textOr(name),
})

/** `base`: the length of the texts before. */
function readMessage(item: JsonRecord, base: number): AnswerPart[] {
  let said = base
  return arrayOr(item.content).flatMap((sent): AnswerPart[] => {
    const part = recordOr(sent)
    const citations = citationsIn(arrayOr(part.annotations), said)
    const read = readPart(part)
    for (const one of read) if (one.kind === 'text') said += one.text.length
    return [...read, ...citations.map((citation) => ({ kind: 'citation' as const, citation }))]
  })
}

function readPart({ text, refusal }: JsonRecord): AnswerPart[] {
  if (textOr(refusal) !== '') return [{ kind: 'refusal', text: textOr(refusal) }]
  return textOr(text) === '' ? [] : [{ kind: 'text', text: textOr(text) }]
}

/** What stands between the parts of a summary. */
const BREAK = '\n\n'

/** The thought itself, where a server shows it, else what it says of it. */
const thoughtText = ({ content, summary }: JsonRecord): string =>
  [summary, content]
    .map((parts) =>
      arrayOr(parts)
        .map((part) => textOr(recordOr(part).text))
        .join(BREAK),
    )
    .find((text) => text !== '') ?? ''

const isLater = (index: unknown): boolean => typeof index === 'number' && index > 0

/** Events before the first of the answer: they tell that the request has come. */
export const BEGINNINGS: ReadonlySet<unknown> = new Set([
  'response.queued',
  'response.created',
  'response.in_progress',
  'keepalive',
])

/**
 * Event by event. Items are known by their place in the output. Servers leave out the pieces of an
 * item, its beginning or everything but the last event: what an item's end, or that event, tells
 * for the first time is reported then.
 */
export class ResponsesStreamReader implements StreamReader {
  private hasStarted = false
  private readonly assembly = new CallAssembly()
  private readonly calls = new Map<unknown, AssembledCall>()
  /** Places of items whose text, or thought, has been reported. */
  private readonly told = new Set<unknown>()
  /** Of a thought that is complete, until it is known what came of it. */
  private seal: Signature | null = null
  /** The length of the text so far, and where the open part of it begins. */
  private said = 0
  private partStart = 0

  read(event: JsonRecord): ChatEvent[] {
    if (BEGINNINGS.has(event.type)) return []
    const events = this.readEvent(event)
    if (this.hasStarted) return events
    this.hasStarted = true
    return [{ kind: 'start', id: '' }, ...events]
  }

  end(): ChatEvent[] {
    return this.assembly.endAll()
  }

  private readEvent(event: JsonRecord): ChatEvent[] {
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
    if (!isCall(item)) return [...opened, ...this.sealThought()]
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

  /** Arguments that did not come in pieces. */
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

  /** What has come in no pieces: a search always, words where their server sends none. */
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
    const base = this.said
    const annotations = arrayOr(item.type === 'message' ? item.content : []).flatMap((part) =>
      arrayOr(recordOr(part).annotations),
    )
    return [...this.say(place, wordsOf(item)), ...citationEvents(annotations, base)]
  }

  private finish(response: JsonRecord): ChatEvent[] {
    // Places need not agree with those of the events before, so all of it is missing or nothing.
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

/** What a message says, or a thought, in one piece. */
function wordsOf(item: JsonRecord): ChatEvent[] {
  if (item.type === 'reasoning') return textEvent('thinking', thoughtText(item))
  return arrayOr(item.type === 'message' ? item.content : []).flatMap((sent) => {
    const { text, refusal } = recordOr(sent)
    return [...textEvent('text', text), ...textEvent('refusal', refusal)]
  })
}
