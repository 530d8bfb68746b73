import type { DeltaText } from '../dialect/dialect.ts'
import { laneText, toolText } from '../dialect/lane.ts'
import { arrayOr, recordOr, type JsonRecord } from '../json/json-value.ts'

/** Texts of responses that count as completion, whole or streamed. */

const DELTAS: ReadonlySet<unknown> = new Set([
  'response.output_text.delta',
  'response.refusal.delta',
  'response.function_call_arguments.delta',
  'response.custom_tool_call_input.delta',
  'response.reasoning_text.delta',
  'response.reasoning_summary_text.delta',
  'response.code_interpreter_call_code.delta',
])
const LANES_MAX = 4096

export function textsOfEvent(event: JsonRecord): DeltaText[] {
  const { type, delta, output_index: index, item } = event
  const isLane = typeof index === 'number' && Number.isInteger(index) && index >= 0
  const lane = isLane ? Math.min(index, LANES_MAX) : 0
  // What is given to a tool follows in deltas, its name does not.
  if (type === 'response.output_item.added') return toolText(lane, recordOr(item).name)
  return DELTAS.has(type) ? laneText(lane, delta) : []
}

export const textsOfResponses = (response: JsonRecord): DeltaText[] =>
  arrayOr(response.output).flatMap(textsOfItem)

function textsOfItem(sent: unknown, lane: number): DeltaText[] {
  const item = recordOr(sent)
  const parts = [...arrayOr(item.content), ...arrayOr(item.summary)].map(recordOr)
  const texts = parts.flatMap((part) => [part.text, part.refusal])
  return [
    ...texts.flatMap((text) => laneText(lane, text)),
    ...toolText(lane, item.name),
    ...[item.arguments, item.input, item.code].flatMap((text) => laneText(lane, text)),
  ]
}
