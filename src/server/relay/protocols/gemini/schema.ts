import { isRecord, type JsonRecord } from '../../json/json-value.ts'
import { camelName } from './names.ts'

/**
 * Converts Gemini's older schemas (OpenAPI 3.0) to JSON Schema: types in capitals, `nullable`
 * beside the type, and an order of properties that JSON Schema does not have. Source: Gemini API
 * reference, "Schema".
 */
export function jsonSchemaOf(schema: JsonRecord): JsonRecord {
  const out: JsonRecord = {}
  let isNullable = false
  for (const [name, value] of Object.entries(schema)) {
    const key = camelName(name)
    switch (key) {
      case 'type':
        out.type = typeof value === 'string' ? value.toLowerCase() : value
        break
      case 'nullable':
        isNullable = value === true
        break
      case 'propertyOrdering':
      case 'example':
        break
      case 'properties':
        out.properties = isRecord(value) ? schemasIn(value) : value
        break
      case 'items':
      case 'additionalProperties':
        out[key] = schemaOr(value)
        break
      case 'anyOf':
        out.anyOf = Array.isArray(value) ? value.map(schemaOr) : value
        break
      default:
        out[key] = countOf(key, value)
    }
  }
  return isNullable ? withNull(out) : out
}

/** In JSON Schema every keyword must be satisfied, so each of them must allow null. */
function withNull(schema: JsonRecord): JsonRecord {
  const { type, anyOf, enum: values } = schema
  return {
    ...schema,
    ...(typeof type === 'string' ? { type: [type, 'null'] } : {}),
    ...(Array.isArray(anyOf) ? { anyOf: [...anyOf, { type: 'null' }] } : {}),
    ...(Array.isArray(values) ? { enum: [...values, null] } : {}),
  }
}

const schemaOr = (value: unknown): unknown => (isRecord(value) ? jsonSchemaOf(value) : value)

const schemasIn = (properties: JsonRecord): JsonRecord =>
  Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, schemaOr(value)]))

/** Counts are 64-bit numbers, which protocol buffers' JSON writes as strings. */
const COUNTS = new Set([
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'minProperties',
  'maxProperties',
])

const countOf = (name: string, value: unknown): unknown =>
  COUNTS.has(name) && typeof value === 'string' ? Number(value) : value
