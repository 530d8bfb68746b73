import type { FieldProblem } from '../dialect/surface.ts'
import { memberRange, memberValue, type ScannedBody } from '../../json/body-scan.ts'
import { recordOr, type JsonRecord } from '../../json/json-value.ts'

/** Members of a Gemini request that the relay reads or changes. */

/** Members that the relay reads and that have two spellings. */
export const TWICE = [
  ['generationConfig', 'generation_config'],
  ['systemInstruction', 'system_instruction'],
] as const

/** Returns the spelling that a body uses; both at once are rejected, because they are ambiguous. */
export function spelling(
  body: ScannedBody,
  names: readonly [string, string],
): string | FieldProblem {
  const [camel, snake] = names
  const hasSnake = memberRange(body, snake) !== null
  if (hasSnake && memberRange(body, camel) !== null) return { field: snake, isMissing: false }
  return hasSnake ? snake : camel
}

/** Model name in the body, without its folder; null if not set. */
export function modelInBody(body: ScannedBody): string | null | FieldProblem {
  const value = memberValue(body, 'model') ?? null
  if (value === null) return null
  return typeof value === 'string' ? bareModel(value) : { field: 'model', isMissing: false }
}

export const bareModel = (name: string): string => name.replace(/^models\//, '')

/** Requests of a batch, each with the model that it is sent to. */
export function batchFor(requests: readonly unknown[], model: string): JsonRecord[] {
  return requests.map((request) => ({ ...recordOr(request), model: `models/${bareModel(model)}` }))
}

/** The body's spelling of the member for a forced system prompt. */
export function systemMember(body: ScannedBody): string {
  const [camel, snake] = TWICE[1]
  return memberRange(body, snake) === null ? camel : snake
}
