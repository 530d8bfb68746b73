import { textOr } from '../json/json-value.ts'
import type { DeltaText } from './dialect.ts'

/** Lanes of an answer that has one text; within a lane texts continue each other. */
export const Lane = { text: 0, thinking: 1, call: 2 } as const

/** A piece of text on its lane; none, when it is empty or no text. */
export function laneText(lane: number, value: unknown): DeltaText[] {
  const text = textOr(value)
  return text === '' ? [] : [{ lane, text }]
}

/** The beginning of a call of a tool: its name, and what is given to it, where that is known. */
export function toolText(lane: number, name: unknown, given = ''): DeltaText[] {
  const tool = textOr(name)
  return tool === '' ? laneText(lane, given) : [{ lane, text: tool + given, tool }]
}
