import {
  textEvent,
  type AnswerPart,
  type ChatAnswer,
  type ChatEvent,
  type Finish,
  type FinishReason,
} from '../../canonical/chat-answer.ts'
import type { Signature } from '../../canonical/chat-request.ts'
import { USAGE_TOKENS_MAX } from '../../canonical/token-usage.ts'
import type { StreamReader } from '../../dialect/dialect.ts'
import { arrayOr, recordOr, textOr, type JsonRecord } from '../../json/json-value.ts'
import { readUsage } from '../../openai/usage.ts'
import { sealOf } from './seal.ts'

/**
 * OpenAI's responses, whole or streamed. Source: OpenAI's API reference, "The Response object" and
 * "Streaming events". The seal of a thought that led to a call is the call's: some clients hand
 * back their calls and not their thoughts.
 */
export function readResponsesAnswer(response: JsonRecord): ChatAnswer {
  const items = arrayOr(response.output).map(recordOr)
  const parts = items.flatMap((item, index) => readItem(item, items[index - 1], items[index + 1]))
  const hasCalls = parts.some(({ kind }) => kind === 'toolCall')
  return {
    id: textOr(response.id),
    choices: [{ parts, finish: finishOf(response, hasCalls) }],
    usage: readUsage(response.usage, USAGE_TOKENS_MAX).usage,
  }
}

const CUTS: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: 'length',
  content_filter: 'filtered',
}

function finishOf(response: JsonRecord, hasCalls: boolean): Finish {
  const whole = hasCalls ? 'toolCalls' : 'stop'
  const cut = CUTS[textOr(recordOr(response.incomplete_details).reason)] ?? 'length'
  return { reason: response.status === 'incomplete' ? cut : whole, stopSequence: null }
}

const isCall = (item: JsonRecord | undefined): boolean => item?.type === 'function_call'

function readItem(
  item: JsonRecord,
  before: JsonRecord | undefined,
  after: JsonRecord | undefined,
): AnswerPart[] {
  switch (item.type) {
    case 'message':
      return arrayOr(item.content).flatMap((part) => readPart(recordOr(part)))
    case 'reasoning': {
      const text = thoughtText(item)
      const signature = isCall(after) ? null : sealOf(item)
      return text === '' && signature === null
        ? []
        : [{ kind: 'thinking', text, signature, redacted: null }]
    }
    case 'function_call': {
      const signature = before?.type === 'reasoning' ? sealOf(before) : null
      const argumentsJson = textOr(item.arguments) || '{}'
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

interface BegunCall {
  call: number
  /** It has arguments already. */
  isGiven: boolean
}

/** Event by event. Calls are numbered as they begin, and known by their place in the output. */
export class ResponsesStreamReader implements StreamReader {
  private hasStarted = false
  private readonly calls = new Map<unknown, BegunCall>()
  /** Of a thought that is complete, until it is known what came of it. */
  private seal: Signature | null = null

  read(event: JsonRecord): ChatEvent[] {
    if (BEGINNINGS.has(event.type)) return []
    const events = this.readEvent(event)
    if (this.hasStarted) return events
    this.hasStarted = true
    return [{ kind: 'start', id: '' }, ...events]
  }

  private readEvent(event: JsonRecord): ChatEvent[] {
    switch (event.type) {
      case 'response.output_item.added':
        return this.begin(event.output_index, recordOr(event.item))
      case 'response.output_text.delta':
        return textEvent('text', event.delta)
      case 'response.refusal.delta':
        return textEvent('refusal', event.delta)
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return textEvent('thinking', event.delta)
      case 'response.reasoning_summary_part.added':
        return isLater(event.summary_index) ? textEvent('thinking', BREAK) : []
      case 'response.function_call_arguments.delta':
        return this.giveArguments(event.output_index, textOr(event.delta))
      case 'response.output_item.done':
        return this.close(event.output_index, recordOr(event.item))
      case 'response.completed':
      case 'response.incomplete': {
        const finish = finishOf(recordOr(event.response), this.calls.size > 0)
        return [...this.sealThought(), { kind: 'finish', choice: 0, finish }]
      }
      default:
        return []
    }
  }

  private begin(place: unknown, item: JsonRecord): ChatEvent[] {
    if (!isCall(item)) return this.sealThought()
    const call = this.calls.size
    this.calls.set(place, { call, isGiven: false })
    const signature = this.seal
    this.seal = null
    return [{ kind: 'toolCall', choice: 0, call, ...nameOf(item), signature }]
  }

  private sealThought(): ChatEvent[] {
    const { seal } = this
    this.seal = null
    return seal === null ? [] : [{ kind: 'signature', choice: 0, signature: seal }]
  }

  private giveArguments(place: unknown, text: string): ChatEvent[] {
    const begun = this.calls.get(place)
    if (begun === undefined || text === '') return []
    begun.isGiven = true
    return [{ kind: 'toolArguments', choice: 0, call: begun.call, text }]
  }

  /** Arguments that did not come in pieces come with the item's end. */
  private close(place: unknown, item: JsonRecord): ChatEvent[] {
    if (item.type === 'reasoning') {
      const events = this.sealThought()
      this.seal = sealOf(item)
      return events
    }
    if (this.calls.get(place)?.isGiven !== false) return []
    return this.giveArguments(place, textOr(item.arguments) || '{}')
  }
}
