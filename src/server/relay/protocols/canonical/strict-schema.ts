import type { ChatRequest } from './chat-request.ts'
import { arrayOr, isRecord, recordOr, type JsonRecord } from '../../json/json-value.ts'

/**
 * Whether OpenAI enforces the schema strictly. A strict schema for Claude may have optional
 * members, and keywords that OpenAI rejects: OpenAI then uses it as a hint.
 */
export const strictAtOpenai = (
  { spokenIn }: ChatRequest,
  schema: JsonRecord | null,
  isStrict: boolean | null,
): boolean | null =>
  isStrict === true && spokenIn === 'anthropic' ? isTakenStrictly(schema) : isStrict

/** Source: OpenAI's guide "Structured outputs", "Supported schemas". */
const REFUSED = ['allOf', 'oneOf', 'not', 'if', 'dependentRequired', 'dependentSchemas']

/**
 * "All fields must be required", and "objects have limitations": they are closed, at all depths.
 */
function isTakenStrictly(schema: JsonRecord | null): boolean {
  if (schema?.type !== 'object') return false
  const open: unknown[] = [schema]
  for (const part of open) {
    if (!isRecord(part)) continue
    if (REFUSED.some((word) => part[word] !== undefined) || !isClosed(part)) return false
    const { properties, $defs, definitions, items, anyOf } = part
    open.push(items, ...arrayOr(anyOf))
    for (const named of [properties, $defs, definitions]) {
      open.push(...Object.values(recordOr(named)))
    }
  }
  return true
}

function isClosed({ type, properties, required, additionalProperties }: JsonRecord): boolean {
  const isObject = type === 'object' || arrayOr(type).includes('object')
  if (!isObject && properties === undefined) return true
  const demanded = new Set(arrayOr(required))
  const names = Object.keys(recordOr(properties))
  return additionalProperties === false && names.every((name) => demanded.has(name))
}
