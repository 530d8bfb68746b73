import { listOf, objectOf, type Json } from '../call.ts'

const WORDS = new Set(
  (
    '$ref $defs definitions type enum const anyOf properties required additionalProperties items ' +
    'minItems title description default format'
  ).split(' '),
)
const STRICT_TOOLS_MAX = 20

/**
 * Reason for which the schemas of the response format or of strict tools are rejected; null if they
 * are valid.
 */
export function schemaProblem(json: Json): string | null {
  const { format } = objectOf(json.output_config)
  const tools = listOf(json.tools).map(objectOf)
  const strict = tools.filter((tool) => tool.strict === true)
  if (strict.length > STRICT_TOOLS_MAX) return 'Too many strict tools'
  const ofAnswer = format === undefined ? null : problemOf(objectOf(format).schema)
  if (ofAnswer !== null) return `output_config.format.schema: ${ofAnswer}`
  const ofTool = strict.map((tool) => problemOf(tool.input_schema)).find(Boolean) ?? null
  return ofTool === null ? null : `tools.custom: ${ofTool}`
}

function problemOf(sent: unknown): string | null {
  const schema = objectOf(sent)
  const { type, properties, items, anyOf, $defs, definitions } = schema
  const word = Object.keys(schema).find((name) => !WORDS.has(name))
  if (word !== undefined) return `For '${String(type)}' type, property '${word}' is not supported`
  if (type === 'object' && schema.additionalProperties !== false) {
    return "For 'object' type, 'additionalProperties' must be explicitly set to false"
  }
  const named = [properties, $defs, definitions].flatMap((part) => Object.values(objectOf(part)))
  const parts = [...named, ...listOf(anyOf), items].filter((part) => part !== undefined)
  return parts.map(problemOf).find(Boolean) ?? null
}
