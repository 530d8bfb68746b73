import type { StreamPiece } from '../dialect/dialect.ts'
import { arrayOr, recordOr, wordOf, type JsonRecord } from '../../json/json-value.ts'

/**
 * Returns a whole response as stream events, including its pieces: clients assemble a stream from
 * them. Source: OpenAI's API reference, "Streaming events" of responses.
 */
export function responseAsEvents(response: JsonRecord): StreamPiece[] {
  const { status } = response
  const ending = status === 'incomplete' || status === 'failed' ? status : 'completed'
  const nothing = { error: null, incomplete_details: null, output: [], usage: null }
  const open = { ...response, ...nothing, status: 'in_progress' }
  const events = [
    event('created', { response: open }),
    event('in_progress', { response: open }),
    ...arrayOr(response.output).flatMap((item, index) => itemAsEvents(recordOr(item), index)),
    event(ending, { response }),
  ]
  return events.map(({ type, members }, sequence_number) => ({
    name: type,
    data: JSON.stringify({ type, sequence_number, ...members }),
  }))
}

interface ToldEvent {
  type: string
  members: JsonRecord
}

const event = (name: string, members: JsonRecord): ToldEvent => ({
  type: `response.${name}`,
  members,
})

function itemAsEvents(item: JsonRecord, output_index: number): ToldEvent[] {
  const { empty, events } = contentOf(item, { item_id: item.id, output_index })
  return [
    event('output_item.added', { output_index, item: { ...item, ...empty } }),
    ...events,
    event('output_item.done', { output_index, item }),
  ]
}

/**
 * Splits an item into its empty start and the events that fill it. Items of other types stay whole.
 */
function contentOf(
  item: JsonRecord,
  place: JsonRecord,
): { empty: JsonRecord; events: ToldEvent[] } {
  const parts = (): ToldEvent[] =>
    arrayOr(item.content).flatMap((part, index) =>
      partAsEvents(recordOr(part), { ...place, content_index: index }),
    )
  switch (item.type) {
    case 'message':
      return { empty: { status: 'in_progress', content: [] }, events: parts() }
    case 'reasoning': {
      const summaries = arrayOr(item.summary).flatMap((part, index) =>
        summaryAsEvents(recordOr(part), { ...place, summary_index: index }),
      )
      const hasContent = Array.isArray(item.content)
      const empty = { summary: [], ...(hasContent ? { content: [] } : {}) }
      return { empty, events: [...summaries, ...parts()] }
    }
    case 'function_call': {
      const whole = { name: item.name, arguments: item.arguments }
      return {
        empty: { status: 'in_progress', arguments: '' },
        events: textAsEvents('function_call_arguments', place, { text: item.arguments, whole }),
      }
    }
    case 'custom_tool_call': {
      const whole = { input: item.input }
      return {
        empty: { input: '' },
        events: textAsEvents('custom_tool_call_input', place, { text: item.input, whole }),
      }
    }
    default:
      return { empty: {}, events: [] }
  }
}

function partAsEvents(part: JsonRecord, place: JsonRecord): ToldEvent[] {
  const type = wordOf(part.type)
  const name = type === 'refusal' ? 'refusal' : 'text'
  const isText = type === 'output_text'
  const probabilities = isText ? { logprobs: part.logprobs ?? [] } : {}
  const empty = { [name]: '', ...(isText ? { annotations: [] } : {}) }
  const notes = arrayOr(part.annotations).map((annotation, annotation_index) =>
    event('output_text.annotation.added', { ...place, annotation_index, annotation }),
  )
  const [delta, ...rest] = textAsEvents(
    type,
    { ...place, ...probabilities },
    {
      text: part[name],
      whole: { [name]: part[name] },
    },
  )
  return [
    event('content_part.added', { ...place, part: { ...part, ...empty } }),
    ...(delta === undefined ? [] : [delta]),
    ...notes,
    ...rest,
    event('content_part.done', { ...place, part }),
  ]
}

function summaryAsEvents(part: JsonRecord, place: JsonRecord): ToldEvent[] {
  const { text } = part
  return [
    event('reasoning_summary_part.added', { ...place, part: { ...part, text: '' } }),
    ...textAsEvents('reasoning_summary_text', place, { text, whole: { text } }),
    event('reasoning_summary_part.done', { ...place, part }),
  ]
}

/** A text as one delta, followed by the complete text. */
const textAsEvents = (
  name: string,
  place: JsonRecord,
  { text, whole }: { text: unknown; whole: JsonRecord },
): ToldEvent[] => [
  event(`${name}.delta`, { ...place, delta: text ?? '' }),
  event(`${name}.done`, { ...place, ...whole }),
]
