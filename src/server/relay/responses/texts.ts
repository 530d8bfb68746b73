import type { DeltaText } from '../dialect/dialect.ts'
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

export function textsOfEvent({ type, delta, output_index: index }: JsonRecord): DeltaText[] {
  if (!DELTAS.has(type) || typeof delta !== 'string' || delta === '') return []
  const isLane = typeof index === 'number' && Number.isInteger(index) && index >= 0
  return [{ lane: isLane ? Math.min(index, LANES_MAX) : 0, text: delta }]
}

export const textsOfResponses = (response: JsonRecord): DeltaText[] =>
  arrayOr(response.output).flatMap(textsOfItem)

function textsOfItem(sent: unknown, lane: number): DeltaText[] {
  const item = recordOr(sent)
  const parts = [...arrayOr(item.content), ...arrayOr(item.summary)].map(recordOr)
  const texts = parts.flatMap((part) => [part.text, part.refusal])
  return [...texts, item.name, item.arguments, item.input, item.code].flatMap((text) =>
    typeof text === 'string' && text !== '' ? [{ lane, text }] : [],
  )
}
